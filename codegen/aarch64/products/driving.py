"""The units of tiles that products add up in, and the sums that stay small enough to be read as floats.

Tiles of accumulators have the order of the unit's registers and room for whole tiles at their edges.
"""

from __future__ import annotations

from collections.abc import Mapping

from dslc.codegen.aarch64.chunks.ranges import fits_biased
from dslc.codegen.aarch64.products.units import EDGE, Unit, unit_for
from dslc.codegen.chunks.driving import Meetings
from dslc.compiler.ir import Kernel, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.traverse import operands, results, walk


def units(plan: Meetings, features: frozenset[str]) -> dict[Value, Unit]:
    """The unit of each tile that products add up in."""
    by_tile = {}
    for out, dot in plan.summed.items():
        rows = dot.out.type.shape[-2]
        unit = unit_for(dot.a.type.dtype, dot.b.type.dtype, dot.out.type.dtype, rows, features)
        if unit is not None:
            by_tile[out] = unit
    return by_tile


def fits_registers(dot: ins.Dot) -> bool:
    """Whether tiles of registers end where the product does, whichever unit it has."""
    *_, m, n = dot.out.type.shape
    return n % EDGE == 0 and (m % EDGE == 0 or m <= 2)


def loads(value: Value, defining: Mapping[Value, ins.Stmt]) -> bool:
    """Whether what a tile is made of reads memory."""
    stmt = defining.get(value)
    if stmt is None or isinstance(stmt, ins.Dot):
        return False
    return isinstance(stmt, ins.Load) or any(loads(x, defining) for x in operands(stmt))


def biased(kernel: Kernel, plan: Meetings) -> dict[Value, Value]:
    """Driven products whose accumulators are read as f32 (`ranges`): the tile that each is cast to."""
    stmts = list(walk(kernel.body)) if plan.driven else []
    defining = {o: s for s in stmts for o in results(s) if isinstance(o, Value)}
    casts = {}
    for stmt in stmts:
        if isinstance(stmt, ins.Cast) and stmt.x in plan.driven:
            dot = plan.summed[stmt.x]
            if fits_biased(dot, defining, stmt.out.type.dtype):
                casts[stmt.x] = stmt.out
    return casts
