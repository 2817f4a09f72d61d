"""What a store drops past the end of a tensor becomes zero, on machines that move whole tiles.

Before, for a tensor of 50 columns in blocks of 16:

    store @y[m : +8!, n : +16], %x

After:

    %left = full cast(50 - n, i32) : i32[16]
    %inside = lt %columns, %left : bool[16]
    %z = where %inside, %x, 0 : f32[8, 16]
    store @y[m : +8!, n : +16], %z

There the tile is written as a whole, past the tensor's end into its padding, which whoever reads the
tensor next takes for the zeros that lie beyond it. A load with another fill reads those zeros and
chooses by the same mask.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from dslc.compiler.diagnostics import Loc
from dslc.compiler.dtypes import BOOL, I32
from dslc.compiler.ir import Kernel, Region, Role, TileProgram, TileType, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.affine import simplify
from dslc.compiler.ir.index_arithmetic import cdiv, sub
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.rewrite import Rewriter, map_kernels, with_body


@dataclass(frozen=True, slots=True)
class ZeroPadding:
    """Masks stores, and loads with a fill, whose axes are still checked; it comes after `bounds`."""

    name: str = "zero-padding"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program whose stores write zeros past the ends of tensors, and whose loads read them."""
        return map_kernels(program, _kernel)


def _kernel(kernel: Kernel) -> Kernel:
    return with_body(kernel, _Edges().body(kernel.body))


class _Edges(Rewriter):
    def statement(self, stmt: Stmt) -> Iterable[Stmt]:
        """A store with its mask ahead of it, a load with another fill with its mask behind it."""
        rebuilt = self.rebuild(stmt)
        match rebuilt:
            case ins.Store(region=region) if _in_tensor(region):
                yield from _stored(rebuilt)
            case ins.Load(region=region, other=fill) if fill is not None:
                yield from _filled(rebuilt, fill) if _in_tensor(region) else (rebuilt,)
            case _:
                yield rebuilt


def _in_tensor(region: Region) -> bool:
    return region.memory.role is not Role.BUFFER


def _stored(stmt: ins.Store) -> Iterator[Stmt]:
    made, inside = _inside(stmt.region, stmt.x.type.shape, stmt.loc)
    if inside is None:
        yield stmt
        return
    yield from made
    dtype = stmt.x.type.dtype
    zero, padded = Value(stmt.x.type, "zero"), Value(stmt.x.type, "padded")
    yield ins.Full(zero, ex.Const(False if dtype == BOOL else 0, dtype), loc=stmt.loc)
    yield ins.Where(padded, inside, stmt.x, zero, loc=stmt.loc)
    yield replace(stmt, x=padded)


def _filled(stmt: ins.Load, other: ex.Expr) -> Iterator[Stmt]:
    made, inside = _inside(stmt.region, stmt.out.type.shape, stmt.loc)
    if inside is None:
        yield replace(stmt, other=None)
        return
    read, fill = Value(stmt.out.type, stmt.out.name), Value(stmt.out.type, "fill")
    yield replace(stmt, out=read, other=None)
    yield from made
    yield ins.Full(fill, other, loc=stmt.loc)
    yield ins.Where(stmt.out, inside, read, fill, loc=stmt.loc)


def _inside(
    region: Region, shape: tuple[int, ...], loc: Loc | None
) -> tuple[list[Stmt], Value | None]:
    """Which elements of a region lie in the tensor, and what computes that; None where all do."""
    made: list[Stmt] = []
    found: Value | None = None
    kept = [k for k, a in enumerate(region.axes) if not a.dropped]
    for number, k in enumerate(kept):
        axis = region.axes[k]
        if not axis.checked:
            continue
        left = sub(region.memory.shape[k], axis.start)
        if axis.step > 1:
            left = cdiv(left, axis.step)
        size = (axis.size,)
        places, ends = (Value(TileType(I32, size), n) for n in ("place", "left"))
        along = tuple(axis.size if n == number else 1 for n in range(len(shape)))
        flags, column, wide = (Value(TileType(BOOL, s), "inside") for s in (size, along, shape))
        made += [
            ins.Arange(places, loc=loc),
            ins.Full(ends, ex.Convert(simplify(left), I32), loc=loc),
            ins.Binary(flags, "lt", places, ends, loc=loc),
            ins.Reshape(column, flags, loc=loc),
            ins.Broadcast(wide, column, loc=loc),
        ]
        if found is not None:
            both = Value(TileType(BOOL, shape), "inside")
            made.append(ins.Binary(both, "and", found, wide, loc=loc))
            wide = both
        found = wide
    return made, found
