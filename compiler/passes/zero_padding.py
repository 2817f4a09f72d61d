"""What a store drops past the end of a tensor becomes zero, on machines that move whole tiles.

Before, for a tensor of 50 columns in blocks of 16:

    store @y[m : +8!, n : +16], %x

After:

    %left = full cast(50 - n, i32) : i32[16]
    %inside = lt %columns, %left : bool[16]
    %z = where %inside, %x, 0 : f32[8, 16]
    store @y[m : +8!, n : +16], %z

There the tile is written as a whole, past the tensor's end into its padding, which whoever reads the
tensor next takes for the zeros that lie beyond it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from dslc.compiler.dtypes import BOOL, I32
from dslc.compiler.ir import Kernel, Role, TileProgram, TileType, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.affine import simplify
from dslc.compiler.ir.index_arithmetic import cdiv, sub
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.rewrite import Rewriter, map_kernels


@dataclass(frozen=True, slots=True)
class ZeroPadding:
    """Masks the stores whose axes are still checked; it comes after `bounds`."""

    name: str = "zero-padding"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program whose stores write zeros past the ends of tensors."""
        return map_kernels(program, _kernel)


def _kernel(kernel: Kernel) -> Kernel:
    body = _Stores().body(kernel.body)
    return kernel if body is kernel.body else replace(kernel, body=body)


class _Stores(Rewriter):
    def statement(self, stmt: Stmt) -> Iterable[Stmt]:
        """A store with its mask ahead of it."""
        rebuilt = self.rebuild(stmt)
        if isinstance(rebuilt, ins.Store) and rebuilt.region.memory.role is not Role.BUFFER:
            yield from _masked(rebuilt)
        else:
            yield rebuilt


def _masked(stmt: ins.Store) -> Iterator[Stmt]:
    shape, loc = stmt.x.type.shape, stmt.loc
    conditions = []
    kept = [k for k, a in enumerate(stmt.region.axes) if not a.dropped]
    for number, k in enumerate(kept):
        axis = stmt.region.axes[k]
        if not axis.checked:
            continue
        left = sub(stmt.region.memory.shape[k], axis.start)
        if axis.step > 1:
            left = cdiv(left, axis.step)
        size = (axis.size,)
        places, ends = (Value(TileType(I32, size), n) for n in ("place", "left"))
        inside = Value(TileType(BOOL, size), "inside")
        yield ins.Arange(places, loc=loc)
        yield ins.Full(ends, ex.Convert(simplify(left), I32), loc=loc)
        yield ins.Binary(inside, "lt", places, ends, loc=loc)
        along = tuple(axis.size if n == number else 1 for n in range(len(shape)))
        column, wide = (
            Value(TileType(BOOL, along), "inside"),
            Value(TileType(BOOL, shape), "inside"),
        )
        yield ins.Reshape(column, inside, loc=loc)
        yield ins.Broadcast(wide, column, loc=loc)
        conditions.append(wide)
    if not conditions:
        yield stmt
        return
    first, *rest = conditions
    for other in rest:
        both = Value(TileType(BOOL, shape), "inside")
        yield ins.Binary(both, "and", first, other, loc=loc)
        first = both
    zero, padded = Value(stmt.x.type, "zero"), Value(stmt.x.type, "padded")
    yield ins.Full(zero, ex.Const(0, stmt.x.type.dtype), loc=loc)
    yield ins.Where(padded, first, stmt.x, zero, loc=loc)
    yield replace(stmt, x=padded)
