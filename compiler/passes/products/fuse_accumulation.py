"""Sums of products: what is added to a product is its accumulator.

    %d = dot %p, %v : f32[64, 128]                     %acc_2 = mul %acc, %shrink : f32[64, 128]
    %acc_2 = mul %acc, %shrink : f32[64, 128]   ->     %sum = dot %p, %v, acc=%acc_2 : f32[64, 128]
    %sum = add %acc_2, %d : f32[64, 128]

A matrix unit adds for nothing, and the registers of the product alone are saved. The order of additions
is the unit's affair in either form.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from dslc.compiler.ir import Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.program import Kernel, TileProgram
from dslc.compiler.ir.rewrite import Rewriter, map_kernels
from dslc.compiler.ir.traverse import Body, use_counts


@dataclass(frozen=True, slots=True)
class FuseAccumulation:
    """Makes accumulators of what is added to products."""

    name: str = "fuse-accumulation"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program with its products accumulating."""
        return map_kernels(program, lambda kernel: _Fuser(kernel).kernel(kernel))


class _Fuser(Rewriter):
    def __init__(self, kernel: Kernel) -> None:
        super().__init__()
        self.counts = use_counts(kernel.body)

    def body(self, body: Body) -> Body:
        """A body; a product moves down to the sum that alone reads it."""
        alone = {
            s.out: s
            for s in body
            if isinstance(s, ins.Dot) and s.acc is None and self.counts[s.out] == 1
        }
        fused: dict[Stmt, ins.Dot] = {}
        moved: set[Stmt] = set()
        for stmt in body:
            pair = _pair(stmt, alone)
            if pair is not None and isinstance(stmt, ins.Binary):
                product, other = pair
                dot = alone.pop(product)
                fused[stmt] = replace(dot, out=stmt.out, acc=other, loc=stmt.loc)
                moved.add(dot)
        changed = tuple(fused.get(s, s) for s in body if s not in moved) if fused else body
        return super().body(changed)


def _pair(stmt: Stmt, alone: dict[Value, ins.Dot]) -> tuple[Value, Value] | None:
    """A product and what is added to it, if that is what the statement does."""
    if not isinstance(stmt, ins.Binary) or stmt.op != "add":
        return None
    for product, other in ((stmt.y, stmt.x), (stmt.x, stmt.y)):
        if product in alone and other is not product:
            return product, other
    return None
