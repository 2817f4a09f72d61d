"""Multicast in a cluster: of what its blocks (CTAs) read in common, each copies a part to all of them.

    grid m in range(0, M, 128), n in range(0, N, 256)
    for k in range(0, K, 64) {
      %x = load @a[m : +128, k : +64] : f16[128, 64]
      %y = load @b[k : +64, n : +256] : f16[64, 256]

Two turns side by side along m read the same tile of b, two along n the same of a. Blocks of a cluster
lie along the axis by which most bytes are saved; here, along m, a block of two copies

      copy_async @b_ring[fill, 0 : +64, rank * 128 : +128], @b[k : +64, n + rank * 128 : +128],
        barrier=@full[fill], multicast

which goes to both (PTX ISA 8.5, 9.7.9.27.2: multicast::cluster). A slot of such a ring is free when
all of them have read it: each arrives at the barriers of all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dslc.compiler.dtypes import I32, INDEX
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.index_arithmetic import mul
from dslc.compiler.ir.expr import Convert, Expr, Var, free_vars
from dslc.compiler.ir.program import Kernel
from dslc.compiler.ir.regions import part
from dslc.compiler.ir.rewrite import fresh_name
from dslc.compiler.ir.traverse import walk
from dslc.compiler.ir.values import Region
from dslc.compiler.ir.workload import range_of
from dslc.compiler.passes.pipelining.prefetchable_loads import Ahead, tile_bytes
from dslc.compiler.passes.pipelining.ring_layout import Placement
from dslc.compiler.passes.pipelining.tma_copies import rows_of

_ROWS = 8  # after which a swizzle begins anew
_SWIZZLE, _UNIT = 128, 16  # bytes: of a swizzle's rows, of which runs are multiples


@dataclass(frozen=True, slots=True)
class Cluster:
    """Blocks side by side along an axis of the grid; `parts` are the axes along which tiles that they
    share are divided.
    """

    size: int
    axis: int
    parts: Mapping[ins.Load, int]
    number: Var

    @property
    def rank(self) -> Expr:
        """The block's number in its cluster."""
        return Convert(self.number, INDEX)

    def part(self, load: ins.Load, region: Region) -> Region:
        """The part of a tile that a block copies, of a region of the tile's shape."""
        axis = self.parts[load]
        size = region.shape[axis] // self.size
        return part(region, axis, mul(self.rank, size), size)


def cluster_for(
    kernel: Kernel, loads: Sequence[tuple[Ahead, Placement]], size: int, taken: set[str]
) -> Cluster | None:
    """Clusters of so many blocks along the axis that saves most bytes; None where none does."""
    known = {s.var: s.value for s in walk(kernel.body) if isinstance(s, ins.Let)}
    best: dict[ins.Load, int] = {}
    along = None
    for number, axis in enumerate(kernel.grid):
        turns = range_of(axis.start, axis.stop, axis.step)
        if turns is not None and len(turns) < size:
            continue
        shared: dict[ins.Load, int] = {}
        for ahead, _ in loads:
            divided = _divided(ahead.load, size)
            if divided is not None and not _depends(ahead, axis.var, known):
                shared[ahead.load] = divided
        if _bytes(shared) > _bytes(best):
            best, along = shared, number
    if along is None:
        return None
    return Cluster(size, along, best, Var(fresh_name("rank", taken), I32))


def _bytes(loads: Mapping[ins.Load, int]) -> int:
    return sum(tile_bytes(load.out) for load in loads)


def _depends(ahead: Ahead, var: Var, known: Mapping[Var, Expr]) -> bool:
    """Whether a load's subscripts are of a variable, by way of other names too."""
    if any(not isinstance(s, ins.Let) for s in ahead.needs):
        return True
    open_ = [v for e in ahead.load.region.subscripts for v in free_vars(e)]
    seen: set[Var] = set()
    while open_:
        at = open_.pop()
        if at == var:
            return True
        if at not in seen and at in known:
            open_ += free_vars(known[at])
        seen.add(at)
    return False


def _divided(load: ins.Load, size: int) -> int | None:
    """The axis along which so many blocks each copy a part of a tile; None where there is none."""
    shape, bits = load.out.type.shape, load.region.memory.dtype.bits
    if load.out.type.layout is None:
        rows, columns = shape
        if columns * bits % (8 * _SWIZZLE * size) == 0:
            return 1
        return 0 if rows % (_ROWS * size) == 0 else None
    run, rows = rows_of(load.region)
    outer = next((d for d, n in enumerate(shape) if n > 1), None)
    if outer is None or shape[outer] % size:
        return None
    whole = rows > 1 and rows % size == 0
    return outer if whole or (rows == 1 and run * bits % (8 * _UNIT * size) == 0) else None
