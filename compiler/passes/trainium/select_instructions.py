"""Steps that one instruction of an engine has become one, with the casts before and after them.

Before (tests/ir/select-instructions/example.tir), for softmax's exponentials:

    %row_1 = cast %row : f32[128, 512] `spatial(128, 1).local(1, 512)`
    %e_2 = sub %row_1, %e_1 : f32[128, 512] `spatial(128, 1).local(1, 512)`
    %e_3 = exp %e_2 : f32[128, 512] `spatial(128, 1).local(1, 512)`

After: an engine reads any type of floats, computes in f32, and the scalar engine adds a column first.

    %e_3 = fused %row, %e_1, steps="sub exp" : f32[128, 512] `spatial(128, 1).local(1, 512)`

Operations on two tiles stand behind what columns do to the first one, where nothing else reads what is
between (tests/ir/select-instructions/chain.tir): the generator deals such a chain by columns.

    %y = fused %x, %s_1, %g_1, %b_1, steps="mul mul add" : f16[128, 512] ...

A column is one number for each partition, or for all. The scalar engine has x * column + column and
then a function of its tables; the vector engine two operations with columns, or one with a column and
one with a tile. Sums over a row stand behind what makes it, since the scalar engine sums what it has
computed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import frexp
from typing import ClassVar

from dslc.compiler.dtypes import F32, DType
from dslc.compiler.ir import Kernel, TileProgram, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.expr import Const
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.rewrite import Rewriter, map_kernels
from dslc.compiler.ir.traverse import Body, bodies, operands, tile_of, walk
from dslc.compiler.passes.trainium.lanes import block_axis, lanes
from dslc.compiler.passes.trainium.placement import counts, placement_of

FUNCTIONS = ("exp", "tanh", "sigmoid", "erf", "square", "silu")
"""Of the scalar engine's tables those that are the operation itself, on all numbers."""

_OPS = ("add", "sub", "mul", "max", "min")
_MANY = 128  # elements of a partition: what is worth several instructions
_GREAT = 2.0**126  # beyond which the inverse is no normal number


