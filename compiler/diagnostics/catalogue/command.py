"""DSL09xx: the command line, targets and toolchains."""

ENTRIES: dict[str, tuple[str, str]] = {
    "DSL0901": (
        "No such target",
        "A target is a machine family and a model with a colon between, or `interp`. `dslc targets` "
        "lists them.\n\n"
        "Wrong:  --target cuda:sm90\n"
        "Right:  --target cuda:sm_90a    --target interp",
    ),
    "DSL0910": (
        "A definition on the command line cannot be read",
        "`-D NAME=VALUE` fixes a dim or a const. The name is a plain name and the value a number, "
        "True, False or a dtype. `--dim` gives a size that fits in memory.\n\n"
        "Wrong:  -D K=4k\n"
        "Right:  -D K=4096    -D W=i6",
    ),
    "DSL0911": (
        "An input on the command line cannot be read",
        "`--input NAME=VALUE` gives a parameter its value: a .npy file, one array of an .npz file, "
        "one tensor of a .safetensors file, or for a scalar a number.\n\n"
        "Wrong:  --input w=model.safetensors\n"
        "Right:  --input w=model.safetensors:layer.weight\n"
        "        --input a=a.npy    --input b=arrays.npz:b    --input eps=1e-6",
    ),
    "DSL0912": (
        "The file has no such kernel, or more than one",
        "`--kernel NAME` picks one kernel or program of a file. It may be left out where the file "
        "has one only.\n\n"
        "Wrong:  dslc run gemm.tile --kernel gem\n"
        "Right:  dslc run gemm.tile --kernel gemm",
    ),
    "DSL0913": (
        "A dim has no value",
        "A dim gets its value from the shape of an input. Where every tensor that has the dim is to be "
        "random, say it with --dim.\n\n"
        "Wrong:  dslc run softmax.tile\n"
        "Right:  dslc run softmax.tile --dim M=64 --dim N=1000",
    ),
    "DSL0914": (
        "There is no such pass",
        "`--print-after` takes the name of a pass, or all. `dslc inspect` lists the passes in "
        "order.\n\n"
        "Wrong:  dslc build f.tile --print-after simplfy\n"
        "Right:  dslc build f.tile --print-after simplify",
    ),
    "DSL0915": (
        "A scalar has no value",
        "Tensors that are not given are random; a scalar must be given.\n\n"
        "Wrong:  dslc run rmsnorm.tile --dim M=4 --dim H=256\n"
        "Right:  dslc run rmsnorm.tile --dim M=4 --dim H=256 --input eps=1e-6",
    ),
    "DSL0916": (
        "An environment variable has a value that it cannot have",
        "`DSLC_CACHE` switches the compile cache on or off, and `DSLC_JIT=error` keeps calls from "
        "compiling anything. Other words are refused, since a misspelt one would do nothing.\n\n"
        "Wrong:  DSLC_CACHE=/tmp/kernels\n"
        "Right:  DSLC_CACHE_DIR=/tmp/kernels",
    ),
    "DSL0917": (
        "A package's specification cannot be used",
        "A specification is a TOML file with a table [package] and a table [[kernel]] for each source "
        "or kernel. Unknown keys are errors, since a misspelt one would do nothing; paths go from the "
        "file's folder, and targets have their full names.\n\n"
        'Wrong:  targets = ["cuda"]\n'
        'Right:  targets = ["cuda:sm_90a", "aarch64:all"]',
    ),
    "DSL0920": (
        "This cannot be tuned",
        "The tuner compiles a kernel in many ways and measures each on a GPU; for AMD GPUs the cost "
        "model says how fast each is. It needs the kernel's "
        "source, which a package has not, and a target of GPUs.\n\n"
        "Wrong:  dslc tune gemm.tile --target interp\n"
        "Right:  dslc tune gemm.tile --target cuda --dim M=16 --dim K=4096 --dim N=4096",
    ),
    "DSL0921": (
        "No configuration can be measured",
        "Every product of tune choices was refused: by the kernel's own requirements, because it "
        "needs more shared memory than the machine has, or because it failed when it ran. The message "
        "has the first reason.\n\n"
        "Right:  dslc tune f.tile --dry-run -v     lists the configurations that were refused, and why",
    ),
    "DSL0922": (
        "Tuning results cannot be read or written",
        "Results are JSON files in the folder `tuning` of the compile cache, and `dslc tune --export` "
        "writes the same form for other machines.\n\n"
        "Wrong:  dslc tune --import gemm.tile\n"
        "Right:  dslc tune --export tuned.json     then elsewhere     dslc tune --import tuned.json",
    ),
    "DSL0923": (
        "A kernel cannot begin here",
        "`dslc new NAME` writes a folder with NAME.tile, its test and NAME.toml. The name becomes "
        "that of the kernel, so it is one of the language, and files that are there are left alone.\n\n"
        "Wrong:  dslc new scaled-rows\n"
        "Right:  dslc new scaled_rows",
    ),
    "DSL0950": (
        "This machine has no code generator here",
        "The target is known but this version of dslc cannot generate code for it. `dslc targets` "
        "says which it can. Every program runs on the interpreter.\n\n"
        "Right:  dslc build f.tile --target interp -o build/f",
    ),
    "DSL0951": (
        "A tool that this target needs is missing",
        "Building for this target calls a program or library that is not installed. `dslc doctor` "
        "lists what was looked for, what was found and how to get the rest.",
    ),
    "DSL0952": (
        "Emitted code does not compile",
        "The machine's own compiler refuses the text that was generated. Most often this is a defect "
        "of dslc, and the text together with the source makes a good report. A kernel that asks for "
        "more shared memory or registers than the machine has is found here too.\n\n"
        "Right:  dslc build f.tile --target cuda:sm_90a --emit cu -o f.cu    # the text to look at",
    ),
    "DSL0953": (
        "The compiler does not know the architecture",
        "The installed compiler generates code for some architectures: CUDA 13 has dropped those "
        "before sm_75, and a new GPU needs a compiler that is newer than it.\n\n"
        "Wrong:  --target cuda:sm_120 with a compiler of CUDA 12.4\n"
        "Right:  pip install --upgrade nvidia-cuda-nvrtc",
    ),
    "DSL0954": (
        "Machine code cannot be read",
        "The disassembler refused the binary, or printed what is not understood here. It must be at "
        "least as new as the compiler that made the binary. For Arm CPUs: llvm-mca does not know an "
        "instruction, or the marks of a text do not fit together.\n\n"
        "Right:  pip install --upgrade nvidia-cuda-nvdisasm\n"
        "Right:  apt install llvm-22",
    ),
    "DSL0955": (
        "The executor cannot be used",
        "`--executor` names who compiles: processes of this machine (the usual), threads, the "
        "scheduler of a Dask cluster, or a Ray cluster. No cluster answers at the address, or its "
        "workers died again and again of one task.\n\n"
        "Right:  dslc package kernels.toml --executor dask:tcp://10.0.0.7:8786\n"
        "Right:  dslc package kernels.toml --executor ray:auto",
    ),
    "DSL0956": (
        "A worker has other tools",
        "What a cluster's workers compile must be what this process would: they need the same dslc, "
        "and the same compilers for the targets. `dslc doctor` on both says what they have.\n\n"
        "Right:  pip install 'dslc[cuda]==0.1.0'     # on every machine, in one version",
    ),
    "DSL0957": (
        "A compiler does not come to its end",
        "The machine's own compiler or assembler was stopped after minutes. Texts of very large tiles, "
        "or of loops with many iterations written out, take them long, and so does a machine that has "
        "much else to do.\n\n"
        "Wrong:  tune BM = 4096     with     unroll=64\n"
        "Right:  tune BM = 64 | 128",
    ),
}
