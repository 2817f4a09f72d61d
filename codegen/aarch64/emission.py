"""The state of emitting one kernel: scalars, memories, tiles that are still to be computed, loops.

A tile is computed where it is stored, reduced or multiplied, chunk by chunk: `pull` gives a chunk of
it, pulling what it is made of. So a chain of elementwise operations stays in registers. A tile that is
read in several places, or whose elements are read in an order that its chunks do not have, is put into
the scratch memory of the call first (`materialize`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias

from dslc.codegen.aarch64.chunks import floats
from dslc.codegen.aarch64.chunks.formats import Lanes
from dslc.codegen.aarch64.chunks.scalars import integer
from dslc.codegen.aarch64.machine_code.blocks import Label, Reg
from dslc.codegen.aarch64.machine_code.stream import Scope
from dslc.codegen.aarch64.memory.addresses import Addresses
from dslc.codegen.aarch64.memory.chunk_loads import load_lanes
from dslc.codegen.aarch64.memory.transfer import from_registers, gather_register, to_general
from dslc.codegen.aarch64.places import Array, InRegisters, Loops
from dslc.codegen.aarch64.products.driving import biased, fits_registers, loads, units
from dslc.codegen.aarch64.products.marks import Marks
from dslc.codegen.aarch64.refusals import without_code
from dslc.codegen.chunks.at import At, linear_of
from dslc.codegen.quoting import ascii_name
from dslc.compiler.dtypes import INDEX
from dslc.compiler.ir import Kernel, Memory, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import Linear, constant, linear, simplify, to_expr
from dslc.compiler.ir.arithmetic.index_arithmetic import div, sub

Emitter: TypeAlias = "Callable[[Emission, Any, At], Lanes]"


class Emission(Addresses):
    """One kernel on its way to assembly."""

    def __init__(self, kernel: Kernel, features: frozenset[str], pulls: Mapping[type, Emitter]):
        super().__init__(kernel)
        self.features = features
        self.memories: dict[Memory, Array] = {}
        self.fixed_scopes: set[Scope] = set()  # loads do not move ahead of these
        self.marks = Marks(ascii_name(kernel.name), self.s)
        self.units = units(self.plan, features)  # of tiles that products add up in
        self.biased = biased(kernel, self.plan)  # sums that are read as f32, by product
        self.streaming = False  # what is loaded is read once: the next iterations' is asked for
        self.exit = Label(f".L{ascii_name(kernel.name)}_exit")
        self.done = Label(f".L{ascii_name(kernel.name)}_done")
        self._pulls = pulls

    def may_drive(self, product: ins.Dot, value: Value, defining: Mapping[Value, ins.Stmt]) -> bool:
        """Whole registers are finished: a tile that they stick out of reads nothing that is loaded."""
        return fits_registers(product) or not loads(value, defining)

    # Scalars

    def is_natural(self, form: Linear) -> bool:
        """Whether a sum is surely not negative: all its parts are not."""
        parts = all(a in self.natural and k >= 0 for a, k in form.terms.items())
        return parts and form.constant >= 0

    def level_of_at(self, at: At) -> int:
        """The same for where a chunk begins."""
        return max((self.level_of(to_expr(b)) for b in at.base if not b.is_constant), default=0)

    def integer(self, expr: ex.Expr) -> Reg:
        """An integer expression in a general register."""
        return integer(self, expr)

    def read_integer(self, value: Value) -> Reg:
        """The element of a tile of rank 0 in a general register."""
        return to_general(self, self.pull(value, At((), ((),))), value.type.dtype)

    def compare_floats(self, expr: ex.Binary) -> Reg:
        """A comparison of float scalars as 0 or 1."""
        return floats.compare(self, expr)

    def float_to_integer(self, expr: ex.Expr, dtype: Any) -> Reg:
        """A float scalar truncated and saturated."""
        return floats.to_integer(self, expr, dtype)

    # Tiles

    def pull(self, value: Value, at: At) -> Lanes:
        """A chunk of a tile, computed before the outermost loop that does not change it."""
        key = ("tile", value, at.key())
        remembered = self.s.recall(key)
        if isinstance(remembered, Lanes):
            return remembered
        level = self._free_level(max(self.level_of_at(at), self.depth(value)))
        with self.s.ahead_of(level):
            home = self.homes.get(value)
            if isinstance(home, InRegisters):
                lanes = from_registers(self, home, at)
            elif home is not None:
                lanes = load_lanes(self, home, at, value.type.dtype)
            else:
                stmt = self.lazy[value]
                emitter = self._pulls.get(type(stmt))
                if emitter is None:
                    raise without_code(stmt)
                lanes = emitter(self, stmt, at)
            self.s.remember(key, lanes, self.s.level)  # type: ignore[arg-type]
        return lanes

    def _free_level(self, wanted: int) -> int:
        """The level, or the nearest to it that lies behind no branch and no loop of the program."""
        for scope in reversed(self.s.scopes):
            if scope.level <= wanted and scope not in self.fixed_scopes:
                return scope.level
            if scope in self.fixed_scopes:
                return self.s.level if scope.level == self.s.level else scope.level
        return wanted

    @abstractmethod
    def body(self, body: tuple[ins.Stmt, ...]) -> None:
        """Statements one after another."""

    @abstractmethod
    def drive(self, product: ins.Dot, value: Value, array: Array) -> None:
        """`value`, made of a product element by element, to memory as the product's tiles end."""

    @contextmanager
    def streams(self) -> Iterator[None]:
        """What is loaded here is read once, in the order in which it lies in memory or nearly so."""
        before, self.streaming = self.streaming, True
        yield
        self.streaming = before

    # Shapes

    def spread(self, value: Value, at: At) -> Lanes:
        """A chunk whose lanes may all be one element."""
        return self.pull(value, at)

    @staticmethod
    def singly(at: At) -> list[At]:
        """The lanes of a chunk, each a chunk of its own."""
        return [At(at.base, (lane,)) for lane in at.lanes]

    def one_by_one(self, value: Value, ats: list[At]) -> Lanes:
        """Lanes that come from unrelated places, each pulled by itself."""
        singles = [self.pull(value, at) for at in ats]
        form = singles[0].format
        wanted = [(x.regs[0], 0) for x in singles]
        starts = range(0, len(wanted), form.lanes)
        regs = tuple(gather_register(self, form, wanted[k : k + form.lanes]) for k in starts)
        return Lanes(regs, form, len(ats))

    # Loops and branches

    @contextmanager
    def steps(
        self, low: ex.Expr, high: ex.Expr, step: int, *, movable: bool = True
    ) -> Iterator[Linear]:
        """A loop over whole steps from low up to high."""
        count = simplify(div(sub(high, low), step))
        with self.loop("i", ex.index(0), count, ex.index(1), movable=movable) as var:
            yield linear(low) + Linear({var: step})

    @contextmanager
    def loop(
        self, hint: str, start: ex.Expr, stop: ex.Expr, step: ex.Expr, *, movable: bool = True
    ) -> Iterator[ex.Var]:
        """A loop over `hint` from start up to stop; with `movable`, loads may move ahead of it."""
        var = self.fresh(hint)
        with self.loop_over(var, start, stop, step, movable=movable):
            yield var

    @contextmanager
    def loop_over(
        self, var: ex.Var, start: ex.Expr, stop: ex.Expr, step: ex.Expr, *, movable: bool = True
    ) -> Iterator[None]:
        """The same over a variable of the program."""
        s = self.s
        counter, end_at = s.copy(self.integer(start)), constant(stop)
        short = end_at is not None and 0 <= end_at < 4096
        against = f"#{end_at}" if short else "{1}"
        last = () if short else (self.integer(stop),)
        advance = constant(step)
        by = None if advance is not None and 0 < advance < 4096 else self.integer(step)
        head, end = s.label("loop"), s.label("end")
        trips = constant(ex.Binary("sub", stop, start, INDEX))
        if trips is None or trips > 0:
            with s.loop_scope() as (_, latch):
                body = s.block
                if trips is None:  # behind the block ahead, whose results others may use
                    s.branch(f"cmp {{0}}, {against}\n\tb.ge @", end, counter, *last)
                s.put(head)
                self.bind(var, counter)
                self.loops[s.scope] = Loops(var, start, step)
                if self.is_natural(linear_of(start)):
                    self.natural.add(var)
                if not movable:
                    self.fixed_scopes.add(s.scope)
                yield
                s.block = latch
                if by is None:
                    s.into(f"add {{0}}, {{1}}, #{advance}", counter, counter)
                else:
                    s.into("add {0}, {1}, {2}", counter, counter, by)
                s.branch(f"cmp {{0}}, {against}\n\tb.lt @", head, counter, *last)
                s.block = body
        else:
            raise AssertionError("a loop without iterations is not written")
        s.put(end)

    @contextmanager
    def branch(self) -> Iterator[None]:
        """A part of the code that may be jumped over."""
        with self.s.branch_scope():
            self.fixed_scopes.add(self.s.scope)
            yield
