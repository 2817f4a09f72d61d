"""Masked accesses, and slices with an end, in the words that a machine has.

Before (tests/ir/masked-accesses/example.tir):

    %x = load @x[m : +16 end cast(n, index)] : f32[16]
    ...
    store @y[m : +16], %x, where=%keep

After, for a machine without ends whose turns run one after another:

    %x = load @x[m : +16] : f32[16]
    %place = arange : i32[16]
    %left = full cast(min(max(cast(n, index) - m, 0), 16), i32) : i32[16]
    %inside = lt %place, %left : bool[16]
    %fill = full f32(0.0) : f32[16]
    %x_1 = where %inside, %x, %fill : f32[16]
    ...
    %old = load @y[m : +16] : f32[16]
    %new = where %keep, %x_1, %old : f32[16]
    store @y[m : +16], %new

A masked load becomes a whole one and a choice: it stays a transfer in bulk, or one by vectors, and
nobody can tell that an element in bounds was read and left. What is stored is another matter: masks
of stores stay where turns run at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

from dslc.compiler.diagnostics import Loc, error
from dslc.compiler.dtypes import BOOL, I32, DType, Kind
from dslc.compiler.ir import Kernel, Memory, Region, Role, TileProgram, TileType, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import simplify
from dslc.compiler.ir.arithmetic.index_arithmetic import cdiv, largest, least, sub
from dslc.compiler.ir.indexed import Indexed, ids_shape, kept_axes, numbered
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.rewrite import Rewriter, map_kernels
from dslc.compiler.ir.traverse import walk


@dataclass(frozen=True, slots=True)
class MaskedAccesses:
    """Lowers masks and ends.

    `ends`: the machine looks for the ends of slices as for those of tensors, which it cannot where
    elements are packed. `masks`: it masks loads of what is not packed. `updates`: its turns run one
    after another, so that a masked store may write what it has read.
    """

    ends: bool = False
    masks: bool = False
    updates: bool = False
    name: ClassVar[str] = "masked-accesses"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program without the masks and ends that the machine lacks."""
        return map_kernels(program, lambda kernel: _Lowering(self, kernel).kernel(kernel))


def _is_ended(region: Region) -> bool:
    return any(a.end is not None for a in region.axes)


class _Lowering(Rewriter):
    def __init__(self, machine: MaskedAccesses, kernel: Kernel) -> None:
        super().__init__()
        self._machine = machine
        stores = (
            [s for s in walk(kernel.body) if isinstance(s, ins.Store)] if machine.updates else ()
        )
        # What a store reads is no longer only written.
        self._updated = {
            s.region.memory for s in stores if s.where is not None or _is_ended(s.region)
        }

    def memory(self, memory: Memory) -> Memory:
        """An output that masked stores read."""
        made = super().memory(memory)
        if memory in self._updated and made.role is Role.OUT:
            made = self._memories[memory] = replace(made, role=Role.INOUT)
        return made

    def statement(self, stmt: Stmt) -> Iterable[Stmt]:
        """The access, with what masks it beside it."""
        new = self.rebuild(stmt)
        match new:
            case ins.Load():
                return self._load(new)
            case ins.Store():
                return self._store(new)
            case ins.AtomicRmw(op="add", region=region, ids=()) if self._is_lowered(region):
                return _added(new)
            case ins.Gather(region=region) if self._is_lowered(region):
                return _gathered(new)
            case ins.Scatter() | ins.AtomicRmw() if self._is_lowered(new.region):
                raise error(
                    "DSL0590",
                    f"this machine has no scatter to a slice of {new.region.memory.name} with an end",
                    stmt.loc,
                    hint="give the elements from the end on an id that is out of range",
                )
        return (new,)

    def _is_lowered(self, region: Region) -> bool:
        packed = region.memory.dtype.bits < 8 or region.memory.dtype.kind is Kind.SCALE
        return _is_ended(region) and (not self._machine.ends or packed)

    def _load(self, stmt: ins.Load) -> Iterator[Stmt]:
        masks: list[Stmt] = []
        where = stmt.where
        ended = self._is_lowered(stmt.region)
        if ended:
            # Out of bounds a scale is anything.
            if stmt.out.type.dtype.kind is not Kind.SCALE:
                where = _inside(masks, stmt, stmt.out.type.shape, where)
            stmt = replace(stmt, region=_without_ends(stmt.region), where=where)
        masked = self._machine.masks and not _may_be_packed(stmt.region.memory)
        if where is None or (masked and not ended):
            yield stmt
            return
        read, fill = Value(stmt.out.type, stmt.out.name), Value(stmt.out.type, "fill")
        yield replace(stmt, out=read, where=None)
        yield from masks
        yield ins.Full(fill, stmt.other or zero(stmt.out.type.dtype), loc=stmt.loc)
        yield ins.Where(stmt.out, where, read, fill, loc=stmt.loc)

    def _store(self, stmt: ins.Store) -> Iterator[Stmt]:
        where = stmt.where
        if _is_ended(stmt.region) and not self._machine.ends:
            masks: list[Stmt] = []
            where = _inside(masks, stmt, stmt.x.type.shape, where)
            yield from masks
            stmt = replace(stmt, region=_without_ends(stmt.region), where=where)
        if where is None or not self._machine.updates:
            yield stmt
            return
        old, new = Value(stmt.x.type, "old"), Value(stmt.x.type, "new")
        yield ins.Load(old, stmt.region, loc=stmt.loc)
        yield ins.Where(new, where, stmt.x, old, loc=stmt.loc)
        yield replace(stmt, x=new, where=None)


