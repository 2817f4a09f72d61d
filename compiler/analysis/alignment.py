"""What index expressions are known to be multiples of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import gcd

from dslc.compiler.dtypes import INDEX, storage_dtype
from dslc.compiler.ir import Kernel, Memory, alignment
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.traverse import Body, walk

Divisors = Mapping[ex.Var, int]


def divisor(expr: ex.Expr, known: Divisors) -> int:
    """The greatest d found such that the expression is always a multiple of d; 0 for the number 0.

    Only exact arithmetic counts: what may wrap is a multiple of 1.
    """
    match expr:
        case ex.Const(value=value, dtype=dtype) if not dtype.is_float:
            return abs(int(value))
        case ex.Var():
            return known.get(expr, 1)
        case ex.Unary(op="neg", x=x, dtype=dtype) if dtype == INDEX:
            return divisor(x, known)
        case ex.Select(x=x, y=y):
            return gcd(divisor(x, known), divisor(y, known))
        case ex.Binary(op=op, x=x, y=y, dtype=dtype) if dtype == INDEX:
            return _of_binary(op, divisor(x, known), divisor(y, known), y)
        case _:
            return 1


def alignment_of(base: Memory, offset: ex.Expr, known: Divisors) -> int:
    """A number of bytes that the address of the element at an offset of a memory is a multiple of."""
    size = storage_dtype(base.dtype).itemsize
    return gcd(alignment(base), divisor(offset, known) * size)


def known_divisors(kernel: Kernel) -> dict[ex.Var, int]:
    """The divisors of dims (by the requirements), grid and loop variables and named scalars."""
    known: dict[ex.Var, int] = {}
    for requirement in kernel.requires:
        for var, d in _required(requirement.condition):
            known[var] = d * known.get(var, 1) // gcd(d, known.get(var, 1))
    for axis in kernel.grid:
        known[axis.var] = gcd(divisor(axis.start, known), divisor(axis.step, known))
    _learn(kernel.body, known)
    return known


def _of_binary(op: str, dx: int, dy: int, y: ex.Expr) -> int:
    match op:
        case "add" | "sub" | "min" | "max" | "mod":
            return gcd(dx, dy)
        case "mul":
            return dx * dy
        case "floordiv" if isinstance(y, ex.Const) and y.value and dx % dy == 0:
            return dx // dy
        case "shl" if isinstance(y, ex.Const) and 0 <= y.value < 64:
            return dx << int(y.value)
        case _:
            return 1


def _learn(body: Body, known: dict[ex.Var, int]) -> None:
    for stmt in walk(body):
        if isinstance(stmt, ins.For):
            known[stmt.var] = gcd(divisor(stmt.start, known), divisor(stmt.step, known))
        elif isinstance(stmt, ins.Let):
            known[stmt.var] = divisor(stmt.value, known)


def _required(condition: ex.Expr) -> Iterable[tuple[ex.Var, int]]:
    """The pairs (v, c) of `v % c == 0` that the condition implies."""
    match condition:
        case ex.Binary(op="and", x=x, y=y):
            yield from _required(x)
            yield from _required(y)
        case ex.Binary(
            op="eq", x=ex.Binary(op="mod", x=ex.Var() as var, y=ex.Const(value=c)), y=zero
        ):
            if zero == ex.index(0) and c:
                yield var, abs(int(c))
