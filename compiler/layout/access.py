"""How a tile's elements in registers meet their addresses: contiguity and vector width.

A memory layout is a layout with one thread: its local element number is the address, in elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dslc.compiler.diagnostics import error
from dslc.compiler.layout.composition import broadcast
from dslc.compiler.layout.inversion import local_numbers
from dslc.compiler.layout.layout import Layout

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def bits_per_thread(layout: Layout, bits: int) -> int:
    """How many bits of elements of that width each thread holds."""
    return layout.locals * bits


def addresses(
    register: Layout, memory: Layout, offset: Sequence[int] | None = None
) -> NDArray[np.int64]:
    """The address of every element of a register tile, int64 of shape [threads, locals].

    The tile lies at the logical index `offset` of the memory (its origin where None), whose rank may
    be higher. DSL0313 where the tile does not fit or the memory is spread over threads.
    """
    if memory.threads != 1:
        raise error("DSL0313", f"{memory} is no memory layout: it has {memory.threads} threads")
    start = tuple(offset) if offset is not None else (0,) * memory.rank
    if register.rank > memory.rank or len(start) != memory.rank:
        raise error(
            "DSL0313", f"a tile of {register} at {list(start)} has not the rank of {memory}"
        )
    tile = broadcast(register, memory.rank)
    for low, size, extent in zip(start, tile.shape, memory.shape, strict=True):
        if low < 0 or low + size > extent:
            raise error(
                "DSL0313",
                f"a tile of shape {list(tile.shape)} at {list(start)} is not within a memory of "
                f"shape {list(memory.shape)}",
            )
    table = tile.table()
    numbers: NDArray[np.int64] = (
        local_numbers(memory, [table[..., d] + start[d] for d in range(memory.rank)])
        + 0 * table[..., 0]
    )
    return numbers


def contiguity(
    register: Layout, memory: Layout | None = None, offset: Sequence[int] | None = None
) -> int:
    """The greatest c such that aligned runs of c local elements are aligned runs of c addresses.

    Without a memory layout the tile lies in row-major memory of unknown pitch, at a start that is
    aligned: runs are along the last axis.
    """
    if memory is None:
        table = register.table()
        places = table[..., -1]
        same = [table[..., d] for d in range(register.rank - 1)]
    else:
        places, same = addresses(register, memory, offset), []
    run = 1
    for count in range(2, register.locals + 1):
        if register.locals % count == 0 and _runs(places, count, same):
            run = count
    return run


def vector_width(
    register: Layout,
    memory: Layout | None,
    bits: int,
    max_bits: int = 128,
    offset: Sequence[int] | None = None,
) -> int:
    """How many elements of that many bits one access of at most `max_bits` moves per thread.

    The access is a power of two of bytes; 1 where not even two elements (or one whole byte of
    narrower elements) can be moved at once.
    """
    run = contiguity(register, memory, offset)
    width = 1
    for count in range(2, run + 1):
        moved = count * bits
        whole = moved % 8 == 0 and (moved & (moved - 1)) == 0
        if run % count == 0 and whole and moved <= max_bits:
            width = count
    return width


def _runs(places: NDArray[np.int64], count: int, same: Sequence[NDArray[np.int64]]) -> bool:
    import numpy as np

    groups = places.reshape(places.shape[0], -1, count)
    first = groups[..., :1]
    if (first % count).any() or (groups != first + np.arange(count)).any():
        return False
    others = [axis.reshape(groups.shape) for axis in same]
    return all(bool((axis == axis[..., :1]).all()) for axis in others)
