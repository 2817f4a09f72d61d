"""Panels: what several turns read alike stays in a memory tile and is sent to the cores again.

    for m ..., for n ...:              a core's turns:   a[0, :]  a[0, :]  ...  a[1, :]  a[1, :]
        for k ...: a[m, k] b[k, n]     the host sends:   a[0, :]               a[1, :]

The FIFO into the memory tile has whole panels as its objects, the one out of it objects as before: the
memory tile's DMA sends a panel block after block, so many times.
"""

from __future__ import annotations

from dslc.codegen.aie.planning.address_patterns import blocked
from dslc.codegen.aie.planning.evaluation import Numbers
from dslc.codegen.aie.planning.events import Events, events
from dslc.codegen.aie.planning.memories import memory_tile_bytes
from dslc.codegen.aie.planning.plan import Fifo, Link, Plan
from dslc.codegen.aie.planning.rounds import MOST_PANELS
from dslc.codegen.aie.planning.streams import Stream

_WORTH = 4  # panels that need not be read for one that the cores wait for at the start
_HOST = 0


def hold_panels(plan: Plan) -> None:
    """Make panels of what fits, where the host's memory would hold the cores back."""
    for link in plan.links:
        if _is_plain(link) and _is_short_of_memory(plan):
            _hold(plan, link)


def wanted(plan: Plan, fifo: Fifo, stream: Stream, part: int, number: int = 0) -> Events:
    """The objects of a stream that the host moves for one of a FIFO's cores: each panel's once.

    Of the objects that come for one window it is the `number`th.
    """
    tensor = next(t for t in plan.tensors if t.memory is stream.memory)
    core, piece = divmod(number, stream.pieces)
    row, column = fifo.rounds[stream][core] if stream in fifo.rounds else fifo.parts[part]
    moved = events(plan.kernel, stream, plan.herd, tensor, row, column, piece)
    if fifo.repeat == 1:
        return moved
    count = len(moved.turns) // plan.herd.turns
    first = (moved.turns % fifo.repeat == 0).nonzero()[0]
    assert len(first) == count * (plan.herd.turns // fifo.repeat), "turns have as many objects each"
    # A panel is wanted whole when its first object is: no loop around it tells them apart.
    return Events(moved.turns[first], moved.offsets[first], ())


def _is_plain(link: Link) -> bool:
    """Whether a link hands on objects of one stream from the host."""
    outer = link.inputs[0]
    one = len(link.inputs) == len(link.outputs) == len(outer.streams) == len(outer.parts) == 1
    return one and outer.producer[1] == _HOST


def _is_short_of_memory(plan: Plan) -> bool:
    """Whether the host's memory takes longer for all objects than the busiest stream for its own."""
    moved, longest = 0, 0
    for fifo in plan.fifos:
        if fifo.ends(_HOST) is None:
            continue
        sizes = [
            sum(
                len(wanted(plan, fifo, s, n).turns) * s.bytes * fifo.passes(s) for s in fifo.streams
            )
            for n in range(len(fifo.parts))
        ]
        moved += sum(sizes)
        longest = max(longest, sizes[0] * fifo.repeat)
    return moved / (plan.array.host / plan.array.clock) > longest / plan.array.stream


def _hold(plan: Plan, link: Link) -> None:
    """Make the objects of a link's first FIFO panels, where turns read alike and a panel fits."""
    (outer,), (inner,) = link.inputs, link.outputs
    (stream,), turns = outer.streams, plan.herd.turns
    moved = wanted(plan, outer, stream, 0)
    count = len(moved.turns) // turns
    if count == 0 or count * turns != len(moved.turns):
        return
    times = _alike(moved.offsets.reshape(turns, count))
    room = plan.array.memory.memory - memory_tile_bytes(plan, inner.producer, doubled=True)
    spared = turns // times * (times - 1)
    if times == 1 or spared < _WORTH or (count - 2) * outer.bytes > room:
        return
    outer.repeat = inner.repeat = times
    outer.elements *= count
    if stream.blocks is not None:
        assert stream.matrix is not None
        rows, columns = stream.matrix
        inner.dims = blocked(rows * count, columns, stream.blocks)


def _alike(offsets: Numbers) -> int:
    """How many turns in a row read alike, at most: the largest number that divides all turns."""
    turns = len(offsets)
    for times in range(min(MOST_PANELS, turns), 1, -1):
        groups = offsets.reshape(-1, times, offsets.shape[1]) if turns % times == 0 else None
        if groups is not None and (groups == groups[:, :1]).all():
            return times
    return 1
