"""Chains that end in operations on two tiles, dealt to the engines by columns.

(x - mean) * scale * g + b: what columns do to x comes first, one number for each partition, and an
operation on two tiles for each further step. A lane is one way to compute some of the columns:

    scalar, vector    the scalar engine leaves what stands first in PSUM; the vector engine takes two
                      tiles of two memories in one cycle an element, of SBUF alone in two
    scalar, gpsimd    it leaves it in SBUF, and GpSimd adds and multiplies, two cycles an element
    vector            the vector engine does both: a column and a tile in one instruction, in two

Of the lanes each takes as many columns as brings the engines through soonest with all that they have.
On NeuronCore-v2 engines wait for one another's memories, so that there are no parts in PSUM.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod

from dslc.compiler.ir import instructions as ins
from dslc.compiler.passes.trainium.placement import Placement

BLOCK = 512
"""Elements of f32 in a bank of PSUM, which one instruction works on."""
AFFINE: tuple[list[str], ...] = ([], ["mul"], ["add"], ["sub"], ["mul", "add"], ["mul", "sub"])
"""Steps of columns that the scalar engine has as well, as scale and bias."""

_PARTS = 16  # of the columns: how finely they are dealt
_LANE = 0.02  # of the time: what a further lane has to save
_BY_GPSIMD = ("add", "mul")


@dataclass(frozen=True, slots=True)
class Lane:
    """One way to compute columns, in cycles an element of each engine.

    `leading` is the engine that does what stands before the operations on two tiles, `engine` has
    those.
    """

    leading: str
    engine: str
    scalar: int = 0
    vector: int = 0
    gpsimd: int = 0

    @property
    def engines(self) -> tuple[str, ...]:
        """The engines one behind another."""
        return tuple(dict.fromkeys((self.leading, self.engine)))

    def ns(self, engine: str, cycles: float, clock: float) -> float:
        """Nanoseconds of an engine for so many elements of each partition."""
        return cycles * float(getattr(self, engine)) / clock


ENGINES = ("scalar", "vector", "gpsimd")


def split(steps: Sequence[str], columns: Sequence[bool]) -> tuple[list[str], list[str]]:
    """The steps before the first one with a tile, and the others; `columns` of the second operands."""
    others = iter(columns)
    for number, step in enumerate(steps):
        if step in ins.FUSED_OPS and not next(others):
            return list(steps[:number]), list(steps[number:])
    return list(steps), []


def activations(steps: Sequence[str]) -> list[list[str]] | None:
    """The steps as instructions of the scalar engine; None where it has not all."""
    pieces: list[list[str]] = []
    for step in steps:
        last = pieces[-1] if pieces else None
        function = step not in ins.FUSED_OPS
        if last is not None and (last in AFFINE if function else [*last, step] in AFFINE):
            last.append(step)
        elif function or [step] in AFFINE:
            pieces.append([step])
        else:
            return None
    return pieces


def lanes(steps: Sequence[str], columns: Sequence[bool], *, psum: bool, same: bool) -> list[Lane]:
    """The ways to compute a chain; `same` tells that the first operand of two is one for all blocks."""
    leading, tails = split(steps, columns)
    count = len(tails)
    each = count if psum else 2 * count
    by_gpsimd = psum and all(step in _BY_GPSIMD for step in tails)
    ways: list[Lane] = []
    if not leading:
        first = 1 if psum and same else 2
        ways.append(Lane("vector", "vector", vector=first + each - (1 if psum else 2)))
        if by_gpsimd:
            ways.append(Lane("gpsimd", "gpsimd", gpsimd=2 * count))
        return ways
    pieces = activations(leading)
    if pieces is not None:
        ways.append(Lane("scalar", "vector", scalar=len(pieces), vector=each))
        if by_gpsimd:
            ways.append(Lane("scalar", "gpsimd", scalar=len(pieces), gpsimd=2 * count))
    if all(step in ins.FUSED_OPS for step in leading):
        alone = len(leading) == 1  # with the first tile
        passes = 2 - each // count if alone else -(-len(leading) // 2)
        ways.append(Lane("vector", "vector", vector=passes + each))
    return ways


def deal(
    ways: Sequence[Lane], cycles: float, total: Mapping[str, float], clocks: Mapping[str, float]
) -> list[float]:
    """Of the columns the part of each lane, so that the busiest engine is soonest done.

    `total` are the nanoseconds that the engines have to do besides.
    """
    ns = [tuple(lane.ns(e, cycles, clocks[e]) for e in ENGINES) for lane in ways]
    before = [total.get(e, 0.0) for e in ENGINES]

    def end(parts: Sequence[int]) -> float:
        sums = [
            b + sum(n * t[k] for n, t in zip(parts, ns, strict=True)) / _PARTS
            for k, b in enumerate(before)
        ]
        return max(sums) * (1 + _LANE * (sum(n > 0 for n in parts) - 1)) + sum(sums) * 1e-3

    best = min(_shares(len(ways), _PARTS), key=end)
    return [n / _PARTS for n in best]


@lru_cache
def _shares(count: int, whole: int) -> tuple[tuple[int, ...], ...]:
    return tuple(_ways(count, whole))


def _ways(count: int, whole: int) -> Iterator[tuple[int, ...]]:
    if count == 1:
        yield (whole,)
        return
    for first in range(whole, -1, -1):
        for rest in _ways(count - 1, whole - first):
            yield (first, *rest)


def block_axis(place: Placement | None, shape: tuple[int, ...]) -> int | None:
    """The axis along a partition whose parts, by blocks, fit a bank; None where there is none."""
    if place is None or place.run > 1:
        return None
    free = [k for k, n in enumerate(shape) if k != place.axis and n > 1]
    if not free or prod(shape[k] for k in free[1:]) > BLOCK:
        return None
    return free[0]
