"""Where the lanes of a wave read: a start for all of them, an offset for each, steps between loads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from dslc.codegen.c_family.ctypes_of import memory_bits
from dslc.codegen.c_family.emission import Emission
from dslc.codegen.c_family.indexing import add
from dslc.codegen.c_family.memory.accesses import pointer
from dslc.codegen.c_family.memory.widths import strides, tile_axis
from dslc.compiler.ir import Region
from dslc.compiler.ir.arithmetic.affine import constant
from dslc.compiler.ir.expr import Const, Var
from dslc.compiler.layout import Layout
from numpy.typing import NDArray

_MOST_BYTES = 0x7FFFFFFF  # of a buffer, so that there are offsets out of it


@dataclass(frozen=True, slots=True)
class Lanes:
    """One region of global memory met by one layout, `width` elements a load."""

    e: Emission
    region: Region
    layout: Layout
    width: int

    def start(self) -> str:
        """The address of the tile's first element, the same for all lanes."""
        parts = []
        for a, stride in zip(self.region.axes, strides(self.region.memory), strict=True):
            at, step = self.e.scalar(a.start), self.e.scalar(stride)
            if at != "0":
                parts.append(f"(long long)({at})" if step == "1" else f"(long long)({at}) * {step}")
        return add(pointer(self.e, self.region.memory), *parts)

    def bytes(self) -> str:
        """The size of the buffer; it ends with the tensor where the first axis may end in the tile."""
        most = str(_MOST_BYTES)
        if self._ends_with_tensor():
            a, memory = self.region.axes[0], self.region.memory
            left = f"(int)({self.e.scalar(self.region.extent(0))} - {self.e.scalar(a.start)})"
            size = memory_bits(memory.dtype) // 8
            each = f"(int)({self.e.scalar(strides(memory)[0])}) * {size}"
            most = f"buffer_bytes({left}, {a.size * a.step}, {each})"
        return most

    def _ends_with_tensor(self) -> bool:
        """Whether all that is past the end of the first axis is past the end of the tensor."""
        a, memory = self.region.axes[0], self.region.memory
        return (
            a.checked and not a.dropped and memory.strides is None and self.e.not_negative(a.start)
        )

    def _masked(self) -> list[int]:
        """The axes of the memory whose ends must be looked for lane by lane."""
        first = int(self._ends_with_tensor())
        return [d for d, a in enumerate(self.region.axes) if a.checked and d >= first]

    def runs(self) -> Iterator[tuple[int, int, str]]:
        """The loads in runs: the first's number, how many, the bytes from one to the next as C.

        In a run the lanes' places differ by the same step from load to load.
        """
        table = self.layout.table()[:, :: self.width]
        count = table.shape[1]
        axes = [
            tile_axis(self.region, d) for d in self._masked() if not self.region.axes[d].dropped
        ]
        steps = np.diff(table, axis=1)
        first = 0
        while first < count:
            last = first
            while last + 1 < count and _same(steps[:, last], steps[:, first], axes):
                last += 1
            step = self._bytes_of(steps[0, first]) if last > first else "0"
            yield first, last - first + 1, step
            first = last + 1

    def least(self, load: int) -> int:
        """The least bytes from the start to what a lane reads in one load, as far as they are known."""
        size = memory_bits(self.region.memory.dtype) // 8
        places = self.layout.table()[:, load * self.width]
        total = np.zeros(len(places), np.int64)
        for axis, (a, stride) in enumerate(
            zip(self.region.axes, strides(self.region.memory), strict=True)
        ):
            known = constant(stride)
            if not a.dropped and known is not None:
                total += places[:, tile_axis(self.region, axis)] * a.step * int(known) * size
        return int(total.min())

    def _bytes_of(self, step: NDArray[np.int64]) -> str:
        axes = [
            s
            for a, s in zip(self.region.axes, strides(self.region.memory), strict=True)
            if not a.dropped
        ]
        size = memory_bits(self.region.memory.dtype) // 8
        known = sum(int(n) * size * int(constant(s) or 0) for n, s in zip(step, axes, strict=True))
        parts = [
            f"{int(n) * size} * {self.e.scalar(s)}"
            for n, s in zip(step, axes, strict=True)
            if n and constant(s) is None
        ]
        return f"({add(str(known), *parts)})" if parts else str(known)

    def coordinates(self, load: int) -> list[str]:
        """The thread's place in the tile along each axis, for one load."""
        element = self.layout.local_modes
        at = []
        for axis in range(self.layout.rank):
            own, number = 0, load * self.width
            for mode in reversed(element):
                digit, number = number % mode.size, number // mode.size
                own += digit * mode.stride if mode.axis == axis else 0
            at.append(add(self.e.bases.base(self.layout, axis), str(own)))
        for s in self.layout.swizzles:
            key = f"({at[s.source]}) / {s.source_unit} % {min(s.source_size, s.size)}"
            changed = f"({at[s.dim]}) / {s.unit} % {s.size}"
            at[s.dim] = f"({at[s.dim]}) + (({changed} ^ ({key})) - {changed}) * {s.unit}"
        return [x or "0" for x in at]

    def offset(self, load: int) -> str:
        """The bytes from the start to what a lane reads in one load."""
        at = self.coordinates(load)
        size = memory_bits(self.region.memory.dtype) // 8
        parts = []
        for axis, (a, stride) in enumerate(
            zip(self.region.axes, strides(self.region.memory), strict=True)
        ):
            if a.dropped:
                continue
            x = at[tile_axis(self.region, axis)]
            scale = self.e.scalar(stride)
            text = f"({x}) * {a.step}" if a.step != 1 else f"({x})"
            parts.append(text if scale == "1" else f"{text} * {scale}")
        text = f"(int)(({add(*parts)}) * {size})"
        fixed = all(isinstance(s, Const | Var) for s in strides(self.region.memory))
        return self.e.bases.named("lane", text) if fixed else text

    def inside(self, load: int) -> str:
        """The condition that one load of a lane is in bounds; empty where that is proved."""
        at = self.coordinates(load)
        parts = []
        for axis in self._masked():
            a = self.region.axes[axis]
            own = "0" if a.dropped else at[tile_axis(self.region, axis)]
            own = f"({own}) * {a.step}" if a.step != 1 else own
            index = add(self.e.scalar(a.start), f"({own})" if own != "0" else "0") or "0"
            if not self.e.not_negative(a.start):
                parts.append(f"({index}) >= 0")
            parts.append(f"{index} < {self.e.scalar(self.region.extent(axis))}")
        return " && ".join(parts)


def _same(one: NDArray[np.int64], other: NDArray[np.int64], masked: list[int]) -> bool:
    """Whether two steps are one and the same for all lanes, and along no axis with a mask."""
    same = (one == one[:1]).all() and (one == other).all()
    return bool(same and not one[:, masked].any())
