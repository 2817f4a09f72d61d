"""DSL05xx: passes."""

ENTRIES: dict[str, tuple[str, str]] = {
    "DSL0501": (
        "on-chip memory exceeded",
        "The buffers that live at one time need more bytes than the machine has in that place; the "
        "table shows each buffer with its size, its offset and when it lives.\n"
        "Wrong: `b = shared(f32, [512, 512])` on a machine with 228 KiB. Right: smaller tiles, fewer "
        "stages, or a narrower dtype.",
    ),
    "DSL0502": (
        "an on-chip buffer without a fixed size",
        "The memory plan needs the size of every buffer when the kernel is compiled.\n"
        "Wrong: `b = buffer(f32, [K, 16])` with a K that is known at the call only. Right: a constant "
        "extent, or `-D K=4096`.",
    ),
    "DSL0503": (
        "a tile that no thread's registers hold",
        "On a GPU a tile is spread over the registers of a turn's threads. This one takes several "
        "times what a thread has.\n"
        "Wrong: `acc = zeros(f32, [512, 512])`. Right: blocks of 128 x 128, or `tune BM = 64 | 128`.",
    ),
    "DSL0510": (
        "a reduction that cannot be split here",
        "`split=` works on one loop of a kernel, which stands in its outermost body: its parts become "
        "parallel turns.\n"
        "Wrong: `range(0, K, BK, split=4)` inside another `for`. Right: split the outer loop.",
    ),
    "DSL0511": (
        "an effect in a split reduction",
        "The loop and what stands before it run once a part, so they may not write global memory, nor "
        "keep state in a buffer between iterations; the rest of the kernel runs once, after the loop.\n"
        "Wrong: `y[m] = x` before a loop with `split=4`. Right: the same store after the loop.",
    ),
    "DSL0512": (
        "a value that a split loop does not only accumulate",
        "Each part of a split loop starts anew, so what the loop carries must be a sum, a minimum or a "
        "maximum that nothing else in the loop reads.\n"
        "Wrong: `acc = acc * 0.5 + x` with `split=4`. Right: `acc += x`, or no split.",
    ),
    "DSL0513": (
        "a split reduction over an unknown step",
        "Dividing a loop needs its step, and the steps of the parallel axes, at compile time.\n"
        "Wrong: `range(0, K, s, split=4)` with a parameter s. Right: a constant step.",
    ),
    "DSL0514": (
        "a result to which parts cannot be added",
        "With `split=4, atomic=True` every part is added to the stored result by itself, the first "
        "beside what else is added. So what follows the loop is a sum: casts to floats, scales, "
        "shapes, summands, and stores of a dtype that can be added to.\n"
        "Wrong: `c[m : m + BM] = maximum(acc, 0.0)` after such a loop. Right: the same with `split=4` "
        "alone, whose last part to arrive sees the whole sum.",
    ),
    "DSL0520": (
        "layouts over different numbers of threads",
        "All tiles of a kernel are spread over the same threads, those of a turn. Two explicit layouts "
        "have different numbers of threads, and no conversion leads from one to the other.\n"
        "Wrong: `spatial(8, 4)` for one tile and `spatial(16, 8)` for another. Right: "
        "`replicate(4).spatial(8, 4)` for the first.",
    ),
    "DSL0521": (
        "a number of threads that the machine does not run",
        "A turn has whole warps, and not more threads than the machine allows; the explicit layouts "
        "of a kernel, or the number of warps that is asked for, say something else.\n"
        "Wrong: `layout=spatial(6, 4)` on a GPU with warps of 32. Right: `layout=spatial(8, 4)`.",
    ),
    "DSL0530": (
        "No time can be predicted for this target",
        "A prediction needs the machine's rates: bandwidth, matrix units, latencies. They are known "
        "for the NVIDIA targets.\n\n"
        "Wrong:  dslc tune gemm.tile --target hip:gfx942 --dry-run\n"
        "Right:  dslc tune gemm.tile --target cuda:sm_90a --dry-run",
    ),
    "DSL0540": (
        "a view that a machine without threads cannot have",
        "On Trainium no thread holds bits. Layouts over threads are dropped, and a `view` of integers "
        "is made by shifts; of floats, or under layouts that swizzle or hold an element twice, it is "
        "for another machine.\n"
        "Wrong: `view(x, u16, layout=l)` of an f16 tile for `--target nki:trn2`. Right: `cast`, or the "
        "parameter in its own type.",
    ),
    "DSL0541": (
        "a limit of a NeuronCore exceeded",
        "What lives at one time in SBUF or PSUM needs more bytes of a partition, or more banks, than "
        "there are, or a tile would have partitions that no instruction reaches; the message names the "
        "tiles and the limit.\n"
        "Wrong: `-D BM=8192` for a product with K = 8192. Right: smaller blocks, or a narrower dtype.",
    ),
    "DSL0550": (
        "sizes that an NPU's compiler must know",
        "What the host moves to an NPU's array and when is fixed when a kernel is compiled, so "
        "that all "
        "dims must be known then. A call knows them; a build has to be told.\n"
        "Wrong: `dslc build gemm.tile --target aie:npu2`. Right: `-D M=256 -D N=256 -D K=512` beside.",
    ),
    "DSL0551": (
        "a turn takes more transfers than a channel's queue holds",
        "A shim's DMA moves up to four nested loops in one task, and a channel's queue holds "
        "four tasks; "
        "the hardware drops what is pushed to a full one. Here the blocks of a tensor lie so that one "
        "turn takes more.\n"
        "Wrong: rows of 8192 elements in blocks of 1000 rows. Right: blocks whose numbers divide.",
    ),
    "DSL0552": (
        "a core has too few DMA channels for the tensors of a turn",
        "A core of an NPU has two DMA channels in and two out. Tensors whose objects are alike (one "
        "size, one scope) take turns on a channel; what is left must be at most two.\n"
        "Wrong: outputs of f32, i32 and bf16 in one turn. Right: one type for them, or a kernel each.",
    ),
    "DSL0553": (
        "a core's memory is exceeded",
        "The objects of FIFOs, the tiles that a core keeps and its stack share 64 KB. The "
        "message names "
        "the largest. A tensor to which turns add, or that is written in a branch or by numbers from "
        "a tensor, has all that a turn may touch of it there.\n"
        "Wrong: `-D BM=128 -D BN=128` for a product summed in f32. Right: `-D BM=64 -D BN=64`.\n"
        "Wrong: `scatter(z[:, :], ids, x, 0)` into 1000 rows of 40. Right: `z[:, n : n + 8]`.",
    ),
    "DSL0554": (
        "a rule of an NPU's array",
        "The plan of a kernel (tiles, FIFOs, transfers) breaks a rule of the hardware, which "
        "the message "
        "names with the tensor: buffer descriptors and their loops, whole words of 4 bytes, channels, "
        "locks, ports of a switch, program memory, queues.\n"
        "Wrong: a kernel written out 500 times by `unroll`. Right: a loop.",
    ),
    "DSL0590": (
        "an instruction that this machine's generator cannot emit",
        "The scheduled program holds an instruction, or an instruction on dtypes, for which this "
        "target "
        "has no code. docs/aie.md, nki.md, hip.md and aarch64.md have a table of what their machine "
        "cannot do, and what to write instead.\n"
        "Wrong: `x: i64[N]` for an NPU. Right: `x: i32[N]`.\n"
        "Wrong: `print` for a NeuronCore. Right: `dslc run --target interp`, which prints.",
    ),
    "DSL0591": (
        "a product whose layouts do not fit its matrix instruction",
        "An explicit layout says which lane holds which element; the instruction fixes which "
        "lanes share "
        "a row and which share an index along k, and all three tiles of the product must agree "
        "on both. "
        "The message names what does not.\n"
        "Wrong: `local(2, 2).spatial(4, 8)` for the accumulator of `mma.m16n8k16`. Right: "
        "`local(2, 1).spatial(8, 4).local(1, 2)`, or no layout, and one that fits is chosen.",
    ),
}
