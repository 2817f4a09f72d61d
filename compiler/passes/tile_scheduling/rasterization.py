"""Rasterization, the order of turns: groups of rows in which those that run at once share their reads.

    grid m in range(0, M, 128), n in range(0, N, 256)       ->    rasterize(16)

As many turns as the machine has units run at once. Numbered row by row they would read a few rows of
one operand and all columns of the other; as a block of r x c turns, r rows of the one and c columns of
the other, which is least where the block is as high as it is wide in elements. Half of that height is
what ran fastest on an H200: the next turns' columns then come while these rows are still cached.

Where turns of a row share what they read and those of a column share nothing, as the queries of a head
share its keys, a strip has as many rows as the level-2 cache holds of that: the greatest power of two,
so that few strips are lower than the others. The rest of the cache is for what else passes through.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import log2, sqrt

from dslc.compiler.dtypes import BOOL
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import constant, simplify
from dslc.compiler.ir.arithmetic.index_arithmetic import add, cdiv, mul, select, sub
from dslc.compiler.ir.expr import Binary, Expr, Var, free_vars, index
from dslc.compiler.ir.program import Kernel, TileProgram
from dslc.compiler.ir.rewrite import map_kernels
from dslc.compiler.ir.traverse import reads, walk
from dslc.compiler.ir.values import Region
from dslc.compiler.targets import Target

_CACHED = 2 / 3  # of the cache
_HIGHEST = 64  # strips of rows that share nothing


@dataclass(frozen=True, slots=True)
class Rasterize:
    """Orders the turns of kernels whose products are as fast as what feeds them."""

    target: Target
    name: str = "rasterize"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program with its turns in order."""
        return map_kernels(program, self._kernel)

    def _kernel(self, kernel: Kernel) -> Kernel:
        async_dots = any(isinstance(s, ins.Dot) and s.is_async for s in walk(kernel.body))
        numbered = kernel.rasterization is not None or kernel.cluster is not None
        if not async_dots or len(kernel.grid) < 2 or numbered:
            return kernel
        high, wide = (constant(axis.step) for axis in kernel.grid[-2:])
        if not high or not wide or high < 0 or wide < 0:
            return kernel
        rates, by_rows, by_columns = self.target.rates, *_shared_reads(kernel)
        if rates is not None and by_rows and not by_columns:
            strips = _cached_rows(kernel, by_rows, int(rates.cache_bytes * _CACHED))
            return replace(kernel, rasterization=strips)
        return replace(kernel, rasterization=index(strip_of(self.target.units, high, wide)))


def strip_of(units: int, high: float, wide: float) -> int:
    """The turns that a strip is high, for turns of so many rows and columns and machines of so many."""
    return int(2 ** round(log2(max(1.0, sqrt(units * wide / high) / 2))))


def _shared_reads(kernel: Kernel) -> tuple[list[Region], list[Region]]:
    """What the turns of a row read in common, and those of a column."""
    row, column = (axis.var for axis in kernel.grid[-2:])
    known = {s.var: s.value for s in walk(kernel.body) if isinstance(s, ins.Let)}
    by_rows: list[Region] = []
    by_columns: list[Region] = []
    for region in (r for s in walk(kernel.body) for r in reads(s)):
        if region.memory in kernel.tensors:
            names = {v for a in region.axes for v in origins(a.start, known)}
            if row in names and column not in names:
                by_rows.append(region)
            if column in names and row not in names:
                by_columns.append(region)
    return by_rows, by_columns


def origins(expr: Expr, known: Mapping[Var, Expr]) -> Iterator[Var]:
    """The variables of an expression, those that are other scalars' names followed."""
    for var in free_vars(expr):
        yield var
        if var in known:
            yield from origins(known[var], known)


def _cached_rows(kernel: Kernel, regions: list[Region], cache: int) -> Expr:
    """How many rows of turns the cache serves, a power of two."""
    outer = {axis.var for axis in kernel.grid[:-2]}
    total: Expr = index(0)
    for region in {r.memory: r for r in regions}.values():
        size: Expr = index(-(-region.memory.dtype.bits // 8))
        for axis, extent in zip(region.axes, region.memory.shape, strict=True):
            if not (axis.dropped and free_vars(axis.start) & outer):
                size = mul(size, extent)
        total = add(total, size)
    across = kernel.grid[-2]  # of a positive step
    rows = mul(cdiv(sub(across.stop, across.start), across.step), cache)
    strips: Expr = index(1)
    height = 2
    while height <= _HIGHEST:
        fits = Binary("le", mul(total, height), rows, BOOL)
        strips = select(fits, height, strips)
        height *= 2
    return simplify(strips)
