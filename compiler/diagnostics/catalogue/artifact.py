"""DSL08xx: cache, artifacts and packages."""

ENTRIES: dict[str, tuple[str, str]] = {
    "DSL0801": (
        "an artifact of another format",
        """
An artifact's manifest begins with the number of its format, and a runtime reads one format only. The
artifact was written by another version of dslc: build it again with the one that loads it.

Wrong: a package built by a newer version, loaded by this one.
Right: `dslc build kernels.tile -o package` with the version that runs `dslc.load("package")`.
""",
    ),
    "DSL0802": (
        "a manifest that is not as the format asks",
        """
A manifest has exactly the keys of its format, each with a value of the right kind. A key that is
missing or unknown is an error, never ignored: it may say something that the runtime must not miss.

Wrong: `"shared_bytes": "4096"`, or a key `"comment"` added by hand.
Right: the manifest as `dslc build` wrote it.
""",
    ),
    "DSL0803": (
        "an artifact whose files are not those that were written",
        """
The manifest lists every file of the artifact with its size and SHA-256. A file is missing, is there
without being listed, has other bytes, or has a name that is not plain (a folder in it, a leading dot).

Wrong: a binary edited after the build, or a package copied in part.
Right: the folder as `dslc build` wrote it, copied whole.
""",
    ),
    "DSL0804": (
        "an expression that an artifact has no words for",
        """
Shapes, grids and requirements are evaluated at the call by the runtime, which knows the arithmetic of
integers, comparisons and f16, f32 and f64, but no functions such as `exp` or `sqrt`.

Wrong: `require sqrt(x) > 1.0`, x an f32 parameter.
Right: `require x > 1.0`.
""",
    ),
    "DSL0810": (
        "text that is no expression",
        """
Shapes, grids and conditions in a manifest are arithmetic over the names of dims and scalars: integers
and floats, `+ - * / // % & | ^ ~ << >>`, comparisons, `and or not`, parentheses, `min max abs cdiv
select` and dtypes as functions. Nothing else is understood, so that a manifest holds no code.

Wrong: `M ** 2`, `len(x)`, `0 < M < 8`.
Right: `M * M`, `cdiv(M, 16)`, `0 < M and M < 8`.
""",
    ),
    "DSL0811": (
        "an expression without a value",
        """
An expression of the manifest gave no integer of 64 bits for the dims of this call: a division by zero,
a dim that no argument binds, or a result that is too large.

Wrong: a kernel with `s: f16[K // G, N]`, called with G = 0.
Right: dims for which every shape of the signature is a number.
""",
    ),
    "DSL0820": (
        "a cache that others can write",
        """
The cache holds machine code that is loaded and run, so its folder must belong to the user alone: owned
by the user and writable by nobody else.

Wrong: DSLC_CACHE_DIR=/tmp/shared, made by another user or with mode 777.
Right: `chmod 700` on the folder, or DSLC_CACHE_DIR set to a folder of one's own.
""",
    ),
    "DSL0821": (
        "a cache that cannot be written",
        """
The folder of the cache cannot be made or written: the disk is full or read-only, or it lies in a folder
of somebody else.

Wrong: a home folder that is mounted read-only.
Right: DSLC_CACHE_DIR set to a folder that can be written, or the cache switched off.
""",
    ),
    "DSL0822": (
        "a text that is no key of the cache",
        """
Entries of the cache are named by the SHA-256 of what they were made of: 64 hexadecimal digits, small
letters. `dslc cache ls` lists them.

Wrong: `dslc cache show gemm`.
Right: `dslc cache show` with a key that `dslc cache ls` printed.
""",
    ),
    "DSL0830": (
        "a folder that is no package",
        """
A package is a folder with package.json, as `dslc package`, `dslc build -o` and `Library.save` write it.

Wrong: `dslc.load("gemm.tile")`.
Right: `dslc.compile("gemm.tile").save("build/gemm"); dslc.load("build/gemm")`.
""",
    ),
    "DSL0831": (
        "a package that cannot be written",
        """
A package is written into a new folder or over an older package. Nothing else is ever replaced.

Wrong: `lib.save("src")`, where src holds other files.
Right: `lib.save("build/gemm")`.
""",
    ),
    "DSL0832": (
        "a package that a lock file does not name",
        """
A lock file pins packages by their digest, the hash of everything in them. The package that is to be
loaded is another one, or not in the lock file at all.

Wrong: a package built anew, loaded with the lock file of the one before.
Right: `dslc lock build/kernels.dslc -o dslc.lock` after looking at what has changed.
""",
    ),
    "DSL0833": (
        "a package that is not signed by this key",
        """
A signature is made over a package's digest with a private key (`dslc sign`), and checked with the
public key that the loader holds. The signature is missing, is of another package, or of another key.

Wrong: `dslc verify kernels.dslc --key alice.pub`, signed by Bob.
Right: the key of whoever made the package, from a place other than the package.
""",
    ),
    "DSL0834": (
        "a package with nothing for this machine",
        """
A package holds code for the targets of its specification. None of them is a GPU or CPU that is here, or
what there is was refused: PTX is, where machine code is required.

Wrong: a package for `cuda:sm_90a` alone, loaded on a machine without a GPU.
Right: a further target in the specification, such as `aarch64:all`; `dslc list` shows what there is.
""",
    ),
    "DSL0835": (
        "kernels that cannot be in one package",
        """
In a package a name means one kernel: the same parameters whatever the target, and for one target one
way to store packed weights wherever a call may get one or another of its forms.

Wrong: `gemm_quantized` with `W = "u4"` and with `W = "i6"` under one name.
Right: `name = "w4a16"` for one and `name = "w6a16"` for the other.
""",
    ),
    "DSL0836": (
        "a package older than was asked for",
        """
A signature tells who made a package, not that it is the newest: an old one, rightly signed, has its old
faults. Its version is below the least that the loader asks for, or it was signed before the day.

Wrong: `dslc verify kernels.dslc --key release.pub --min-version 1.3.0`, of version 1.2.0.
Right: the package of version 1.3.0 or later, or a lock file, which names one package alone.
""",
    ),
    "DSL0840": (
        "no CUDA device",
        """
The NVIDIA driver's library is not there, does not start, or has no device of this number. Compiling
needs neither a driver nor a GPU; running does.

Wrong: calling a kernel compiled for `cuda:sm_90a` on a machine without a GPU.
Right: `dslc build f.tile --target cuda:sm_90a` there, and `dslc.load` where the GPU is;
`--target interp` runs everywhere.
""",
    ),
    "DSL0841": (
        "machine code for other GPUs",
        """
The artifact holds machine code for architectures that this GPU does not run. Code for `sm_80` runs on
GPUs of compute capability 8.0 and above with the major version 8, code for `sm_90a` on 9.0 alone.

Wrong: a kernel built with `--target cuda:sm_90a` on an A100.
Right: `--target cuda:sm_80`, or `target="cuda"` for the GPU that is there.
""",
    ),
    "DSL0842": (
        "the CUDA driver reports an error",
        """
A call of the driver failed; its own name for the reason is in the message. A fault inside a kernel
(an illegal address) shows at a later call, since launches do not wait: DSLC_CUDA_SYNC=1 makes every
launch wait and names the kernel. After such a fault the process must be started again.

Right: `DSLC_CUDA_SYNC=1 python program.py`, `compute-sanitizer python program.py`.
""",
    ),
    "DSL0843": (
        "a launch that the device does not allow",
        """
The kernel asks for more shared memory, threads or blocks than the device has, or an axis of a tensor,
or two dims together, are larger than 2^31 - 2^20: kernels count in 32 bits along an axis. A tensor of
several axes may have as many elements as fit in memory.

Wrong: tiles of 256 x 256 in four stages.
Right: another choice of the kernel's tunes, such as BM=64.
""",
    ),
    "DSL0844": (
        "no NPU to run on",
        """
With `DSLC_NPU=xrt` kernels for `aie:npu2` run on the NPU of this machine. That takes mlir-aie's `aiecc`
in PATH, XRT's Python module `pyxrt` (XRT's setup.sh makes it importable), and an NPU2: Strix, Krackan,
or a later one of that generation. `dslc doctor` says which of them is missing.

Right: `DSLC_NPU` unset, which runs kernels in the simulator.
""",
    ),
    "DSL0845": (
        "aiecc or XRT reports an error",
        """
aiecc refused the module, or made no files of the names that it was asked for (mlir-aie has the options
since 1.4); or XRT refused a call, or a run on the NPU did not complete. The message holds what they
said. What the simulator runs and they do not is a defect of dslc: `--emit aie-mlir` prints the module.

Right: `DSLC_NPU` unset, to see that the module itself runs.
""",
    ),
    "DSL0860": (
        "a CPU without the kernel's instructions",
        """
The kernel was compiled for Arm CPUs with certain features (dotprod, i8mm, bf16), and the CPU that is to
run it lacks some of them. `aarch64:dotprod` runs from Armv8.2 on where the CPU has dot products,
`aarch64:base` on every 64-bit Arm CPU. `dslc doctor` says what this CPU has.

Wrong: a kernel built with `--target aarch64:i8mm` on a Neoverse N1.
Right: `--target aarch64:dotprod`, or `--target aarch64` for the CPU that is there.
""",
    ),
    "DSL0861": (
        "an emulated machine cannot be had, or stops a kernel",
        """
On a machine that is not an Arm one, kernels for AArch64 run in the user mode of QEMU
(`apt install qemu-user`, or the program that DSLC_QEMU names). There memory ends where each array ends,
and the message says what a kernel did that an Arm CPU forbids: an access outside an array, an
instruction that the CPU has not. Kernels for AMD's GPUs run by their ISA text, and the message names
the rule that they break: an access outside, a race in LDS, a wait that is missing. Each is a defect of
dslc, and the source makes a good report.

Right: `dslc run f.tile --target interp --verify` tells whether the passes are to blame.
""",
    ),
}
