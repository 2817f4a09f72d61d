"""Low-bit reinterpretation: packed storage that loads as wide words and is viewed at no cost.

Before (tests/ir/low-bit/example.tir):

    kernel f[K, N](@w: in u4[K, N], @y: out i32[K, N]) {
      grid k in range(0, K, 64), n in range(0, N, 128)
      %q = load @w[k : +64, n : +128] : u4[64, 128]

After, with w stored tile by tile:

    kernel f[K, N](@w: in u8[(K + 63) // 64, (N + 127) // 128, 4096], @y: out i32[K, N]) {
      packed w: u4[K, N] `spatial(32, 1).local(2, 128)`
      grid k in range(0, K, 64), n in range(0, N, 128)
      %q_bytes = load @w[k // 64, n // 128, 0 : +4096!] : u8[4096] `local(8).spatial(32).local(16)`
      %q = view %q_bytes : u4[64, 128] `spatial(32, 1).local(2, 128)`

The kernel's `packed` then says how w's codes are stored (`low_bit_format`). Where the machine
computes on words of several lanes, the codes stand in the order of lanes, and two conversions that stay
within each thread say so: to each lane's bytes one after the other, and from the order of storage
(tests/ir/low-bit/lanes.tir):

    %q_bytes = load @w[k // 64, n // 128, 0 : +4096!] : u8[4096] `local(8).spatial(32).local(16)`
    %q_bytes_lanes = convert_layout %q_bytes : u8[4096] `...`
    %t = view %q_bytes_lanes : u4[64, 128] `...`
    %q = convert_layout %t : u4[64, 128] `spatial(32, 1).local(2, 128)`
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from dslc.compiler.analysis.alignment import Divisors, divisor, known_divisors
from dslc.compiler.analysis.row_bytes import takes_whole_bytes
from dslc.compiler.analysis.weights import CODES, is_open, packed_freely
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.dtypes import DType, Kind
from dslc.compiler.ir import (
    Kernel,
    Memory,
    Program,
    TileProgram,
    Value,
)
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import constant
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.rewrite import kernels, map_kernels, with_memories
from dslc.compiler.ir.traverse import memories, walk
from dslc.compiler.layout import reshape
from dslc.compiler.low_bit_format import (
    PackedStorage,
    default_layout,
    interleaved,
    lanes_for,
    storage_for,
)
from dslc.compiler.passes.low_bit.fragments import storage_in_fragments
from dslc.compiler.passes.low_bit.low_bit_loads import Storage, as_stored, packed_params, store


@dataclass(frozen=True, slots=True)
class LowBit:
    """Chooses the packed storage of every low-bit parameter that is only read, and of 8-bit weights.

    A parameter is stored in tiles where all its loads take tiles of one shape that start at multiples
    of that shape; they have the register layout that the program gives, or else one over at most
    `threads` threads. Where that is not so, or elements out of bounds may have to read another number
    than 0, it becomes `packed row`, which serves every access. Parameters that are written, have
    strides, are `packed row` already, or alone give a dim its value stay as they are. Parameters of 8
    bits are packed in tiles where they are weights (`analysis.weights`), else they stay arrays of
    bytes. With `rows` no tiles are made: rows that are read in whole bytes are `packed row`, others
    bytes.
    """

    threads: int = 32
    lanes: bool = False
    f8: bool = False  # the machine converts f8e4m3
    rows: bool = False
    name: ClassVar[str] = "low-bit"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program with its low-bit parameters stored as bytes."""
        if isinstance(program, Kernel):
            return store(program, self._choices(program), self.threads)
        chosen = {k: self._choices(k) for k in kernels(program)}
        shared = _agree(program, chosen)
        stored = map_kernels(program, lambda k: store(k, chosen[k], self.threads))
        assert isinstance(stored, Program)
        memories = [p for p in program.params if isinstance(p, Memory)]
        moved = with_memories(stored, {m: as_stored(m, shared) for m in memories})
        return replace(moved, packed=packed_params(program.params, shared))

    def _choices(self, kernel: Kernel) -> dict[Memory, Storage]:
        """The storage of each low-bit parameter that the pass may choose."""
        accesses: defaultdict[Memory, list[Stmt]] = defaultdict(list)
        casts: defaultdict[Value, set[DType]] = defaultdict(set)
        for stmt in walk(kernel.body):
            for memory in memories(stmt):
                accesses[memory].append(stmt)
            if isinstance(stmt, ins.Cast):
                casts[stmt.x].add(stmt.out.type.dtype)
        known = known_divisors(kernel)
        free = packed_freely(kernel)
        chosen: dict[Memory, Storage] = {}
        for memory in kernel.tensors:
            if memory not in free:
                if memory.dtype.bits == 8 and (is_open(memory) or memory.packed == CODES):
                    chosen[memory] = "codes"
            else:
                loads = [s for s in accesses[memory] if isinstance(s, ins.Load)]
                tiled = loads and len(loads) == len(accesses[memory]) and not self.rows
                wanted = set().union(*(casts[s.out] for s in loads))
                storage = self._tiled(memory, loads, known, wanted) if tiled else None
                plainest = _plainest(memory)
                if self.rows and not all(
                    takes_whole_bytes(s, memory, known) for s in accesses[memory]
                ):
                    plainest = "codes"
                chosen[memory] = storage if storage is not None else plainest
        return _bound(kernel.params, chosen)

    def _tiled(
        self, memory: Memory, loads: list[ins.Load], known: Divisors, wanted: set[DType]
    ) -> PackedStorage | None:
        """The storage in fragments, else in the tiles that are loaded; None where neither serves."""
        if not self.lanes:
            return _tiles(memory, loads, known, self.threads)
        lanes = max((lanes_for(memory.dtype, to, f8=self.f8) for to in wanted), default=1)
        in_fragments = storage_in_fragments(memory, loads, known, self.threads)
        if in_fragments is not None:
            in_fragments = _in_lanes(in_fragments, lanes)
            if in_fragments.lanes == lanes:
                return in_fragments
        tiles = _tiles(memory, loads, known, self.threads)
        return None if tiles is None else _in_lanes(tiles, lanes)


