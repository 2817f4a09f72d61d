"""How products meet the tiles that they go into.

A product may add to a carried tile where that tile lies (`in_place`): the loop hands its result on and
nobody else reads what it adds to. It may also be finished in registers (`driven`): what a loop hands on
is made of it element by element, and between the product and the end of the iteration nothing is
written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from dslc.codegen.chunks.planning import LAZY
from dslc.compiler.ir import Kernel, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.traverse import Name, bodies, operands, use_counts, walk

MayDrive: TypeAlias = "Callable[[ins.Dot, Value, Mapping[Value, ins.Stmt]], bool]"
"""Whether a product may be finished as a tile: what a generator says of its registers' edges."""


@dataclass(slots=True)
class Meetings:
    """For results of products: the tile that one adds to, the tile that it is finished as.

    `fused` are sums that a loop carries and whose last product is rounded with them; `summed` are the
    tiles that hold what products add up, and the product.
    """

    in_place: dict[Value, Value] = field(default_factory=dict)
    driven: dict[Value, Value] = field(default_factory=dict)  # by the tile that is handed on
    fused: dict[Value, ins.Binary] = field(default_factory=dict)
    summed: dict[Value, ins.Dot] = field(default_factory=dict)


def meetings(kernel: Kernel, kept: frozenset[Value], may_drive: MayDrive) -> Meetings:
    """What holds of each product of a kernel."""
    meets = Meetings()
    uses = use_counts(kernel.body)
    for stmt in walk(kernel.body):
        if isinstance(stmt, ins.Dot):
            meets.summed[stmt.out] = stmt
    for loop in walk(kernel.body):
        if isinstance(loop, ins.For | ins.While):
            for carried in loop.carried:
                _meet(loop, carried, meets, uses, kept, may_drive)
    return meets


def _meet(
    loop: ins.For | ins.While,
    carried: ins.Carried,
    found: Meetings,
    uses: Counter[Name],
    kept: frozenset[Value],
    may_drive: MayDrive,
) -> None:
    inner, yielded = carried.inner, carried.yielded
    if not isinstance(inner, Value) or not isinstance(yielded, Value):
        return
    body = loop.body
    defining = {s.out: s for s in body if isinstance(s, (*LAZY, ins.Dot))}
    last = defining.get(yielded)
    if isinstance(last, ins.Dot):
        if last.acc is inner and uses[inner] == 1 and uses[yielded] == 1:
            found.in_place[yielded] = inner
            found.summed[inner] = last
        return
    dots = _reached(yielded, defining, uses, kept)
    if len(dots) != 1:
        return
    dot = dots[0]
    after = body[body.index(dot) + 1 :]
    quiet = all(isinstance(s, (*LAZY, ins.Dot, ins.Reduce, ins.Scan, ins.Let)) for s in after)
    if quiet and not any(bodies(s) for s in after) and may_drive(dot, yielded, defining):
        found.driven[dot.out] = yielded
        found.summed[inner] = dot
        found.summed[yielded] = dot
        _fuse(last, defining, uses, kept, found)


def _fuse(
    last: ins.Stmt | None,
    made: Mapping[Value, ins.Stmt],
    uses: Counter[Name],
    kept: frozenset[Value],
    found: Meetings,
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