@dataclass(frozen=True, slots=True)
class SelectInstructions:
    """Fuses steps in kernels without products, once tiles are placed."""

    name: ClassVar[str] = "select-instructions"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program with fewer and longer steps."""
        return map_kernels(program, self.kernel)

    def kernel(self, kernel: Kernel) -> Kernel:
        """One kernel of it."""
        if any(isinstance(s, ins.Dot) for s in walk(kernel.body)):
            return kernel
        exact = _Simpler(kernel).kernel(kernel)
        body = _Selection(exact).body(exact.body)
        if not any(isinstance(s, ins.Fused) for s in walk(body)):
            return kernel
        return replace(exact, body=_sums_behind(body))


class _Simpler(Rewriter):
    """Steps in a form that more instructions have, with the same numbers.

    Quotients by powers of two are products, extremes of what is cast to f32 are those before the cast,
    and rows are cast to f32 where they are read, not where they are brought to all partitions.
    """

    def __init__(self, kernel: Kernel) -> None:
        super().__init__()
        self._made = {v: s for s in walk(kernel.body) if (v := tile_of(s)) is not None}

    def statement(self, stmt: Stmt) -> Iterable[Stmt]:
        """A number and a product in place of the quotient; an extreme and its cast."""
        match stmt:
            case ins.Reduce(out=out, op="max" | "min", x=x):
                before = self._made.get(x)
                if isinstance(before, ins.Cast) and widens(before):
                    narrow = Value(replace(out.type, dtype=before.x.type.dtype), out.name)
                    made = self.define(out)
                    assert isinstance(made, Value)
                    extreme = replace(stmt, out=narrow, x=self.value(before.x))
                    return extreme, ins.Cast(made, narrow, loc=stmt.loc)
            case ins.Binary(out=out, op="div", x=x, y=y) if out.type.dtype == F32:
                by = number_of(y, self._made)
                if by is not None and by and abs(frexp(by)[0]) == 0.5 and abs(by) < _GREAT:
                    inverse = Value(self.value(y).type, "inverse")
                    number = ins.Full(inverse, Const(1 / by, F32), loc=stmt.loc)
                    given, made = self.value(x), self.define(out)
                    assert isinstance(made, Value)
                    return number, replace(stmt, out=made, op="mul", x=given, y=inverse)
            case ins.Broadcast(out=out, x=x):
                before = self._made.get(x)
                if isinstance(before, ins.Cast) and widens(before) and not _is_narrow(x):
                    wide = self.define(out)
                    assert isinstance(wide, Value)
                    spread = Value(replace(wide.type, dtype=before.x.type.dtype), out.name)
                    spreads = replace(stmt, out=spread, x=self.value(before.x))
                    return spreads, ins.Cast(wide, spread, loc=stmt.loc)
        return super().statement(stmt)


def number_of(value: Value, made: Mapping[Value, Stmt]) -> float | None:
    """The number of a tile that is one all over."""
    maker = made.get(value)
    while isinstance(maker, ins.Broadcast):
        maker = made.get(maker.x)
    if isinstance(maker, ins.Full) and isinstance(maker.value, Const):
        return float(maker.value.value)
    return None


@dataclass(slots=True)
class _Chain:
    """Steps from xs[0] on, and the statements that they stand for but for the last one."""

    steps: list[str]
    xs: list[Value]
    covered: list[Stmt]


class _Selection:
    def __init__(self, kernel: Kernel) -> None:
        self._uses: Counter[Value] = Counter()
        self._made: dict[Value, Stmt] = {}
        self._summed: set[Value | None] = set()  # that the scalar engine could sum as it makes them
        self._sums: set[Value] = set()
        for stmt in walk(kernel.body):
            self._uses.update(set(operands(stmt)))
            out = tile_of(stmt)
            if out is not None and not bodies(stmt):
                self._made[out] = stmt
            if isinstance(stmt, ins.Reduce) and is_row_sum(stmt):
                self._summed.add(stmt.x)
                self._sums.add(stmt.out)

    def body(self, body: Body) -> Body:
        """A body with its chains; what they stand for is left out where nothing else reads it."""
        here = set(body)
        kept: list[Stmt] = []
        covered: set[Stmt] = set()
        read: set[Value] = set()
        for stmt in reversed(body):
            out = tile_of(stmt)
            if stmt in covered and out not in read:
                continue
            chain = self._chain(stmt, here)
            if chain is None:
                read.update(v for s in walk((stmt,)) for v in operands(s))
                kept.append(self._nested(stmt))
                continue
            assert out is not None
            read.update(chain.xs)
            covered.update(chain.covered)
            kept.append(ins.Fused(out, tuple(chain.xs), " ".join(chain.steps), loc=stmt.loc))
        return tuple(reversed(kept))

    def _nested(self, stmt: Stmt) -> Stmt:
        match stmt:
            case ins.For():
                return replace(stmt, body=self.body(stmt.body))
            case ins.While():
                return replace(stmt, before=self.body(stmt.before), body=self.body(stmt.body))
            case ins.If():
                return replace(stmt, then=self.body(stmt.then), otherwise=self.body(stmt.otherwise))
        return stmt

    def _chain(self, stmt: Stmt, here: set[Stmt]) -> _Chain | None:
        """The longest chain that ends in a statement and that an instruction has; None for one step."""
        chain = self._step(stmt)
        if chain is None or not self._fits(chain.steps, chain.xs):
            return None
        while (longer := self._longer(chain, here, stmt)) is not None:
            chain = longer
        summed = tile_of(stmt) in self._summed and chain.steps in ([], ["square"], ["exp"])
        of_sum = chain.steps in (["mul"], ["add"]) and chain.xs[0] in self._sums
        return chain if (chain.covered and chain.steps) or summed or of_sum else None

    def _longer(self, chain: _Chain, here: set[Stmt], last: Stmt) -> _Chain | None:
        """With the statement that makes the first tile; or a cast of a later one taken from it."""
        for number, x in enumerate(chain.xs):
            before = self._made.get(x)
            if before is None or before not in here:
                continue
            if number == 0 and (step := self._step(before)) is not None and not step.covered:
                if isinstance(before, ins.Cast) and not widens(before):
                    continue  # rounds: not what a step in f32 would give
                steps, xs = [*step.steps, *chain.steps], [*step.xs, *chain.xs[1:]]
                # A cast, and a column in front of a function, cost nothing a second time.
                free = isinstance(before, ins.Cast) or (
                    chain.steps[-1:] and chain.steps[-1] in FUNCTIONS
                )
                alone = self._uses[x] == 1
                whole = x.type.dtype == F32 and (free or alone)
                several = (alone or isinstance(before, ins.Cast)) and self._is_dealt(
                    last, steps, xs
                )
                if whole and (several or self._fits(steps, xs)):
                    return _Chain(steps, xs, [*chain.covered, before])
            elif isinstance(before, ins.Cast) and widens(before) and not self._column(x):
                xs = [*chain.xs[:number], before.x, *chain.xs[number + 1 :]]
                return _Chain(chain.steps, xs, [*chain.covered, before])
        return None

    def _step(self, stmt: Stmt) -> _Chain | None:
        """One statement as a chain: of floats, in f32 or rounded at its end."""
        match stmt:
            case ins.Cast(out=out, x=x, saturate=False) if _is_plain(out) and _is_plain(x):
                return _Chain([], [x], [])
            case ins.Unary(out=out, op=op, x=x) if op in FUNCTIONS and x.type.dtype == F32:
                return _Chain([op], [x], [])
            case ins.Binary(out=out, op=op, x=x, y=y) if op in _OPS and out.type.dtype == F32:
                if x is y:
                    return _Chain(["square"], [x], []) if op == "mul" else None
                if op == "mul" and (gated := self._gated(x, y) or self._gated(y, x)) is not None:
                    return gated
                if self._column(x) and not self._column(y):
                    return _Chain(["rsub" if op == "sub" else op], [y, x], [])
                return _Chain([op], [x, y], [])
        return None

    def _gated(self, x: Value, gate: Value) -> _Chain | None:
        """x * sigmoid(x), which is a function of its own."""
        before = self._made.get(gate)
        match before:
            case ins.Unary(op="sigmoid", x=inner) if inner is x and self._uses[gate] == 1:
                return _Chain(["silu"], [x], [before])
        return None

    def _fits(self, steps: list[str], xs: list[Value]) -> bool:
        """Whether one instruction has the steps."""
        shape = self._kinds(steps, xs)
        if shape in ("", "c", "cc", "t", "ct"):
            return True
        if shape not in ("f", "cf", "ccf"):
            return False
        before = steps[:-1]
        return before in ([], ["mul"], ["add"], ["sub"], ["mul", "add"], ["mul", "sub"])

    def _kinds(self, steps: list[str], xs: list[Value]) -> str:
        """f for a function, c for an operation with a column, t for one with a tile."""
        others = iter(xs[1:])
        return "".join(
            "f" if s not in ins.FUSED_OPS else "c" if self._column(next(others)) else "t"
            for s in steps
        )

    def _is_dealt(self, last: Stmt, steps: list[str], xs: list[Value]) -> bool:
        """Whether the engines have the steps one after another, by columns of the result."""
        out = tile_of(last)
        if out is None or out.type.layout is None:
            return False
        place, shape = placement_of(out.type.layout), out.type.shape
        if block_axis(place, shape) is None or place is None or counts(place, shape)[1] < _MANY:
            return False
        kinds = self._kinds(steps, xs)
        dealt = re.fullmatch("[cf]{0,3}t+", kinds) is not None
        columns = [kind == "c" for kind in kinds if kind != "f"]
        return dealt and bool(lanes(steps, columns, psum=True, same=False))

    def _column(self, value: Value) -> bool:
        return is_column(value, self._made)


def is_column(value: Value, made: Mapping[Value, Stmt]) -> bool:
    """Whether a tile has one number of f32 for each partition, or for all, by what makes it."""
    if value.type.dtype != F32:
        return False
    seen, maker = value, made.get(value)
    while isinstance(maker, ins.Broadcast):
        seen, maker = maker.x, made.get(maker.x)
    if isinstance(maker, ins.Full):
        return True
    if seen is value:
        return False
    place = None if seen.type.layout is None else placement_of(seen.type.layout)
    return place is not None and counts(place, seen.type.shape)[1] == 1


def _is_narrow(value: Value) -> bool:
    """Whether a partition has one element of a tile: a column, which engines want in f32."""
    place = None if value.type.layout is None else placement_of(value.type.layout)
    return place is None or counts(place, value.type.shape)[1] == 1


def _is_plain(value: Value) -> bool:
    """Of a type that every engine reads and writes as it is."""
    dtype: DType = value.type.dtype
    return dtype.name in ("f32", "f16", "bf16")


def widens(stmt: ins.Cast) -> bool:
    """Whether a cast keeps every number."""
    narrow = _is_plain(stmt.x) and stmt.x.type.dtype != F32
    return narrow and stmt.out.type.dtype == F32 and not stmt.saturate


def _sums_behind(body: Body) -> Body:
    """Each sum over the elements of a row right behind what makes them."""
    sums: dict[Value, Stmt] = {}
    known: set[Value] = set()
    for stmt in body:
        match stmt:
            case ins.Fused(out=out):
                known.add(out)
            case ins.Reduce(op="sum", x=x) if x in known and x not in sums and is_row_sum(stmt):
                sums[x] = stmt
    moved = set(sums.values())
    ordered: list[Stmt] = []
    for stmt in body:
        if stmt in moved:
            continue
        ordered.append(_within(stmt))
        if isinstance(stmt, ins.Fused) and stmt.out in sums:
            ordered.append(sums[stmt.out])
    return tuple(ordered)


def _within(stmt: Stmt) -> Stmt:
    return replace(stmt, body=_sums_behind(stmt.body)) if isinstance(stmt, ins.For) else stmt


def is_row_sum(stmt: ins.Reduce) -> bool:
    """Whether a sum of f32 takes in all that a partition has of a tile."""
    x = stmt.x
    place = None if x.type.layout is None else placement_of(x.type.layout)
    if stmt.op != "sum" or x.type.dtype != F32 or place is None or place.axis is None:
        return False
    free = [k for k, n in enumerate(x.type.shape) if k != place.axis and n > 1]
    return place.run == 1 and free == [stmt.axis % x.type.rank] and place.axis != stmt.axis
