"""What a plan's tasks may ask of the array: ports, queues of tasks, and as much in as out."""

from __future__ import annotations

import math
from collections import Counter, defaultdict

from dslc.codegen.aie.dtypes import WORD, bytes_of
from dslc.codegen.aie.planning.address_patterns import Dims
from dslc.codegen.aie.planning.events import events
from dslc.codegen.aie.planning.plan import Fifo, Plan, Task
from dslc.codegen.aie.planning.routing import ports
from dslc.compiler.diagnostics import DiagnosticError, error
from dslc.compiler.targets.aie import TileKind

HOST = 0  # the row of the tiles that reach its memory


def check_loops(fifo: Fifo, dims: Dims, kind: TileKind, width: int) -> None:
    """A descriptor of that kind of tile has as many loops, of such sizes and strides."""
    own = [d for n, d in enumerate(dims) if d[0] > 1 or n == len(dims) - 1]
    if len(own) > kind.dims:
        raise broken(fifo, f"{len(own)} loops", f"a {kind.name} tile's descriptor has {kind.dims}")
    if len(own) == 1 and own[0][1] == 1:
        return
    for number, (size, stride) in enumerate(own):
        inner = number == len(own) - 1
        words = size * width // WORD if inner else size
        if inner and (stride != 1 or size * width % WORD):
            raise broken(
                fifo,
                f"runs of {size} elements of {width} bytes, {stride} apart",
                f"innermost runs are whole words of {WORD} bytes, contiguous",
            )
        if not inner and stride * width % WORD:
            raise broken(
                fifo, f"a stride of {stride * width} bytes", f"strides are whole words of {WORD}"
            )
        if words > kind.wrap:
            raise broken(
                fifo, f"a loop of {words} steps", f"a {kind.name} tile counts to {kind.wrap}"
            )
        if not 1 <= stride * width / WORD <= kind.step and not inner:
            raise broken(
                fifo, f"a stride of {stride * width // WORD} words", f"it is 1 to {kind.step} here"
            )


def broken(fifo: Fifo, what: str, rule: str) -> DiagnosticError:
    """DSL0554 for a FIFO's tensor."""
    names = "/".join(dict.fromkeys(s.memory.name for s in fifo.streams))
    loc = fifo.streams[0].memory.loc
    return error("DSL0554", f"tensor {names}, FIFO {fifo.name}: {what}; {rule}", loc)


def check_ports(plan: Plan) -> None:
    """No switch is left by more ways than it has."""
    for (tile, direction), fifos in ports(plan).items():
        kind = plan.array.kind(tile[1])
        if len(fifos) > kind.masters(direction):
            raise broken(
                fifos[-1],
                f"{len(fifos)} streams leave tile {tile} towards {direction}",
                f"a {kind.name} tile's switch has {kind.masters(direction)} ports there",
            )


def check_queues(plan: Plan) -> None:
    """A phase is pushed while the one before it runs: two of them are in a queue, and in use."""
    for before, phase in zip([[], *plan.phases], plan.phases, strict=False):
        waiting: Counter[Fifo] = Counter()
        busy: dict[tuple[int, int], Task] = {}
        for task in (*before, *phase):
            waiting[task.fifo] += 1
            if waiting[task.fifo] > plan.array.queue:
                raise broken(
                    task.fifo,
                    f"{waiting[task.fifo]} tasks wait at once",
                    f"a queue holds {plan.array.queue}, and drops what is pushed beyond",
                )
            shim = task.fifo.ends(HOST)
            assert shim is not None
            if (shim[0], task.descriptor) in busy:
                raise broken(
                    task.fifo,
                    f"descriptor {task.descriptor} of shim {shim} is in use",
                    "a descriptor is written anew when its task has ended",
                )
            busy[shim[0], task.descriptor] = task
            if task.descriptor >= plan.array.shim.descriptors:
                raise broken(
                    task.fifo,
                    f"descriptor {task.descriptor}",
                    f"a shim tile has {plan.array.shim.descriptors}",
                )
        lasts = {t.fifo for t in phase if t.last}
        for task in phase:
            if task.fifo not in lasts:
                raise broken(task.fifo, "nobody waits for its tasks", "a phase ends when all have")


def check_task(plan: Plan, task: Task) -> None:
    """A task's loops and repetitions are ones that a shim's descriptor can say."""
    (count, moved), *own = task.transfer.dims
    width, array = bytes_of(task.tensor.memory.dtype), plan.array
    limit = array.iterations if moved else array.repeats
    if (
        count > limit
        or moved < 0
        or moved * width % WORD
        or moved * width // WORD > array.shim.step
    ):
        raise broken(
            task.fifo,
            f"{count} turns of a task, {moved} elements on",
            f"it is at most {limit}, whole words on",
        )
    check_loops(task.fifo, tuple(own), array.shim, width)
    if task.transfer.offset * width % WORD:
        raise broken(
            task.fifo, f"begins at element {task.transfer.offset}", "a DMA begins at a word"
        )
    last = task.transfer.offset + sum((n - 1) * s for n, s in task.transfer.dims)
    if not 0 <= last < task.tensor.elements:
        raise broken(task.fifo, f"reaches element {last}", f"the tensor has {task.tensor.elements}")


def check_balance(plan: Plan) -> None:
    """What the host moves through a FIFO is what its cores take or give, object by object."""
    moved: dict[Fifo, int] = defaultdict(int)
    for phase in plan.phases:
        for task in phase:
            moved[task.fifo] += math.prod(n for n, _ in task.transfer.dims)
    by_memory = {t.memory: t for t in plan.tensors}
    for fifo in plan.fifos:
        if fifo.ends(HOST) is None:
            continue
        wanted = 0
        for stream in fifo.streams:
            for r, c in fifo.parts:
                of_core = events(plan.kernel, stream, plan.herd, by_memory[stream.memory], r, c)
                wanted += len(of_core.turns) * stream.elements * fifo.passes(stream)
        wanted //= fifo.repeat
        if moved[fifo] != wanted:
            raise broken(
                fifo,
                f"the host moves {moved[fifo]} elements, the cores {wanted}",
                "a FIFO that gets fewer or more objects than are taken stands still",
            )
