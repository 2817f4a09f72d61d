"""Sums over the blocks of a cluster. Serves products of 64 and 128 rows split in two: gain 3 to 9 %.

Blocks reach each other's shared memory. The gain is that on an H200 over the better of one part and of
two in global memory; where one part fills the chip it is a loss (docs/performance/cuda_tried.md).

Before (tests/ir/cluster-reduction/example.tir):

    %sum = cluster_reduce add %part, part : f32[128] `spatial(32).local(4)`

After:

    sync
    alloc @parts: buffer shared f32[1, 32, 4]
    %lines = view %part : f32[1, 32, 4] `spatial(1, 32, 1).local(1, 1, 4)`
    store @parts[0 : +1!, 0 : +32!, 0 : +4!], %lines
    sync cluster
    %sum : f32[128] `spatial(32).local(4)` = if part == 0 {
      %lines_1 = load @parts[0 : +1!, 0 : +32!, 0 : +4!], rank=1 : f32[1, 32, 4] `...`
      %part_1 = view %lines_1 : f32[128] `spatial(32).local(4)`
      %total = add %part, %part_1 : f32[128] `spatial(32).local(4)`
      yield %total
    } else {
      yield %part
    }
    ...
    sync cluster

Parts lie in the order of registers, which reads and writes whole lines. A block ends only when the
first has read its part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dslc.compiler.dtypes import BOOL
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.expr import Binary, Var, index
from dslc.compiler.ir.instructions import Joined, Stmt
from dslc.compiler.ir.program import Kernel, TileProgram
from dslc.compiler.ir.regions import whole
from dslc.compiler.ir.rewrite import map_kernels
from dslc.compiler.ir.traverse import Body, Name, walk
from dslc.compiler.ir.values import Memory, Place, Role, TileType, Value
from dslc.compiler.passes.tile_scheduling.stream_k import lines_of


def in_cluster(
    loop: ins.For, ops: Sequence[str], parts: Sequence[Name], rank: Var, after: Body
) -> Body:
    """What follows a loop whose iterations the blocks of a cluster share: sums of `parts`, in the first
    one.

    `parts` are the block's own, of tiles that `loop` accumulates by `ops`.
    """
    sums: list[Stmt] = []
    totals: list[Stmt] = []
    for c, op, part in zip(loop.carried, ops, parts, strict=True):
        assert isinstance(part, Value)
        assert isinstance(c.init, Value)
        assert isinstance(c.result, Value)
        total = Value(part.type, "sum")
        sums.append(ins.ClusterReduce(total, op, part, rank, loc=loop.loc))
        totals.append(ins.Binary(c.result, op, c.init, total, loc=loop.loc))
    first = Binary("eq", rank, index(0), BOOL)
    return (*sums, ins.If(first, (*totals, *after), loc=loop.loc))


@dataclass(frozen=True, slots=True)
class ClusterReduction:
    """Writes out what blocks of a cluster exchange, once loops are pipelined."""

    name: str = "cluster-reduction"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program without `cluster_reduce`."""
        return map_kernels(program, _kernel)


def _kernel(kernel: Kernel) -> Kernel:
    sums = [s for s in walk(kernel.body) if isinstance(s, ins.ClusterReduce)]
    if not sums:
        return kernel
    assert all(s in kernel.body for s in sums)
    first, last = kernel.body.index(sums[0]), kernel.body.index(sums[-1])
    exchanges = [_Exchange(kernel, s, n) for n, s in enumerate(sums)]
    body: list[Stmt] = [*kernel.body[:first]]
    if not body or not isinstance(body[-1], ins.Sync):  # what lay there has been read
        body.append(ins.Sync(loc=sums[0].loc))
    for e in exchanges:
        body += e.given()
    body.append(ins.Sync(cluster=True, loc=sums[0].loc))
    taken = {e.stmt: e for e in exchanges}
    for s in kernel.body[first : last + 1]:
        body += taken[s].taken() if isinstance(s, ins.ClusterReduce) else (s,)
    body += [*kernel.body[last + 1 :], ins.Sync(cluster=True, loc=sums[0].loc)]
    return replace(kernel, body=tuple(body))


class _Exchange:
    """One tile's way from block to block."""

    def __init__(self, kernel: Kernel, stmt: ins.ClusterReduce, number: int) -> None:
        assert kernel.cluster is not None
        self.stmt, self.size = stmt, kernel.cluster
        type_ = stmt.x.type
        layout = lines_of(stmt.x, kernel.threads) if kernel.threads is not None else None
        self.lines = type_ if layout is None else TileType(type_.dtype, layout.shape, layout)
        shape = self.lines.shape
        self.memory = Memory(
            "parts" if not number else f"parts_{number}",
            type_.dtype,
            tuple(map(index, shape)),
            Role.BUFFER,
            Place.SHARED,
            loc=stmt.loc,
        )
        self.region = whole(self.memory, shape)

    def given(self) -> Body:
        """The block's own part, for others to read."""
        x, loc = self.stmt.x, self.stmt.loc
        if self.lines == x.type:
            return (ins.Alloc(self.memory, loc=loc), ins.Store(self.region, x, loc=loc))
        lines = Value(self.lines, "lines")
        return (
            ins.Alloc(self.memory, loc=loc),
            ins.View(lines, x, loc=loc),
            ins.Store(self.region, lines, loc=loc),
        )

    def taken(self) -> Body:
        """The sum in the first block."""
        stmt, loc = self.stmt, self.stmt.loc
        loads: list[Stmt] = []
        sums: list[Stmt] = []
        total = stmt.x
        for rank in range(1, self.size):
            lines = part = Value(self.lines, "lines")
            loads.append(ins.Load(lines, self.region, rank=index(rank), loc=loc))
            if self.lines != stmt.x.type:
                part = Value(stmt.x.type, "part")
                sums.append(ins.View(part, lines, loc=loc))
            more = Value(stmt.x.type, "total")
            sums.append(ins.Binary(more, stmt.op, total, part, loc=loc))
            total = more
        first = Binary("eq", stmt.rank, index(0), BOOL)
        joined = (Joined(stmt.out, total, stmt.x),)
        return (ins.If(first, (*loads, *sums), (), joined, loc=loc),)
