"""How products meet the tiles that they go into.

A product may add to a carried tile where that tile lies (`in_place`): the loop hands its result on and
nobody else reads what it adds to. It may also be finished in registers (`driven`): what a loop hands on
is made of it element by element, and between the product and the end of the iteration nothing is
written. Tiles of accumulators have the order of the unit's registers and room for whole tiles at their
edges.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from dslc.codegen.aarch64.chunks.ranges import fits_biased
from dslc.codegen.aarch64.products.units import Unit, unit_for
from dslc.codegen.chunks.planning import LAZY
from dslc.compiler.ir import Kernel, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.traverse import Name, bodies, operands, results, use_counts, walk


@dataclass(slots=True)
class Plan:
    """For results of products: the tile that one adds to, whether it is driven, tiles by unit.

    `biased` are driven products whose accumulators are read as f32 (`ranges`), with the tile that they
    are cast to; `fused` are sums that a loop carries and whose last product is rounded with them.
    """

    in_place: dict[Value, Value] = field(default_factory=dict)
    driven: dict[Value, Value] = field(default_factory=dict)  # by the tile that is handed on
    tiled: dict[Value, Unit] = field(default_factory=dict)
    biased: dict[Value, Value] = field(default_factory=dict)
    fused: dict[Value, ins.Binary] = field(default_factory=dict)


def plan(kernel: Kernel, features: frozenset[str], kept: frozenset[Value]) -> Plan:
    """What holds of each product of a kernel."""
    planned = Plan()
    uses = use_counts(kernel.body)
    for stmt in walk(kernel.body):
        if isinstance(stmt, ins.Dot):
            unit = _unit(stmt, features)
            if unit is not None:
                planned.tiled[stmt.out] = unit
    for loop in walk(kernel.body):
        if isinstance(loop, ins.For | ins.While):
            for carried in loop.carried:
                _meet(loop, carried, planned, uses, kept, kernel.body)
    return planned


def _unit(i: ins.Dot, features: frozenset[str]) -> Unit | None:
    rows = i.out.type.shape[-2]
    return unit_for(i.a.type.dtype, i.b.type.dtype, i.out.type.dtype, rows, features)


def _meet(
    loop: ins.For | ins.While,
    carried: ins.Carried,
    found: Plan,
    uses: Counter[Name],
    kept: frozenset[Value],
    whole: tuple[ins.Stmt, ...],
) -> None:
    inner, yielded = carried.inner, carried.yielded
    if not isinstance(inner, Value) or not isinstance(yielded, Value):
        return
    body = loop.body
    defining = {s.out: s for s in body if isinstance(s, (*LAZY, ins.Dot))}
    last = defining.get(yielded)
    if isinstance(last, ins.Dot):
        if last.acc is inner and uses[inner] == uses[yielded] == 1 and yielded in found.tiled:
            found.in_place[yielded] = inner
            found.tiled[inner] = found.tiled[yielded]
        return
    dots = _reached(yielded, defining, uses, kept)
    if len(dots) != 1:
        return
    dot = dots[0]
    after = body[body.index(dot) + 1 :]
    quiet = all(isinstance(s, (*LAZY, ins.Dot, ins.Reduce, ins.Scan, ins.Let)) for s in after)
    if quiet and not any(bodies(s) for s in after) and dot.out in found.tiled:
        unit = found.tiled[dot.out]
        found.driven[dot.out] = yielded
        found.tiled[inner] = unit
        found.tiled[yielded] = unit
        for stmt in body:
            if isinstance(stmt, ins.Cast) and stmt.x is dot.out:
                every = {o: s for s in walk(whole) for o in results(s) if isinstance(o, Value)}
                if fits_biased(dot, every, stmt.out.type.dtype):
                    found.biased[dot.out] = stmt.out
        _fuse(last, defining, uses, kept, found)


def _fuse(
    last: ins.Stmt | None,
    made: Mapping[Value, ins.Stmt],
    uses: Counter[Name],
    kept: frozenset[Value],
    found: Plan,
) -> None:
    if not isinstance(last, ins.Binary) or last.op != "add" or last.out.type.dtype.name != "f32":
        return
    for x in (last.y, last.x):
        product = made.get(x)
        single = uses[x] == 1 and x not in kept
        if isinstance(product, ins.Binary) and product.op == "mul" and single:
            found.fused[last.out] = product
            return


def _reached(
    value: Value, made: Mapping[Value, ins.Stmt], uses: Counter[Name], kept: frozenset[Value]
) -> list[ins.Dot]:
    """The products that a tile is made of, element by element, nobody else reading what is between."""
    stmt = made.get(value)
    if uses[value] != 1 or value in kept or stmt is None:
        return []
    if isinstance(stmt, ins.Dot):
        return [stmt]
    if not isinstance(stmt, ins.ELEMENTWISE):
        return []
    return [d for x in operands(stmt) for d in _reached(x, made, uses, kept)]
