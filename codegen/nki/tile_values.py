"""Tiles as the emitted program holds them: tensors on chip, seen through strides.

A tile is a Python variable: a tensor of [partitions, elements ...], or a list of such tensors where it
takes more than 128 partitions. What only renames elements (transpositions of axes along a partition,
slices, broadcasts) gives the same tensors under other strides, and emits nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from dslc.compiler.dtypes import F32, DType
from dslc.compiler.passes.trainium.placement import PARTITIONS, Placement, chunks, counts


@dataclass(frozen=True, slots=True)
class TileValue:
    """A tile in `name`; `constant` instead where all its elements are one number.

    `extents` are those of the tensor behind the partitions. An element's place in its partition is
    `offset` and the sum of its indices times `strides`; the stride of the axis along the partitions,
    and of one that is broadcast, is 0. `psum` tells which memory it is in, `shared` of one tensor with
    128 equal partitions that serves every chunk, `paired` of tensors [128, 2, ...] of two chunks each.
    """

    name: str
    dtype: DType
    shape: tuple[int, ...]
    place: Placement
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0
    psum: bool = False
    constant: str | None = None
    shared: bool = False
    paired: bool = False

    @property
    def chunks(self) -> int:
        """How many tensors it is."""
        return chunks(self.place, self.shape)

    @property
    def rows(self) -> int:
        """Partitions of all chunks together."""
        return counts(self.place, self.shape)[0]

    @property
    def free(self) -> tuple[int, ...]:
        """The axes that lie along a partition."""
        return tuple(
            i for i in range(len(self.shape)) if i != self.place.axis or self.place.run > 1
        )

    @property
    def pattern(self) -> list[tuple[int, int]]:
        """Strides and counts of those axes, neighbours merged; axes of extent 1 left out."""
        pairs: list[tuple[int, int]] = []
        for axis in self.free:
            count = self.place.run if axis == self.place.axis else self.shape[axis]
            stride = self.strides[axis]
            if count == 1:
                continue
            if pairs and pairs[-1][0] == stride * count:
                pairs[-1] = (stride, pairs[-1][1] * count)
            else:
                pairs.append((stride, count))
        return pairs

    @property
    def is_zero(self) -> bool:
        """Whether all elements are known to be 0."""
        return self.constant in ("0", "0.0")

    @property
    def is_row_scalar(self) -> bool:
        """Whether each partition has one number only."""
        return all(stride == 0 for stride, _ in self.pattern)

    @property
    def is_column(self) -> bool:
        """Whether it is one number of f32 for each partition, or for all."""
        return self.constant is not None or (self.is_row_scalar and self.dtype == F32)

    @property
    def is_dense(self) -> bool:
        """Whether the elements are the whole tensors in order."""
        size = prod(self.extents)
        return self.offset == 0 and self.pattern == ([(1, size)] if size > 1 else [])


def free_shape(place: Placement, shape: Sequence[int]) -> tuple[int, ...]:
    """The extents of a tile's tensors behind the partitions."""
    if place.run > 1:
        return (place.run,)
    return tuple(n for i, n in enumerate(shape) if i != place.axis) or (1,)


def dense_strides(place: Placement, shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of a tile whose tensors have its elements in order."""
    if place.run > 1:
        return (1,)
    strides, step = [0] * len(shape), 1
    for axis in reversed(range(len(shape))):
        if axis != place.axis:
            strides[axis] = step
            step *= shape[axis]
    return tuple(strides)


def part(held: TileValue, base: str, rows: int | str, *, whole: bool) -> str:
    """The text of a chunk's elements: the tensor, a slice of it, or a pattern of strides.

    `rows` are the partitions that are taken; `whole` says that these are all that the tensor has.
    """
    size = prod(held.extents)
    if held.is_dense:
        return base if whole else f"{base}[{', '.join(_all(rows, held.extents))}]"
    pattern = held.pattern
    if len(held.extents) == 1 and len(pattern) <= 1:
        stride, count = pattern[0] if pattern else (1, 1)
        if stride > 0:
            stop = held.offset + (count - 1) * stride + 1
            step = f":{stride}" if stride > 1 else ""
            return f"{base}[0:{rows}, {held.offset}:{stop}{step}]"
    pairs = [f"[{size}, {rows}]", *(f"[{s}, {n}]" for s, n in pattern or [(1, 1)])]
    offset = f", offset={held.offset}" if held.offset else ""
    return f"{base}.ap(pattern=[{', '.join(pairs)}]{offset})"


def first_column(held: TileValue, base: str, rows: int | str) -> str:
    """The one number of each partition as a vector [rows, 1]."""
    if len(held.extents) == 1:
        return f"{base}[0:{rows}, {held.offset}:{held.offset + 1}]"
    offset = f", offset={held.offset}" if held.offset else ""
    return f"{base}.ap(pattern=[[{prod(held.extents)}, {rows}], [1, 1]]{offset})"


def _all(rows: int | str, extents: Sequence[int]) -> list[str]:
    return [f"0:{rows}", *(f"0:{n}" for n in extents)]


__all__ = ["PARTITIONS", "TileValue", "dense_strides", "first_column", "free_shape", "part"]
