"""Which numbers the tiles of a kernel can hold, whatever the arguments are.

    ranges = ValueRanges(kernel)      # of the checker's IR or of a later one
    ranges.of(tile)                   # (0.0, 1.0) of a sigmoid: least and greatest, NaN aside

Intervals go through every statement until none grows any more. What a loop carries or a buffer holds is
all that is ever put into it; an end that still moves after some rounds goes as far as its dtype does.
A tensor holds what its dtype can. Rounding is done as in f64, so that an end may be off in the last
place of a narrower float.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from dslc.compiler.analysis.intervals import (
    MOVES,
    Interval,
    held,
    is_whole,
    join,
    of_binary,
    of_cast,
    of_unary,
    whole,
)
from dslc.compiler.dtypes import BOOL, DType
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.expr import Binary, Const, Convert, Expr, Select, Unary, Var
from dslc.compiler.ir.program import Kernel
from dslc.compiler.ir.traverse import Body, bodies, operands
from dslc.compiler.ir.values import Memory, Role, Value

_ROUNDS = 4  # before ends that still move are given up

_BOUNDED: dict[str, Callable[[int | float], Interval]] = {
    "lt": lambda n: (-math.inf, n - 1 if isinstance(n, int) else n),
    "le": lambda n: (-math.inf, n),
    "gt": lambda n: (n + 1 if isinstance(n, int) else n, math.inf),
    "ge": lambda n: (n, math.inf),
    "eq": lambda n: (n, n),
}
_TURNED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq"}


class ValueRanges:
    """The intervals of every tile, scalar and memory of a kernel."""

    def __init__(self, kernel: Kernel) -> None:
        self.known: dict[Value | Var | Memory, Interval] = {}
        self._moved = True
        self._rounds = 0
        self.known.update(dict.fromkeys(kernel.dims, (0, math.inf)))
        for requirement in kernel.requires:
            self._assume(requirement.condition)
        for axis in kernel.grid:
            self._counts(axis.var, axis.start, axis.stop, axis.step)
        while self._moved:
            self._moved = False
            self._rounds += 1
            self._walk(kernel.body)

    def of(self, item: Value | Memory | Expr) -> Interval | None:
        """What an item can hold; None for a tile of another kernel."""
        match item:
            case Value():
                return self.known.get(item)
            case Memory():
                return self._in(item)
            case _:
                return self.scalar(item)

    def _assume(self, condition: Expr) -> None:
        """A requirement that compares a scalar with a number."""
        match condition:
            case Binary("and", x, y):
                self._assume(x)
                self._assume(y)
            case Binary(op, Var() as var, Const(number)) if op in _BOUNDED:
                low, high = self.known.get(var) or whole(var.dtype)
                least, greatest = _BOUNDED[op](number)
                self.known[var] = max(low, least), min(high, greatest)
            case Binary(op, Const() as number, Var() as var) if op in _TURNED:
                self._assume(Binary(_TURNED[op], var, number, BOOL))

    def _walk(self, body: Body) -> None:
        """Once through every statement."""
        for stmt in body:
            match stmt:
                case ins.Let(var=var, value=value):
                    self._put(var, self.scalar(value))
                case ins.For():
                    self._counts(stmt.var, stmt.start, stmt.stop, stmt.step)
                    self._carry(stmt)
                case ins.While():
                    self._carry(stmt)
                case ins.If():
                    for part in bodies(stmt):
                        self._walk(part)
                    for j in stmt.joined:
                        self._put(j.result, self._of(j.then))
                        self._put(j.result, self._of(j.otherwise))
                case ins.WarpSpecialize():
                    self._walk(stmt.body)
                case ins.Store(region=region, x=x) | ins.Scatter(region=region, x=x):
                    self._put(region.memory, self._of(x))
                case ins.AtomicRmw(region=region) | ins.CopyAsync(dst=region):
                    self._put(region.memory, whole(region.memory.dtype))
                case _:
                    pass
            out = getattr(stmt, "out", None)
            if isinstance(out, Value):
                self._put(out, self._made(stmt, out.type.dtype))

    def _carry(self, loop: ins.For | ins.While) -> None:
        for c in loop.carried:
            self._put(c.inner, self._of(c.init))
        for part in bodies(loop):
            self._walk(part)
        for c in loop.carried:
            if (yielded := self._known(c.yielded)) is not None:
                self._put(c.inner, yielded)
            self._put(c.result, self._of(c.inner))

    def _counts(self, var: Var, start: Expr, stop: Expr, step: Expr) -> None:
        """A loop's variable lies between its ends, whichever way it goes."""
        first, last, by = self.scalar(start), self.scalar(stop), self.scalar(step)
        if by[0] > 0:
            self._put(var, (first[0], max(first[0], last[1] - 1)))
        elif by[1] < 0:
            self._put(var, (min(first[1], last[0] + 1), first[1]))
        else:
            self._put(var, whole(var.dtype))

    def _put(self, name: Value | Var | Memory, found: Interval) -> None:
        """A name may hold this too."""
        dtype = name.type.dtype if isinstance(name, Value) else name.dtype
        old = self.known.get(name)
        new = found if old is None else join((old, found))
        if new == old:
            return
        if old is not None and self._rounds > _ROUNDS:
            least, greatest = whole(dtype)
            new = (least if new[0] < old[0] else old[0], greatest if new[1] > old[1] else old[1])
        self.known[name] = new
        self._moved = True

    def _known(self, item: Value | Expr) -> Interval | None:
        """What is known of it, None for a tile that was not reached yet."""
        return self.known.get(item) if isinstance(item, Value) else self.scalar(item)

    def _of(self, item: Value | Expr) -> Interval:
        if isinstance(item, Value):
            return self.known.get(item) or whole(item.type.dtype)
        return self.scalar(item)

    def scalar(self, expr: Expr) -> Interval:
        """The numbers that a scalar may be."""
        dtype = expr.dtype
        match expr:
            case Const(value):
                number = int(value) if dtype == BOOL else value
                return held((number, number), dtype)
            case Var():
                return self.known.get(expr) or whole(dtype)
            case Unary(op, x):
                return held(of_unary(op, self.scalar(x), x.dtype), dtype)
            case Binary(op, x, y):
                return held(of_binary(op, self.scalar(x), self.scalar(y), x.dtype), dtype)
            case Select(_, x, y):
                return join((self.scalar(x), self.scalar(y)))
            case Convert(x, saturate=saturate):
                return of_cast(self.scalar(x), x.dtype, dtype, saturate=saturate)
        return whole(dtype)

    def _made(self, stmt: ins.Stmt, dtype: DType) -> Interval:
        """What an instruction that makes a tile may give."""
        of = self._of
        match stmt:
            case ins.Full(value=value):
                return of(value)
            case ins.Arange(out=out):
                return 0, math.prod(out.type.shape) - 1
            case ins.Unary(op=op, x=x):
                return held(of_unary(op, of(x), x.type.dtype), dtype)
            case ins.Binary(op=op, x=x, y=y):
                return held(of_binary(op, of(x), of(y), x.type.dtype), dtype)
            case ins.Fma(x=x, y=y, z=z):
                product = of_binary("mul", of(x), of(y), dtype)
                return held(product and of_binary("add", product, of(z), dtype), dtype)
            case ins.Where(x=x, y=y):
                return join((of(x), of(y)))
            case ins.Cast(x=x, saturate=saturate):
                return of_cast(of(x), x.type.dtype, dtype, saturate=saturate)
            case ins.Reduce():
                return self._reduced(stmt, dtype)
            case ins.Scan(x=x, axis=axis):
                return held(_summed(of(x), 1, x.type.shape[axis]), dtype)
            case ins.Concat(xs=xs):
                return join(map(of, xs))
            case ins.Dot(a=a, b=b, acc=acc) if not stmt.is_scaled:
                product = of_binary("mul", of(a), of(b), dtype)
                depth = a.type.shape[-1]
                total = product and _summed(product, depth, depth)
                if acc is not None and total is not None:
                    total = of_binary("add", total, of(acc), dtype)
                return held(total, dtype)
            case ins.Load(region=region, other=other):
                padding = (0, 0) if other is None else self.scalar(other)
                return join((self._in(region.memory), padding))
            case ins.Gather(region=region):
                return join((self._in(region.memory), (0, 0)))
            case _ if isinstance(stmt, MOVES):
                (x,) = (o for o in operands(stmt) if isinstance(o, Value))
                return of(x)
        return whole(dtype)

    def _in(self, memory: Memory) -> Interval:
        """What a memory may hold: a buffer, what was stored into it."""
        stored = self.known.get(memory) if memory.role is Role.BUFFER else None
        return stored or whole(memory.dtype)

    def _reduced(self, stmt: ins.Reduce, dtype: DType) -> Interval:
        x, extent = self._of(stmt.x), stmt.x.type.shape[stmt.axis]
        match stmt.op:
            case "sum":
                return held(_summed(x, extent, extent), dtype)
            case "max" | "min" | "any" | "all":
                return x
            case "argmax" | "argmin":
                return 0, extent - 1
        return whole(dtype)


def _summed(x: Interval, least: int, most: int) -> Interval:
    """A sum of so many numbers."""
    (low, high), counts = x, (least, most)
    return min(low * n for n in counts), max(high * n for n in counts)


def range_text(interval: Interval, dtype: DType) -> str:
    """An interval in words: `0 to 15`, `0 or more`, `any`."""
    low, high = interval
    if dtype == BOOL:
        return "False or True" if low != high else str(bool(low))
    least, greatest = whole(dtype)
    if is_whole(interval, dtype) and (dtype.bits > 8 or dtype.is_float):
        return "any"
    if low == high:
        return _text(low)
    is_low, is_high = low > least or dtype.bits <= 8, high < greatest or dtype.bits <= 8
    if is_low and is_high:
        return f"{_text(low)} to {_text(high)}"
    return f"{_text(low)} or more" if is_low else f"at most {_text(high)}"


def _text(number: int | float) -> str:
    return str(number) if isinstance(number, int) else f"{number:.6g}"
