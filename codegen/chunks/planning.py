"""Which tiles are computed once, where they are defined, and which wherever they are read.

A tile is computed once where its elements may have changed by the time they are read (a load of a
memory that the kernel writes), or where doing it again would cost more than a store and a load.
"""

from __future__ import annotations

from collections import defaultdict
from math import prod

from dslc.compiler.ir import Kernel, Memory, Role, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.traverse import bodies, operands, results, walk, writes

_FREE = (
    ins.Full, ins.Arange, ins.Transpose, ins.Reshape, ins.Broadcast, ins.Repeat, ins.Extract,
    ins.ConvertLayout, ins.View,
)  # fmt: skip
_COSTS = {
    "exp": 20, "exp2": 18, "log": 30, "log2": 30, "sin": 30, "cos": 30, "tanh": 30, "sigmoid": 24,
    "erf": 60, "sqrt": 8, "rsqrt": 12, "div": 6, "pow": 60, "mod": 8, "floordiv": 8,
}  # fmt: skip
LAZY = (
    *_FREE,
    ins.Unary,
    ins.Binary,
    ins.Fma,
    ins.Where,
    ins.Cast,
    ins.Load,
)
_DEAR = 3  # what a store and a load cost, in instructions


def kept(kernel: Kernel) -> frozenset[Value]:
    """The tiles that are computed once."""
    written = {r.memory for s in walk(kernel.body) for r in writes(s)}
    depths: dict[Value, int] = {}
    uses: defaultdict[Value, list[int]] = defaultdict(list)
    defining: dict[Value, ins.Stmt] = {}
    _scan(kernel.body, 0, depths, uses, defining)
    tiles: set[Value] = set()
    costs: dict[Value, float] = {}
    for value, stmt in defining.items():
        cost = _cost(stmt) + sum(costs.get(v, 0) for v in operands(stmt))
        again = len(uses[value]) - 1 + 3 * sum(d > depths[value] for d in uses[value])
        reads = isinstance(stmt, ins.Load) and _changes(stmt.region.memory, written)
        small = prod(value.type.shape) <= 64 and cost > 2
        if reads or (cost * again > _DEAR and cost > 1) or (small and again > 0):
            tiles.add(value)
            cost = 1
        costs[value] = cost
    return frozenset(tiles)


def _changes(memory: Memory, written: set[Memory]) -> bool:
    return memory in written or memory.role in (Role.BUFFER, Role.WORKSPACE)


def _scan(
    body: tuple[ins.Stmt, ...],
    depth: int,
    depths: dict[Value, int],
    uses: defaultdict[Value, list[int]],
    made: dict[Value, ins.Stmt],
) -> None:
    for stmt in body:
        for value in operands(stmt):
            uses[value].append(depth)
        if isinstance(stmt, LAZY):
            for out in results(stmt):
                if isinstance(out, Value):
                    depths[out] = depth
                    made[out] = stmt
        deeper = depth + isinstance(stmt, ins.For | ins.While)
        for nested in bodies(stmt):
            _scan(nested, deeper, depths, uses, made)


def _cost(stmt: ins.Stmt) -> float:
    if isinstance(stmt, _FREE):
        return 0
    if isinstance(stmt, ins.Unary | ins.Binary):
        return _COSTS.get(stmt.op, 1)
    return 1
