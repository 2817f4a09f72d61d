"""Tiles that stick out of short tensors are cut to what matters of them, where all sizes are known.

Before (tests/ir/short-tiles/example.tir), for a tensor of one row and blocks of 16:

    grid m in range(0, 1, 16), n in range(0, 128, 64)
    %zero = full f32(0.0) : f32[16, 64]
    %sum = for k in range(0, 64, 32) carry (%acc : f32[16, 64] = %zero) {
      %a = load @a[m : +16, k : +32!] : f32[16, 32]
      %b = load @b[k : +32!, n : +64!] : f32[32, 64]
      %d = dot %a, %b, acc=%acc : f32[16, 64]
      yield %d
    }
    store @c[m : +16, n : +64!], %sum

After:

    grid m in range(0, 1, 16), n in range(0, 128, 64)
    %zero = full f32(0.0) : f32[1, 64]
    %sum = for k in range(0, 64, 32) carry (%acc : f32[1, 64] = %zero) {
      %a = load @a[m : +1, k : +32!] : f32[1, 32]
      %b = load @b[k : +32!, n : +64!] : f32[32, 64]
      %d = dot %a, %b, acc=%acc : f32[1, 64]
      yield %d
    }
    store @c[m : +1, n : +64!], %sum

Rows of products stay multiples of 8, which matrix units want, but for a single row, which reads each
weight once. The last axis of a tensor stays as it is: what moves it counts in whole words.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from dslc.compiler.analysis.axis_extents import Axis, classes_of
from dslc.compiler.ir import Kernel, Region, Role, TileProgram, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import constant
from dslc.compiler.ir.rewrite import Substitution, map_kernels
from dslc.compiler.ir.traverse import walk
from dslc.compiler.ir.workload import range_of
from dslc.compiler.passes.padding.resized import Resized

_ROWS = 8  # of a matrix unit


@dataclass(frozen=True, slots=True)
class ShortTiles:
    """Cuts tiles along axes that one block covers."""

    name: str = "short-tiles"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program with the tiles that its tensors fill."""
        return map_kernels(program, _cut)


def _cut(kernel: Kernel) -> Kernel:
    alone = {
        a.var: a.start
        for a in kernel.grid
        if (turns := range_of(a.start, a.stop, a.step)) is not None and len(turns) == 1
    }
    if not alone:
        return kernel
    # The tiles are the kernel's own, so that what is found of them here holds there.
    classes = classes_of(replace(kernel, body=Substitution(scalars=alone).body(kernel.body)))
    sizes: dict[Axis, int] = {}
    kept = {classes.find(a) for a in _last_axes(kernel)}
    multiplied = {classes.find(a) for a in _product_axes(kernel)}
    for axis, end in classes.extents().items():
        value, k = axis
        known, size = constant(end), value.type.shape[k]
        root = classes.find(axis)
        if not isinstance(known, int) or known < 1 or root in kept:
            continue
        if root in multiplied and known > 1:
            known = -(-known // _ROWS) * _ROWS
        if known < size and value.type.layout is None:
            sizes[axis] = known
    return replace(kernel, body=Resized(sizes).body(kernel.body)) if sizes else kernel


def _last_axes(kernel: Kernel) -> list[Axis]:
    """The axes of tiles along which elements of tensors lie one after another."""
    axes = []
    for stmt in walk(kernel.body):
        if isinstance(stmt, ins.Load | ins.Store):
            tile = stmt.out if isinstance(stmt, ins.Load) else stmt.x
            if stmt.region.axes and not stmt.region.axes[-1].dropped:
                axes.append((tile, tile.type.rank - 1))
            if stmt.region.memory.role is Role.BUFFER:
                axes += _axes(tile, stmt.region)
    return axes


def _axes(tile: Value, region: Region) -> list[Axis]:
    return [(tile, k) for k in range(len(region.shape))]


def _product_axes(kernel: Kernel) -> list[Axis]:
    """The rows and columns of products."""
    dots = [s.out for s in walk(kernel.body) if isinstance(s, ins.Dot)]
    return [(out, out.type.rank - n) for out in dots for n in (1, 2)]
