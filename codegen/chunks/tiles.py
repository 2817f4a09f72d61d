"""What a generator knows of one kernel: its scalars, what each tile is made of or where it lies.

A tile that is defined is computed where it is read, chunk by chunk; one that is settled has a home.
`level` counts the loops and branches around the place that is written, so that what does not change
in one may be computed ahead of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Generic, TypeVar

from dslc.codegen.chunks.driving import meetings
from dslc.codegen.chunks.planning import kept
from dslc.codegen.chunks.regions import Inside
from dslc.compiler.analysis.axis_extents import extents
from dslc.compiler.dtypes import INDEX
from dslc.compiler.ir import Kernel, TileType, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import Linear, constant, simplify
from dslc.compiler.ir.arithmetic.index_arithmetic import largest, least
from dslc.compiler.ir.rewrite import fresh_name, scalar_names
from dslc.compiler.ir.traverse import uses_of

Register = TypeVar("Register")
Home = TypeVar("Home")


@dataclass(frozen=True, slots=True)
class Bound(Generic[Register]):
    """A scalar's register and the level of its definition."""

    value: Register
    level: int


class Tiles(ABC, Generic[Register, Home]):
    """The scalars and tiles of one kernel."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.vars: dict[ex.Var, Bound[Register]] = {}
        self.natural: set[ex.Expr] = set()  # variables that are never negative
        self.lazy: dict[Value, ins.Stmt] = {}
        self.levels: dict[Value, int] = {}  # of a tile's definition
        self.homes: dict[Value, Home] = {}
        self.inside: list[Inside] = []
        self.asserts: list[str] = []
        self.kept = kept(kernel)
        self.plan = meetings(kernel, self.kept, self.may_drive)
        self.extents = extents(kernel)
        self._names = scalar_names(kernel)

    @property
    @abstractmethod
    def level(self) -> int:
        """The loops (and branches) around what is written next."""

    @abstractmethod
    def is_natural(self, form: Linear) -> bool:
        """Whether a sum is surely not negative."""

    @abstractmethod
    def forget(self) -> None:
        """Memory changed: no chunk of a tile is known any longer."""

    @abstractmethod
    def steps(
        self, low: ex.Expr, high: ex.Expr, step: int, *, movable: bool
    ) -> AbstractContextManager[Linear]:
        """A loop over whole steps from low up to high; with `movable`, loads may move ahead of it."""

    def may_drive(self, product: ins.Dot, value: Value, defining: Mapping[Value, ins.Stmt]) -> bool:
        """Whether a product may be finished in registers, as `value`, which is made of it."""
        return True

    # Scalars

    def fresh(self, hint: str) -> ex.Var:
        """An index variable of a name of its own."""
        return ex.Var(fresh_name(hint, self._names), INDEX)

    def bind(self, var: ex.Var, value: Register) -> None:
        """A scalar is in a register from here on."""
        self.vars[var] = Bound(value, self.level)

    def level_of(self, expr: ex.Expr) -> int:
        """The level of the latest of what an expression reads."""
        level = 0
        for node in ex.walk(expr):
            if isinstance(node, ex.Var):
                level = max(level, self.vars[node].level)
            elif isinstance(node, ex.Read):
                return self.level
        return min(level, self.level)

    # Tiles

    def define(self, value: Value, stmt: ins.Stmt) -> None:
        """A tile that is computed where it is needed."""
        self.lazy[value] = stmt
        self.levels[value] = self.level

    def settle(self, value: Value, home: Home) -> None:
        """A tile that is in memory or in registers from here on."""
        self.homes[value] = home
        self.levels[value] = self.level

    def as_store(self, i: ins.CopyAsync) -> ins.Store:
        """A copy as the store of a tile that is loaded where it is read."""
        sizes = tuple(a.size for a in i.dst.axes if not a.dropped)
        value = Value(TileType(i.src.memory.dtype, sizes))
        self.define(value, ins.Load(value, i.src, loc=i.loc))
        return ins.Store(i.dst, value, loc=i.loc)

    def depth(self, value: Value) -> int:
        """The level of the latest definition that a tile is made of."""
        if value in self.homes:
            return self.levels[value]
        depth = 0
        for use in uses_of(self.lazy[value]):
            if isinstance(use, Value):
                depth = max(depth, self.depth(use))
            else:
                depth = max(depth, self.level_of(use))
        return depth

    def driver(self, value: Value) -> ins.Dot | None:
        """The product that is waiting to be finished as this tile."""
        for out, wanted in self.plan.driven.items():
            stmt = self.lazy.get(out)
            if wanted is value and isinstance(stmt, ins.Dot):
                return stmt
        return None

    def extent(self, value: Value, axis: int) -> ex.Expr:
        """How many elements of a tile matter along an axis."""
        size = value.type.shape[axis]
        end = self.extents.get((value, axis))
        if end is None:
            return ex.index(size)
        return simplify(largest(0, least(size, end)))

    def span_of(self, value: Value, axis: int) -> tuple[ex.Expr, ex.Expr] | None:
        """The coordinates that matter along an axis, where a turn alone knows them."""
        end = self.extent(value, axis)
        return None if constant(end) is not None else (ex.index(0), end)
