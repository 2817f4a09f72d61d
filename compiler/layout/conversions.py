"""What it takes to bring a tile from one layout to another."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from dslc.compiler.diagnostics import error
from dslc.compiler.layout.layout import Layout
from dslc.compiler.layout.mode import Mode, with_weights
from numpy.typing import NDArray


class Conversion(enum.Enum):
    """The way between two layouts of one tile, the cheapest first."""

    NONE = "none"
    REGISTERS = "registers"  # each thread has what it needs, at other places
    SHUFFLE = "shuffle"  # each warp has what its threads need
    SHARED = "shared"  # through shared memory


def conversion(source: Layout, target: Layout, warp_size: int = 32) -> Conversion:
    """The cheapest conversion of a tile that lies as `source` to one that lies as `target`.

    Warps are `warp_size` threads with consecutive numbers (a wave on AMD; 1 where threads cannot
    exchange registers). DSL0302 where the shapes differ.
    """
    if source.shape != target.shape:
        raise error(
            "DSL0302",
            f"{source} and {target} lay out different tiles: {list(source.shape)} and "
            f"{list(target.shape)}",
        )
    if source == target:
        return Conversion.NONE
    if (shuffled := _by_digits(source, target, warp_size)) is not None:
        return shuffled
    have, want = source.numbers(), target.numbers()
    if _covered(have, want, 1, source.elements):
        return Conversion.REGISTERS
    if _covered(have, want, warp_size, source.elements):
        return Conversion.SHUFFLE
    return Conversion.SHARED


def shared_axis(layout: Layout, axis: int, warp_size: int) -> tuple[int, int]:
    """Over how many lanes of a warp, and over how many warps, an axis of a tile is spread."""
    lanes = warps = 1
    for mode, weight in with_weights(layout.spatial_modes):
        if mode.axis == axis:
            within = min(mode.size, max(1, warp_size // weight)) if weight < warp_size else 1
            lanes *= within
            warps *= mode.size // within
    return lanes, warps


def _by_digits(source: Layout, target: Layout, warp_size: int) -> Conversion | None:
    """The conversion by the digits that give an element its thread; None where they do not nest.

    A thread of the source holds one value of a spatial digit of the index. It has what the target asks
    of it where the same digit of the thread fixes that digit there; likewise for the warps, the digits
    of the thread from `warp_size` up.
    """
    if source.swizzles or target.swizzles or source.threads != target.threads:
        return None
    sides = [with_weights(layout.spatial_modes) for layout in (source, target)]
    if any(w % warp_size and warp_size % w for side in sides for _, w in side):
        return None
    ends = [{1, extent} for extent in source.shape]
    for mode, weight in (pair for side in sides for pair in side if not pair[0].is_replicated):
        ends[mode.axis] |= {mode.stride, mode.stride * mode.size}
        if weight < warp_size < weight * mode.size:
            if warp_size % weight:
                return None
            ends[mode.axis].add(mode.stride * (warp_size // weight))
    cuts = [sorted(axis) for axis in ends]
    if any(high % low for axis in cuts for low, high in pairwise(axis)):
        return None
    have, want = ({d for m, w in side for d in _digits(m, w, cuts)} for side in sides)
    if have <= want:
        return Conversion.REGISTERS
    if {d for d in have if d[2] >= warp_size} <= want:
        return Conversion.SHUFFLE
    return Conversion.SHARED


def _digits(mode: Mode, weight: int, cuts: list[list[int]]) -> Iterator[tuple[int, int, int]]:
    """The parts of a spatial mode between the cuts of its axis: axis, stride, weight of each."""
    if mode.is_replicated:
        return
    for stride in cuts[mode.axis]:
        if mode.stride <= stride < mode.stride * mode.size:
            yield mode.axis, stride, weight * (stride // mode.stride)


def _covered(have: NDArray[np.int64], want: NDArray[np.int64], group: int, elements: int) -> bool:
    """Whether each group of threads wants only what the same group has."""
    keys = [
        (np.arange(side.shape[0], dtype=np.int64) // group)[:, None] * elements + side
        for side in (have, want)
    ]
    return bool(np.isin(keys[1], keys[0]).all())
