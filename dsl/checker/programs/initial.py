"""Buffers of programs that begin at a value: a kernel of the compiler's own writes them.

kernel fill[N](@x: out f32[N], value: f32) {
  grid n in range(0, N, 1024)
  %value = full value : f32[1024]
  store @x[n : +1024], %value
}
"""

from __future__ import annotations

from dslc.checker.programs.views import Views
from dslc.compiler.diagnostics import Loc
from dslc.compiler.dtypes import INDEX
from dslc.compiler.ir import (
    AxisSlice,
    Call,
    GridAxis,
    Kernel,
    Memory,
    Region,
    Role,
    TileType,
    Value,
)
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import constant

_BLOCKS: dict[int, tuple[int, ...]] = {
    1: (1024,),
    2: (8, 256),
}  # elements of a turn along each axis


def filled(views: Views, memory: Memory, value: ex.Expr, loc: Loc) -> Call:
    """The call that writes a value to all elements; of more than two axes to those of a view."""
    if memory.rank not in _BLOCKS:
        memory = views.reshaped(memory, (-1, memory.shape[-1]) if memory.rank else (1,), loc)
    known = [constant(n) is not None for n in memory.shape]
    dims = [ex.Var(f"N{k}", INDEX) for k in range(memory.rank)]
    shape = tuple(n if k else d for n, d, k in zip(memory.shape, dims, known, strict=True))
    param = Memory("x", memory.dtype, shape, Role.OUT, loc=loc)
    scalar = ex.Var("value", value.dtype)
    is_known = constant(value) is not None
    blocks = _BLOCKS[memory.rank]
    counters = [ex.Var(f"n{k}", INDEX) for k in range(memory.rank)]
    tile = Value(TileType(memory.dtype, blocks), "value")
    region = Region(param, tuple(map(AxisSlice, counters, blocks)))
    axes = zip(counters, shape, blocks, strict=True)
    kernel = Kernel(
        "fill",
        (param,) if is_known else (param, scalar),
        tuple(d for d, k in zip(dims, known, strict=True) if not k),
        tuple(GridAxis(v, ex.index(0), n, ex.index(b)) for v, n, b in axes),
        (
            ins.Full(tile, value if is_known else scalar, loc=loc),
            ins.Store(region, tile, loc=loc),
        ),
        loc=loc,
    )
    return Call(kernel, (memory,) if is_known else (memory, value), loc, views.when)
