"""Address patterns: sequences of offsets as few nested loops, each (size, stride), outermost first.

    0 64 128 0 64 128    ->    (2, 0) (3, 64)

A shim's task has four loops: the outermost moves the descriptor's address on, or repeats it, the others
are the descriptor's own, whose strides are positive. Sizes and strides are in elements here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from dslc.codegen.aie.planning.evaluation import Numbers
from dslc.compiler.targets.aie import TileArray

Dims: TypeAlias = tuple[tuple[int, int], ...]
LOOPS = 4


@dataclass(frozen=True, slots=True)
class Transfer:
    """What one task moves: from `offset` on, four loops, and how many objects that are."""

    offset: int
    dims: Dims
    objects: int


def coalesce(dims: Dims) -> Dims:
    """Loops of one step left out, those that run on into the next joined with it."""
    joined: list[tuple[int, int]] = []
    for size, stride in dims:
        if size == 1:
            continue
        if joined and joined[-1][1] == size * stride:
            joined[-1] = (joined[-1][0] * size, stride)
        else:
            joined.append((size, stride))
    return tuple(joined) or ((1, 1),)


def nested(offsets: Numbers, most: int) -> Dims | None:
    """The loops that pass the offsets less the first; None where it takes more than `most`."""
    count = len(offsets)
    if count <= 1:
        return ()
    if most == 0:
        return None
    steps = np.diff(offsets)
    changes = np.flatnonzero(steps != steps[0])
    run = count if not len(changes) else int(changes[0]) + 1
    if run == count:
        return ((count, int(steps[0])),)
    # A run may hold the first elements of the next loop: the longest period that divides is tried
    # first.
    for period in (p for p in range(run, 0, -1) if count % p == 0):
        rows = offsets.reshape(-1, period)
        if period > 1 and (rows - rows[:, :1] != rows[0] - rows[0, 0]).any():
            continue
        if period == 1:
            return None
        outer = nested(rows[:, 0], most - 1)
        return None if outer is None else (*outer, (period, int(steps[0])))
    return None


def transfers(offsets: Numbers, tile: Dims, width: int, array: TileArray) -> Iterator[Transfer]:
    """The tasks that move objects of `tile` loops at the offsets, of elements of `width` bytes.

    They are found one by one, so that whoever sees too many need not wait for the rest.
    """
    at = 0
    while at < len(offsets):
        for length in _lengths(len(offsets) - at, len(offsets)):
            part = offsets[at : at + length]
            dims = task_dims(part, tile, width, array)
            if dims is not None:
                yield Transfer(int(part[0]), dims, length)
                at += length
                break
        else:
            raise ValueError("an object takes more loops than a task has")


def _lengths(rest: int, total: int) -> Iterator[int]:
    """How many objects a task may move, most first: all the rest, then parts of the whole."""
    yield rest
    for parts in range(2, total + 1):
        length = -(-total // parts)
        if total % parts == 0 and length < rest:
            yield length
    if rest > 1:
        yield 1


def task_dims(offsets: Numbers, tile: Dims, width: int, array: TileArray) -> Dims | None:
    """The four loops of a task, None where there are none that the machine has."""
    outer = nested(offsets, LOOPS)
    if outer is None:
        return None
    dims = coalesce((*outer, *tile))
    if dims[-1][1] != 1 and width == 4:  # single elements: the innermost loop has a step of 1
        dims = (*dims, (1, 1))
    if len(dims) > 1 or dims[0][0] * width // 4 > array.shim.wrap:
        split = _split(dims, width, array)
        if split is None:
            return None
        dims = split
    fill = ((1, 0),) * (LOOPS - len(dims))
    again = dims[:1] if dims[0][1] == 0 else ()  # the first loop of all may repeat, no other
    dims = (*again, *fill, *dims[len(again) :])
    return dims if _is_legal(dims, width, array) else None


def _split(dims: Dims, width: int, array: TileArray) -> Dims | None:
    """Loops of more steps than the machine counts become two."""
    loops: list[tuple[int, int]] = []
    linear = len(dims) == 1 and dims[0][1] == 1
    if linear:
        return dims  # a descriptor without loops has a length alone
    for number, (size, stride) in enumerate(dims):
        unit = width if number == len(dims) - 1 else 4
        limit = array.shim.wrap
        if number == 0 and len(dims) == LOOPS:
            limit = array.iterations if stride else array.repeats
        if size * unit // 4 <= limit:
            loops.append((size, stride))
            continue
        # The steps of the outer loop must fit in its field as well.
        most = min(array.shim.wrap * 4 // unit, array.shim.step * 4 // (stride * width or 1))
        inner = _divisor(size, most, 4 // math.gcd(4, unit))
        if inner is None:
            return None
        loops += [(size // inner, stride * inner), (inner, stride)]
    return tuple(loops) if len(loops) <= LOOPS else None


def _divisor(size: int, most: int, multiple: int) -> int | None:
    """The largest divisor of a size within a limit, itself a multiple."""
    return next(
        (n for n in range(min(most, size), 1, -1) if size % n == 0 and n % multiple == 0), None
    )


def _is_legal(dims: Dims, width: int, array: TileArray) -> bool:
    (repeat, moved), *own = dims
    if repeat > (array.iterations if moved else array.repeats) or moved < 0:
        return False
    linear = all(size == 1 for size, _ in own[:-1]) and own[-1][1] == 1
    for number, (size, stride) in enumerate(own):
        if size > 1 and stride < 1:
            return False
        words = size * width // 4 if number == len(own) - 1 else size
        if not linear and words > array.shim.wrap:
            return False
        if number < len(own) - 1 and size > 1 and stride * width % 4:
            return False
        if stride * width // 4 > array.shim.step:
            return False
    return moved * width // 4 <= array.shim.step and own[-1][1] == 1


def blocked(rows: int, columns: int, blocks: tuple[int, int]) -> Dims:
    """The loops that read a row-major matrix block after block, each block row by row."""
    r, c = blocks
    return coalesce_keeping(((rows // r, r * columns), (columns // c, c), (r, columns), (c, 1)))


def unblocked(rows: int, columns: int, blocks: tuple[int, int]) -> Dims:
    """The loops that read such blocks row by row of the matrix."""
    r, c = blocks
    return coalesce_keeping(((rows // r, r * columns), (r, c), (columns // c, r * c), (c, 1)))


def coalesce_keeping(dims: Dims) -> Dims:
    """Loops of one step left out; at least the innermost stays."""
    kept = tuple(d for d in dims if d[0] > 1)
    return kept or dims[-1:]


def window_dims(sizes: Sequence[int], strides: Sequence[int]) -> Dims:
    """The loops over a window of a tensor."""
    return coalesce(tuple(zip(sizes, strides, strict=True)))
