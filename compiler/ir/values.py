"""Tiles and the memories they are read from.

Values and memories are compared by identity: two loads of the same region are two values.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dslc.compiler.diagnostics import Loc
from dslc.compiler.dtypes import DType
from dslc.compiler.ir.expr import Binary, Expr

if TYPE_CHECKING:
    from dslc.compiler.layout import Layout


class Place(enum.Enum):
    """Where a tile lives: the words of every machine are in docs/architecture.md."""

    GLOBAL = "global"
    SHARED = "shared"
    REGISTER = "register"


@dataclass(frozen=True, slots=True)
class TileType:
    """Dtype, shape and, once decided, the layout that spreads the tile over threads."""

    dtype: DType
    shape: tuple[int, ...]
    layout: Layout | None = None

    @property
    def rank(self) -> int:
        """The number of axes."""
        return len(self.shape)


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """A tile: the result of one instruction. The name is a hint for reading."""

    type: TileType
    name: str = ""


class Role(enum.Enum):
    """What a memory is to the kernel."""

    IN = "in"
    OUT = "out"
    INOUT = "inout"
    BUFFER = "buffer"  # on-chip, private to a parallel turn
    WORKSPACE = "workspace"  # global, owned by the runtime, zero when a launch begins


@dataclass(frozen=True, slots=True, eq=False)
class Memory:
    """A tensor in some memory: a parameter, an on-chip buffer or a workspace.

    `shape` is in elements; `strides` too, row-major and dense where None. `layout` is the explicit
    on-chip layout (one thread: address to logical index). `packed` is `row` where the parameter's
    low-bit storage is fixed, `codes` where bytes are to stay an ordinary array. `offset` is the byte
    offset in its place, once planned. A parameter's address is a multiple of `align` bytes; None is
    what every machine's memory begins at, 16.
    """

    name: str
    dtype: DType
    shape: tuple[Expr, ...]
    role: Role
    place: Place | None = None
    strides: tuple[Expr, ...] | None = None
    layout: Layout | None = None
    packed: str | None = None
    offset: int | None = None
    loc: Loc | None = None
    align: int | None = None

    @property
    def rank(self) -> int:
        """The number of axes."""
        return len(self.shape)


ALIGNMENT = 16
"""The bytes that every memory begins at a multiple of unless it says less."""


def alignment(memory: Memory) -> int:
    """A number of bytes that the address of a memory in global memory is a multiple of."""
    return ALIGNMENT if memory.align is None else memory.align


@dataclass(frozen=True, slots=True)
class AxisSlice:
    """What an access takes of one axis: `size` elements from `start`, `step` apart.

    `checked` says that the slice may reach out of bounds: the bounds pass clears it where it is
    proved not to. A `dropped` axis (an integer index) has size 1 and is not in the tile's shape.
    Elements from `limit` on are padding: they are out of bounds wherever the memory ends. What lies at
    `end` of the memory and after it is out of bounds as well; such a slice is checked.
    """

    start: Expr
    size: int
    step: int = 1
    dropped: bool = False
    checked: bool = True
    limit: int | None = None
    end: Expr | None = None

    @property
    def count(self) -> int:
        """How many of its elements may be in bounds."""
        return self.size if self.limit is None else self.limit

    @property
    def is_guarded(self) -> bool:
        """Whether some of its elements may be out of bounds."""
        return self.checked or self.limit is not None


@dataclass(frozen=True, slots=True)
class Region:
    """A rectangular part of a memory, one AxisSlice an axis."""

    memory: Memory
    axes: tuple[AxisSlice, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the tile that it holds."""
        return tuple(a.size for a in self.axes if not a.dropped)

    @property
    def subscripts(self) -> tuple[Expr, ...]:
        """The scalars that say where it lies: the starts of its axes, then the ends that there are."""
        ends = (a.end for a in self.axes if a.end is not None)
        return (*(a.start for a in self.axes), *ends)

    def with_subscripts(self, exprs: Iterable[Expr]) -> Region:
        """The region with other `subscripts`, in their order."""
        given = iter(exprs)
        starts = [next(given) for _ in self.axes]
        axes = (
            replace(a, start=s, end=None if a.end is None else next(given))
            for a, s in zip(self.axes, starts, strict=True)
        )
        return Region(self.memory, tuple(axes))

    def extent(self, axis: int) -> Expr:
        """Where an axis of the memory ends for this access: at its extent, or at the slice's `end`."""
        whole, end = self.memory.shape[axis], self.axes[axis].end
        return whole if end is None else Binary("min", end, whole, whole.dtype)
