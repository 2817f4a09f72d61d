"""Products with a name of their own that are summed in place after all.

p = dot(a, b)            p is read nowhere else:
acc += p                 acc = dot(a, b) + acc, one instruction
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Set
from dataclasses import replace

from dslc.compiler.ir import Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.rewrite import Rewriter
from dslc.compiler.ir.traverse import Body, Name, use_counts


def in_place(body: Body, totals: Set[Value]) -> Body:
    """The body where a product that only the sum right behind it reads starts from the other term."""
    return _InPlace(totals, use_counts(body)).body(body) if totals else body


class _InPlace(Rewriter):
    def __init__(self, totals: Set[Value], counts: Counter[Name]) -> None:
        super().__init__()
        self.totals = totals
        self.counts = counts

    def body(self, body: Body) -> Body:
        out: list[ins.Stmt] = []
        for stmt in super().body(body):
            last = out[-1] if out else None
            if (
                isinstance(stmt, ins.Binary)
                and stmt.out in self.totals
                and isinstance(last, ins.Dot)
                and last.out is stmt.y
                and self.counts[stmt.y] == 1
            ):
                out[-1] = replace(last, out=stmt.out, acc=stmt.x)
            else:
                out.append(stmt)
        return tuple(out)