def _bound(params: Iterable[object], chosen: Mapping[Memory, Storage]) -> dict[Memory, Storage]:
    """The choices that leave every dim an argument that gives it: bytes in tiles tell no extent."""
    bound = dict(chosen)
    for memory in chosen:
        given = {dim for p in params for dim in _dims_given(as_stored(p, bound))}
        if any(isinstance(extent, ex.Var) and extent not in given for extent in memory.shape):
            bound[memory] = "codes"
    return bound


def _dims_given(param: object) -> Iterable[object]:
    if not isinstance(param, Memory):
        return (param,)
    return param.shape if param.packed is None else ()


def _plainest(memory: Memory) -> Storage:
    """What serves every access."""
    return "row" if memory.dtype.is_low_bit else "codes"


def _tiles(
    memory: Memory, loads: list[ins.Load], known: Divisors, threads: int
) -> PackedStorage | None:
    """The storage in tiles that serves all loads, or None."""
    tile = tuple(a.size for a in loads[0].region.axes)
    if not all(_fits(load, tile, known) for load in loads):
        return None
    bits, signed = memory.dtype.bits, memory.dtype.kind is Kind.INT
    try:
        asked = {reshape(x.out.type.layout, tile) for x in loads if x.out.type.layout is not None}
        layout = asked.pop() if asked else default_layout(tile, bits, threads)
        if asked or layout is None:
            return None
        return storage_for(tile, bits, layout, signed=signed)
    except DiagnosticError:  # the layout leaves no whole bytes, or is swizzled
        return None


def _in_lanes(storage: PackedStorage, lanes: int) -> PackedStorage:
    """The storage in so many lanes, where there are several and the tile divides into them."""
    ordered = interleaved(storage.layout, storage.bits, lanes) if lanes > 1 else None
    return storage if ordered is None else replace(storage, layout=ordered, lanes=lanes)


def _fits(load: ins.Load, tile: tuple[int, ...], known: Divisors) -> bool:
    axes = load.region.axes
    if tuple(a.size for a in axes) != tile:
        return False
    if load.other is not None and constant(load.other) != 0 and any(a.checked for a in axes):
        return False  # the bytes out of bounds are code 0
    return all(a.size == 1 or (a.step == 1 and divisor(a.start, known) % a.size == 0) for a in axes)


def _agree(program: Program, chosen: dict[Kernel, dict[Memory, Storage]]) -> dict[Memory, Storage]:
    """One storage for each of the program's parameters, written back into the kernels' choices.

    A kernel's parameter and a program's one that meet in a call are stored alike: as tiles where all
    choose the same, as unpacked codes where a buffer or a view takes part, else as rows.
    """
    groups = _Groups()
    for view in program.views:
        groups.join(view.memory, view.base)
    for call in program.calls:
        for param, arg in zip(call.kernel.params, call.args, strict=True):
            if isinstance(param, Memory) and isinstance(arg, Memory):
                groups.join(param, arg)
    shared: dict[Memory, Storage] = {}
    for group in groups.all():
        wanted = [choices[m] for choices in chosen.values() for m in group if m in choices]
        if not wanted:
            continue
        settled = wanted[0] if all(w == wanted[0] for w in wanted) else _plainest(group[0])
        if "codes" in wanted or not all(is_open(m) for m in group):
            settled = "codes"
        for choices in chosen.values():
            choices.update({m: settled for m in group if m in choices})
        shared.update({m: settled for m in group if m in program.params})
    return shared


class _Groups:
    """Memories that are one tensor in some call."""

    def __init__(self) -> None:
        self._group: dict[Memory, list[Memory]] = {}

    def join(self, a: Memory, b: Memory) -> None:
        first, second = self._group.setdefault(a, [a]), self._group.setdefault(b, [b])
        if first is second:
            return
        first.extend(second)
        for memory in second:
            self._group[memory] = first

    def all(self) -> list[list[Memory]]:
        return list({id(g): g for g in self._group.values()}.values())
