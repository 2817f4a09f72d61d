"""Which tiles a core keeps in memory because computing them again would cost more.

A tile is computed where it is wanted, which is free of memory; but what holds a function or a
division and is wanted by two loops, or once for each element of a broadcast, is computed once:

    e = exp(row - top)          # read by a sum and by a store: kept
    scale = rsqrt(mean)         # read by a broadcast: kept
    silu = a * sigmoid(a)       # read by one store: not kept
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dslc.codegen.aie.elementwise import HEAVY
from dslc.compiler.ir import Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.traverse import Body, bodies, operands, tile_of, users

_VIRTUAL = (
    ins.Unary, ins.Binary, ins.Fma, ins.Where, ins.Cast, ins.Full, ins.Broadcast, ins.Arange,
    ins.Reshape, ins.Transpose, ins.Extract, ins.Repeat, ins.View,
)  # fmt: skip


def kept_values(body: Body) -> frozenset[Value]:
    """The tiles that are put into memory when they are defined."""
    order = list(_with_depth(body, 0))
    depth = {id(stmt): level for stmt, level in order}
    heavy: set[Value] = set()
    for stmt, _ in order:
        if isinstance(stmt, _VIRTUAL) and (
            _is_heavy(stmt) or any(x in heavy for x in operands(stmt))
        ):
            heavy.add(stmt.out)
    readers = users(body)
    kept: set[Value] = set()
    roots: dict[Value, set[int]] = {}
    for stmt, level in reversed(order):
        out = tile_of(stmt)
        if out is None or not isinstance(stmt, _VIRTUAL):
            continue
        mine = readers.get(out, [])
        roots[out] = _roots(mine, roots, kept)
        again = any(
            isinstance(s, ins.Broadcast | ins.Repeat) or depth.get(id(s), level) > level
            for s in mine
        )
        if out in heavy and (again or len(roots[out]) > 1):
            kept.add(out)
    return frozenset(kept)


def _with_depth(body: Iterable[Stmt], level: int) -> Iterable[tuple[Stmt, int]]:
    for stmt in body:
        yield stmt, level
        for nested in bodies(stmt):
            yield from _with_depth(nested, level + 1)


def _is_heavy(stmt: Stmt) -> bool:
    if isinstance(stmt, ins.Unary):
        return stmt.op in HEAVY
    return isinstance(stmt, ins.Binary) and stmt.op in ("div", "pow", "mod", "floordiv")


def _roots(readers: Iterable[Stmt], roots: Mapping[Value, set[int]], kept: set[Value]) -> set[int]:
    """The loops that compute a tile: those of the statements which put something into memory."""
    found: set[int] = set()
    for stmt in readers:
        out = tile_of(stmt)
        if isinstance(stmt, _VIRTUAL) and out is not None and out not in kept:
            found |= roots[out]
        else:
            found.add(id(stmt))
    return found
