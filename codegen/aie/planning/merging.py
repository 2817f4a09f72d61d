"""Loops whose iterations can be dealt to several cores, and how their results are merged.

Each of four cores runs every fourth iteration, say; then the carried values pass from core to core.
Sums are added, maxima taken again. A sum that is rescaled as a maximum grows, as online softmax does
(Milakov and Gimelshein, 2018; Dao, 2023), is brought to the common maximum by the loop's own factor:

    for l ...:                                        two results (top, total), (top2, total2):
        higher = maximum(top, max(scores, 1))         m = maximum(top, top2)
        shrink = exp2(top * f - higher * f)           total * exp2(top * f - m * f)
        total = total * shrink + sum(exp2(scores      + total2 * exp2(top2 * f - m * f)
                * f - higher * f), 1)
        top = higher

That is so if what is added scales with the maximum as the factor does, which `rescaling` proves.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from dslc.codegen.aie.planning.rescaling import Scaling, is_same
from dslc.compiler.analysis.accumulation import accumulators
from dslc.compiler.ir import Kernel, Role, TileType, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.instructions import Carried, Stmt
from dslc.compiler.ir.traverse import (
    Body,
    Name,
    definitions,
    inner_names,
    operands,
    regions,
    results,
    walk,
    writes,
)  # fmt: skip

# A maximum of nothing that e^(x - maximum) bears: below every score. Products with a power of two are
# exact, so that x * f - x * f is 0 where the one is rounded and the other part of an fma.
_NOTHING = -(2.0**100)
_EXTREMES = ("max", "min")


@dataclass(frozen=True, slots=True, eq=False)
class Cascade:
    """A loop to deal to stages. `seeds` are what carried values are at first in all stages but one.

    `merge` computes `merged` of the values `received` and of the loop's results; `made` are the
    statements that make the seeds.
    """

    loop: ins.For
    made: Body
    seeds: tuple[Value, ...]
    received: tuple[Value, ...]
    merge: Body
    merged: tuple[Value, ...]

    @property
    def states(self) -> tuple[TileType, ...]:
        """What passes between stages."""
        return tuple(v.type for v in self.received)

    @property
    def body(self) -> Body:
        """All that it adds to the kernel."""
        return (*self.made, *self.merge)


def find_cascade(kernel: Kernel) -> Cascade | None:
    """The loop of a kernel that several cores can share, None where there is none."""
    loops = [s for s in kernel.body if isinstance(s, ins.For) and _touches(s)]
    if len(loops) != 1 or not loops[0].carried:
        return None
    (loop,) = loops
    before = kernel.body[: kernel.body.index(loop)]
    if any(writes(s) for s in walk((*before, loop))) or any(
        isinstance(s, ins.Alloc) for s in walk((loop,))
    ):
        return None
    try:
        return _Merger(loop, definitions(kernel.body)).cascade()
    except _NotMerged:
        return None


def _touches(loop: ins.For) -> bool:
    return any(r.memory.role is not Role.BUFFER for s in walk(loop.body) for r in regions(s))


class _NotMerged(Exception):
    """A carried value that is no sum and no extreme."""


class _Merger:
    """Finds how each carried value of a loop is merged."""

    def __init__(self, loop: ins.For, defined: Mapping[Name, Stmt]) -> None:
        self.loop, self.defined = loop, defined
        self.inner = {n for s in walk((loop,)) for n in (*inner_names(s), *results(s))}
        self.carried = {c.inner for c in loop.carried}
        self.made: list[Stmt] = []
        self.merge: list[Stmt] = []

    def cascade(self) -> Cascade:
        """The loop with its seeds and its merge; raises where a value has none."""
        received, merged, seeds = [], [], []
        extremes = {c.inner: n for n, c in enumerate(self.loop.carried) if self._extreme(c)}
        whole = accumulators(self.loop)
        common: dict[int, Value] = {}
        for carried in self.loop.carried:
            if not isinstance(carried.inner, Value):
                raise _NotMerged
            received.append(Value(carried.inner.type, f"{carried.inner.name}_in"))
        for number in extremes.values():
            common[number] = self._binary(
                str(self._extreme(self.loop.carried[number])), received[number], self._own(number)
            )
        scaled: set[int] = set()
        for number, (carried, op) in enumerate(zip(self.loop.carried, whole, strict=True)):
            assert isinstance(carried.inner, Value)
            if number in common:
                merged.append(common[number])
            elif op is not None:
                merged.append(self._binary(op, received[number], self._own(number)))
            else:
                factor, start = self._factor(carried, extremes)
                scaled.add(start)
                parts = []
                for value, top in (
                    (received[number], received[start]),
                    (self._own(number), self._own(start)),
                ):
                    rate = self._copied(
                        factor,
                        {
                            self.loop.carried[start].inner: top,
                            self.loop.carried[start].yielded: common[start],
                        },
                    )
                    parts.append(self._binary("mul", value, rate))
                merged.append(self._binary("add", *parts))
        for number, carried in enumerate(self.loop.carried):
            assert isinstance(carried.inner, Value)
            op = (
                "add"
                if number not in common and whole[number] is None
                else whole[number] or self._extreme(carried)
            )
            seeds.append(self._seed(carried.inner, str(op), scales=number in scaled))
        return Cascade(
            self.loop,
            tuple(self.made),
            tuple(seeds),
            tuple(received),
            tuple(self.merge),
            tuple(merged),
        )

    def _own(self, number: int) -> Value:
        result = self.loop.carried[number].result
        assert isinstance(result, Value)
        return result

    def _extreme(self, carried: Carried) -> str | None:
        """max or min, where a carried value is that of itself and of what depends on no other."""
        stmt = self.defined.get(carried.yielded) if isinstance(carried.yielded, Value) else None
        if not (isinstance(stmt, ins.Binary) and stmt.op in _EXTREMES):
            return None
        other = stmt.y if stmt.x is carried.inner else stmt.x
        if carried.inner not in (stmt.x, stmt.y) or self._depends(other):
            return None
        return stmt.op

    def _depends(self, value: Value) -> bool:
        """Whether a tile of the loop's body is made of carried values."""
        return Scaling(self.defined, self.carried, self.inner).depends(value)

    def _factor(self, carried: Carried, extremes: Mapping[Name, int]) -> tuple[Value, int]:
        """The tile by which a carried sum is multiplied, and the number of its extreme."""
        parts = _rescaled(carried, self.defined)
        if parts is None:
            raise _NotMerged
        factor, addend = parts
        for inner, number in extremes.items():
            new = self.loop.carried[number].yielded
            assert isinstance(inner, Value)
            assert isinstance(new, Value)
            scaling = Scaling(self.defined, self.carried, self.inner, inner, new)
            rate = scaling.ratio(factor)
            own = scaling.rate(addend)
            if rate is not None and own is not None and is_same(rate, own):
                return factor, number
        raise _NotMerged

    def _binary(self, op: str, x: Value, y: Value) -> Value:
        out = Value(x.type, x.name)
        self.merge.append(ins.Binary(out, op, x, y))
        return out

    def _copied(self, value: Value, known: Mapping[Name | ex.Expr, Value]) -> Value:
        """A tile of the loop's body computed of other carried values."""
        if value in known:
            return known[value]
        stmt = self.defined.get(value)
        if value not in self.inner or stmt is None:
            return value
        fields = {
            n: self._copied(x, known)
            for n in ("x", "y", "z")
            if isinstance(x := getattr(stmt, n, None), Value)
        }
        out = Value(value.type, value.name)
        copied: Any = replace
        self.merge.append(copied(stmt, out=out, **fields))
        return out

    def _seed(self, inner: Value, op: str, *, scales: bool) -> Value:
        out, dtype = Value(inner.type, f"{inner.name}_seed"), inner.type.dtype
        number: float = 0
        if op in _EXTREMES:
            low = _NOTHING if scales else -math.inf
            number = low if op == "max" else -low
            if not dtype.is_float:
                least, greatest = dtype.integer_range
                number = least if op == "max" else greatest
        self.made.append(ins.Full(out, ex.Const(number, dtype)))
        return out


def _rescaled(carried: Carried, defined: Mapping[Name, Stmt]) -> tuple[Value, Value] | None:
    """Factor and addend of `carried * factor + addend`."""
    if not isinstance(carried.yielded, Value):
        return None
    match defined.get(carried.yielded):
        case ins.Fma(_, x, y, z) if carried.inner in (x, y):
            return (y if x is carried.inner else x), z
        case ins.Binary(_, "add", x, y):
            for product, addend in ((x, y), (y, x)):
                stmt = defined.get(product)
                if (
                    isinstance(stmt, ins.Binary)
                    and stmt.op == "mul"
                    and carried.inner in operands(stmt)
                ):
                    return (stmt.y if stmt.x is carried.inner else stmt.x), addend
        case _:
            pass
    return None
