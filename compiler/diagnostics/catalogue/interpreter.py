"""DSL06xx: running in the interpreter."""

ENTRIES: dict[str, tuple[str, str]] = {
    "DSL0601": (
        "An access that was proved to be in bounds is not",
        "The compiler had removed the bounds check of this access: from a `require`, a loop's range or "
        "divisibility it followed that every element exists. At run time one did not. Either the "
        "program was changed by hand, or a pass is wrong: please report it with the program.\n\n"
        "Wrong:  Tile IR whose region says `checked=False` for a start that may pass the end\n"
        "Right:  leave the region checked; out of bounds then reads 0 and drops writes",
    ),
    "DSL0602": (
        "The step of a range is 0",
        "A range counts from its start by its step up to its stop. With a step of 0 it never ends.\n\n"
        "Wrong:  for k in range(0, K, S):    # called with S = 0\n"
        "Right:  require S > 0",
    ),
    "DSL0603": (
        "An element is read before it is written",
        "The elements of a `buffer`, of a `register` without `init=` and of an `out` parameter are "
        "undefined at first. A machine would read whatever stood there.\n\n"
        "Wrong:  b = buffer(f32, [64]); x = b[0:64]\n"
        "Right:  b = buffer(f32, [64]); b[0:64] = zeros(f32, [64]); x = b[0:64]\n\n"
        "A parameter that is read and written is `inout`, not `out`.",
    ),
    "DSL0604": (
        "A copy is still under way",
        "`copy_async` only starts a copy. Its destination has the new elements, and its source may be "
        "overwritten, after the `wait` that its group is counted in: `commit()` closes a group, "
        "`wait(n)` waits until at most n groups are under way.\n\n"
        "Wrong:  copy_async(s, a[0:64]); x = s[0:64]\n"
        "Right:  copy_async(s, a[0:64]); commit(); wait(0); sync(); x = s[0:64]",
    ),
    "DSL0605": (
        "A copy is never waited for",
        "A turn (a program instance of `parallel`) ended while an asynchronous copy of it was under "
        "way: the copy was not committed to a group, or no `wait` covered its group. What it was to "
        "write is lost.\n\n"
        "Wrong:  copy_async(c[0:64], s)               # and the kernel ends\n"
        "Right:  copy_async(c[0:64], s); commit(); wait(0)",
    ),
    "DSL0606": (
        "Parallel turns race",
        "Turns of `parallel` (program instances) run in any order, at once. Two of them touched one "
        "element, at least one wrote it, and no semaphore or counter orders them: the result would "
        "depend on chance. "
        "Equal ids in one `scatter` or `t[ids] = x` are a race as well; `t[ids] += x` adds them up.\n\n"
        "Wrong:  for m in parallel(range(0, M, 16)): total[0] = sum(x[m : m + 16])\n"
        "Right:  for m in parallel(range(0, M, 16)): total[0] += sum(x[m : m + 16])\n\n"
        "A turn knows that another one is past a point by `semaphore_wait` on what that one released, "
        "or by an `atomic_add` (or another atomic function) to one integer element whose earlier value "
        "it reads.",
    ),
    "DSL0607": (
        "Every turn waits",
        "Each turn of `parallel` (program instance) that has not ended waits for a semaphore, and none "
        "is left that could set it. What is waited for must be released by a turn that does not itself "
        "wait for this one.\n\n"
        "Wrong:  semaphore_wait(s[0], 1); semaphore_release(s[0], 1)\n"
        "Right:  semaphore_wait(s[0], i); semaphore_release(s[0], i + 1)    # in turn i",
    ),
    "DSL0608": (
        "An assertion does not hold",
        "An `assert` of the kernel was false in the turn that is named.\n\n"
        'Wrong:  assert dim(x, 0) > 0, "no rows"    # called with no rows\n'
        "Right:  a `require` says the same before the kernel starts",
    ),
    "DSL0609": (
        "Shared memory needs a barrier here",
        "The threads of a turn run at their own pace. What one statement wrote to shared memory "
        "another one may read or overwrite only after `sync()`, and what one has read another may "
        "overwrite only after it. This is checked in kernels with copies or barriers of their own.\n\n"
        "Wrong:  s[0:64] = x; y = s[0:64]\n"
        "Right:  s[0:64] = x; sync(); y = s[0:64]",
    ),
    "DSL0610": (
        "A counter is not zero after the launch",
        "Workspaces are zero when a launch begins, and the runtime does not clear them between "
        "launches: a kernel leaves its counters and semaphores as it found them.\n\n"
        "Wrong:  the last turn to arrive does its work and ends\n"
        "Right:  the last turn to arrive does its work and sets the counter to 0",
    ),
    "DSL0611": (
        "Two live buffers share bytes",
        "Memory planning gave two buffers overlapping bytes, and one of them was written while the "
        "other was still to be read. A pass is wrong, or an offset was written by hand.\n\n"
        "Wrong:  two buffers at offset 0, both read at the end\n"
        "Right:  offsets that differ by at least the size of the first one",
    ),
    "DSL0612": (
        "A barrier's phase cannot end",
        "A barrier ends its phase when as many have arrived as it counts, and as many bytes have been "
        "copied as they announced. Here one waits for a phase that misses arrivals or bytes, more "
        "arrive than are counted, or the element was never made a barrier. In a cluster of turns also: "
        "one reaches the shared memory of another that has not begun, or is over.\n\n"
        "Wrong:  arrive @full[0], bytes=64       and a bulk copy of 128 bytes\n"
        "Right:  arrive @full[0], bytes=128      and a bulk copy of 128 bytes",
    ),
    "DSL0613": (
        "A tensor needs a barrier here",
        "The threads of a turn run at their own pace, while its statements run in order. What one "
        "thread wrote to a tensor another may read or overwrite only beyond a `memory_barrier` (or "
        "`sync`), and what one has read another may overwrite only beyond one. The compiler places "
        "them: in programs of Tile IR that say how many threads there are they are the author's.\n\n"
        "Wrong:  store @x[0 : +64], %a; %b = load @x[1 : +64]\n"
        "Right:  store @x[0 : +64], %a; memory_barrier; %b = load @x[1 : +64]",
    ),
    "DSL0614": (
        "A NaN or an infinity is stored",
        '`dslc run --trap-nan` and `dslc.options(trap="nan")` stop at the first element that is no '
        "number and goes into a tensor. The place is that of the operation which made it of numbers, "
        "with its operands; a label shows where it is stored. What only lanes past a tensor's end "
        "have, or what `where` leaves out, is no finding. `--trap-inf` counts infinities too.\n\n"
        "Wrong:  y[n : n + 64] = log(x[n : n + 64])                  # of negative numbers\n"
        "Right:  y[n : n + 64] = log(maximum(x[n : n + 64], 1e-6))",
    ),
    "DSL0615": (
        "A turn does too much to record",
        "`dslc debug` keeps every instruction of a turn, so that it can go backwards: 200,000 of them, "
        "and 1 GiB of what they wrote.\n\n"
        "Wrong:  dslc debug gemm.tile --dim M=4096 --dim N=4096 --dim K=65536\n"
        "Right:  dslc debug gemm.tile --dim M=32 --dim N=32 --dim K=256",
    ),
    "DSL0650": (
        "An NKI kernel breaks a rule of the machine",
        "The simulator of NKI ran the kernel's source and met something that a NeuronCore forbids, or "
        "that has no defined result. The message begins with the rule and names the instruction, the "
        "tile and the line; `dslc.runtime.nki_simulator.RULES` lists all rules.\n\n"
        "Wrong:  nisa.nc_matmul(dst=acc, stationary=a, moving=b, accumulate=True)    for k = 0, too\n"
        "Right:  nisa.nc_matmul(dst=acc, stationary=a, moving=b, accumulate=(k > 0))",
    ),
    "DSL0660": (
        "An NPU module breaks a rule of the machine",
        "The simulator of the array read a module of the aie dialect and met something that the "
        "hardware forbids, drops silently or waits for without end. The message begins with the rule; "
        "`dslc.runtime.aie_simulator.RULES` lists all rules. A deadlock names who waits for what.\n\n"
        "Wrong:  a core that acquires an object of a FIFO whose transfer was never pushed\n"
        "Right:  one `aiex.npu.dma_memcpy_nd` for what the cores take",
    ),
}
