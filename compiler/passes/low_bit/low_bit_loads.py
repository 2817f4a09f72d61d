"""Parameters as they are stored: their memories, and loads of them as loads of bytes and views."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Literal, TypeAlias, TypeVar

from dslc.compiler.analysis.weights import CODES
from dslc.compiler.dtypes import U8
from dslc.compiler.ir import (
    AxisSlice,
    Kernel,
    Memory,
    PackedParam,
    Region,
    TileType,
    Value,
)
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import simplify
from dslc.compiler.ir.arithmetic.index_arithmetic import cdiv, div
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.rewrite import Rewriter
from dslc.compiler.ir.traverse import handed, walk
from dslc.compiler.layout import Layout, reshape
from dslc.compiler.low_bit_format import PackedStorage
from dslc.compiler.passes.low_bit.fragments import load_fragments

# A parameter's storage: tiles, compact row-major bits, or unpacked codes as it was.
Storage: TypeAlias = PackedStorage | Literal["row", "codes"]


T = TypeVar("T")


def store(kernel: Kernel, choices: Mapping[Memory, Storage], warp: int) -> Kernel:
    """The kernel over the stored parameters."""
    if all(s == "codes" and m.packed is None for m, s in choices.items()):
        return kernel
    rewritten = _Loads(choices, warp, _handed_on(kernel)).kernel(kernel)
    return replace(rewritten, packed=packed_params(kernel.params, choices))


def packed_params(
    params: Iterable[object], choices: Mapping[Memory, Storage]
) -> tuple[PackedParam, ...]:
    """What the parameters that are stored in tiles are to the caller."""
    return tuple(
        PackedParam(p.name, p.dtype, p.shape, storage)
        for p in params
        if isinstance(p, Memory) and isinstance(storage := choices.get(p), PackedStorage)
    )


def as_stored(param: T, choices: Mapping[Memory, Storage]) -> T | Memory:
    """The memory that holds a parameter in its storage; anything else as it is."""
    if not isinstance(param, Memory):
        return param
    match choices.get(param):
        case PackedStorage() as storage:
            counts = (simplify(cdiv(n, t)) for n, t in zip(param.shape, storage.tile, strict=True))
            return replace(param, dtype=U8, shape=(*counts, ex.index(storage.tile_bytes)))
        case "row":
            return replace(param, packed="row")
        case "codes" if param.packed == CODES:
            return replace(param, packed=None)
        case _:
            return param


class _Loads(Rewriter):
    """Loads of stored parameters as loads of bytes and views."""

    def __init__(
        self, choices: Mapping[Memory, Storage], warp: int, handed_on: frozenset[Value]
    ) -> None:
        super().__init__()
        self._handed_on = handed_on
        self._choices, self._warp = choices, warp
        self._memories.update({m: as_stored(m, choices) for m in choices})
        self._values: dict[Value, Value] = {}

    def value(self, value: Value) -> Value:
        """The tile, with the layout that its load has given it."""
        return self._values.get(value, value)

    def statement(self, stmt: Stmt) -> Iterable[Stmt]:
        """A load of a parameter in tiles is a load of bytes, then a view."""
        if isinstance(stmt, ins.Load):
            storage = self._choices.get(stmt.region.memory)
            if isinstance(storage, PackedStorage):
                return self._load(stmt, storage)
        return super().statement(stmt)

    def _load(self, load: ins.Load, storage: PackedStorage) -> Iterable[Stmt]:
        if not _is_whole(load, storage):
            axes = tuple(replace(a, start=self.expr(a.start)) for a in load.region.axes)
            codes = Region(self.memory(load.region.memory), axes)
            return load_fragments(load, codes, storage, self._warp)
        counts = zip(load.region.axes, storage.tile, strict=True)
        tiles = tuple(self._tile_number(a, extent) for a, extent in counts)
        whole = AxisSlice(ex.index(0), storage.tile_bytes, checked=False)
        region = Region(self.memory(load.region.memory), (*tiles, whole))
        taken = TileType(U8, (storage.tile_bytes,), storage.byte_layout)
        packed = Value(taken, f"{load.out.name}_bytes" if load.out.name else "")
        loaded: list[Stmt] = [ins.Load(packed, region, loc=load.loc)]
        out = self._viewed(load.out, storage.layout)
        if out.type != load.out.type and load.out in self._handed_on:
            # What a loop or a branch hands on is of one type, and others have no layout.
            del self._values[load.out]
            return (*loaded, *self._view(out, packed, storage, load), _converted(load, out))
        return (*loaded, *self._view(out, packed, storage, load))

    def _view(
        self, out: Value, packed: Value, storage: PackedStorage, load: ins.Load
    ) -> tuple[Stmt, ...]:
        """The codes of packed bytes, whose words of lanes get the order of a thread's first."""
        if storage.lanes == 1:
            return (ins.View(out, packed, loc=load.loc),)
        taken = packed.type
        lanes = Value(replace(taken, layout=storage.view_layout), f"{packed.name}_lanes")
        stored = Value(replace(out.type, layout=reshape(storage.layout, out.type.shape)), "")
        return (
            ins.ConvertLayout(lanes, packed, loc=load.loc),
            ins.View(stored, lanes, loc=load.loc),
            ins.ConvertLayout(out, stored, loc=load.loc),
        )

    def _tile_number(self, axis: AxisSlice, extent: int) -> AxisSlice:
        number = simplify(div(self.expr(axis.start), extent))
        return AxisSlice(number, 1, dropped=True, checked=axis.checked)

    def _viewed(self, out: Value, layout: Layout) -> Value:
        if out.type.layout is not None:
            return out
        shaped = reshape(layout, out.type.shape)
        self._values[out] = replace(out, type=replace(out.type, layout=shaped))
        return self._values[out]


def _converted(load: ins.Load, viewed: Value) -> Stmt:
    return ins.ConvertLayout(load.out, viewed, loc=load.loc)


def _handed_on(kernel: Kernel) -> frozenset[Value]:
    """The tiles that loops carry or branches join."""
    return frozenset(
        x
        for stmt in walk(kernel.body)
        for h in handed(stmt)
        for x in ((h.init, h.yielded) if isinstance(h, ins.Carried) else (h.then, h.otherwise))
        if isinstance(x, Value)
    )


def _is_whole(load: ins.Load, storage: PackedStorage) -> bool:
    """Whether the load takes one tile of the storage, over the threads that this has."""
    layout = load.out.type.layout
    alike = layout is None or layout.threads == storage.layout.threads
    return alike and tuple(a.size for a in load.region.axes) == storage.tile