def _may_be_packed(memory: Memory) -> bool:
    """Whether its loads may become those of bytes, of which a mask of elements says nothing."""
    if memory.dtype.kind is Kind.BOOL or memory.role is Role.BUFFER:
        return False
    return memory.dtype.bits < 8 or (memory.dtype.bits == 8 and memory.role is Role.IN)


def _added(stmt: ins.AtomicRmw) -> Iterator[Stmt]:
    """Nothing is added behind the end; -0.0 is what changes no float."""
    dtype = stmt.x.type.dtype
    masks: list[Stmt] = []
    where = _inside(masks, stmt, stmt.x.type.shape, None)
    yield from masks
    none, x = Value(stmt.x.type, "none"), Value(stmt.x.type, "x")
    yield ins.Full(none, ex.Const(-0.0, dtype) if dtype.is_float else zero(dtype), loc=stmt.loc)
    yield ins.Where(x, where, stmt.x, none, loc=stmt.loc)
    before = None if stmt.out is None else Value(stmt.out.type, "before")
    yield replace(stmt, region=_without_ends(stmt.region), x=x, out=before)
    if stmt.out is not None and before is not None:
        fill = Value(stmt.out.type, "fill")
        yield ins.Full(fill, zero(dtype), loc=stmt.loc)
        yield ins.Where(stmt.out, where, before, fill, loc=stmt.loc)


def _gathered(stmt: ins.Gather) -> Iterator[Stmt]:
    masks: list[Stmt] = []
    where = _inside(masks, stmt, stmt.out.type.shape, None)
    read, fill = Value(stmt.out.type, stmt.out.name), Value(stmt.out.type, "fill")
    yield replace(stmt, out=read, region=_without_ends(stmt.region))
    yield from masks
    yield ins.Full(fill, zero(stmt.out.type.dtype), loc=stmt.loc)
    yield ins.Where(stmt.out, where, read, fill, loc=stmt.loc)


def zero(dtype: DType) -> ex.Const:
    """The zero of a dtype."""
    return ex.Const(False if dtype == BOOL else 0.0 if dtype.is_float else 0, dtype)


def _without_ends(region: Region) -> Region:
    return replace(region, axes=tuple(replace(a, end=None) for a in region.axes))


def _inside(
    made: list[Stmt],
    stmt: ins.Load | ins.Store | ins.Gather | ins.AtomicRmw,
    shape: tuple[int, ...],
    where: Value | None,
) -> Value:
    """Bools of the tile's shape: before the ends of its slices, and where `where` holds."""
    inside, loc = where, stmt.loc
    rank = len(ids_shape(stmt)) if isinstance(stmt, Indexed) else 0
    for number, place in kept_axes(stmt.region, numbered(stmt), rank).items():
        axis = stmt.region.axes[number]
        if axis.end is not None:
            flags = _along(made, axis.end, axis.start, axis.step, shape, place, loc)
            if inside is not None:
                both = Value(TileType(BOOL, shape), "inside")
                made.append(ins.Binary(both, "and", inside, flags, loc=loc))
                flags = both
            inside = flags
    assert inside is not None
    return inside


def _along(
    made: list[Stmt],
    end: ex.Expr,
    start: ex.Expr,
    step: int,
    shape: tuple[int, ...],
    place: int,
    loc: Loc | None,
) -> Value:
    """Which elements along an axis of the tile lie before the end, in the whole tile's shape."""
    size = shape[place]
    left = sub(end, start)
    left = least(largest(cdiv(left, step) if step > 1 else left, 0), size)
    column = tuple(size if d == place else 1 for d in range(len(shape)))
    number, last = (Value(TileType(I32, (size,)), n) for n in ("place", "left"))
    flags, placed, wide = (Value(TileType(BOOL, s), "inside") for s in ((size,), column, shape))
    made += [
        ins.Arange(number, loc=loc),
        ins.Full(last, ex.Convert(simplify(left), I32), loc=loc),
        ins.Binary(flags, "lt", number, last, loc=loc),
    ]
    if len(shape) == 1:
        return flags
    made += [ins.Reshape(placed, flags, loc=loc), ins.Broadcast(wide, placed, loc=loc)]
    return wide
