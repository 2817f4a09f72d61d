"""Programs for threads become programs for a core that has none.

Before (tests/ir/unthread/example.tir), a thread's 3 bytes are 4 weights of 6 bits:

    %raw = load @b[0 : +96!] : u8[96] `local(3).spatial(32)`
    %w = view %raw : i6[16, 8] `local(2, 1).column_spatial(4, 8).local(2, 1)`

After, the bytes lie thread by thread, are cut by shifts, and take their places:

    %raw = load @b[0 : +96!] : u8[96]
    %w = reshape %raw : u8[3, 32]
    %w_1 = transpose %w, axes=(1, 0) : u8[32, 3]
    ...
    %w_9 = shr %w_7, %w_8 : u32[32, 1]
    %w_12 = shl %w_10, %w_11 : u32[32, 1]
    %w_13 = or %w_9, %w_12 : u32[32, 1]
    %w_15 = and %w_13, %w_14 : u32[32, 1]
    ...
    %w_41 = cast %w_40 : i6[32, 4]
    ...
    %w_44 = reshape %w_43 : i6[16, 8]

Layouts of tiles and memories go: they tell where elements are, not what they are. Asynchronous copies
become loads and stores, which one core makes in order, and nothing is left to wait for.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

from dslc.compiler.ir import Kernel, Memory, TileProgram, TileType, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.rewrite import Rewriter, map_kernels
from dslc.compiler.ir.traverse import Name, inner_names, results, walk
from dslc.compiler.passes.layouts.thread_views import view_by_shifts

_THREADED = (
    ins.View,
    ins.CopyAsync,
    ins.CommitGroup,
    ins.WaitGroup,
    ins.Sync,
    ins.MemoryBarrier,
    ins.ConvertLayout,
    ins.Alloc,
)


@dataclass(frozen=True, slots=True)
class Unthread:
    """Takes threads out of a program; DSL0540 for a view that has no meaning without them.

    `floats` says that the machine takes the bits of a float for an integer's.
    """

    floats: bool = False
    name: ClassVar[str] = "unthread"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program without layouts over threads."""
        return map_kernels(program, self._kernel)

    def _kernel(self, kernel: Kernel) -> Kernel:
        threaded = any(isinstance(s, _THREADED) or _is_laid(s) for s in walk(kernel.body))
        if not threaded and kernel.threads is None:
            return kernel
        return replace(_Unthreader(self.floats).kernel(kernel), threads=None)


def _is_laid(stmt: Stmt) -> bool:
    """Whether a statement, or a name that it hands to its bodies, is a tile with a layout."""
    names = (*results(stmt), *inner_names(stmt))
    return any(isinstance(n, Value) and n.type.layout is not None for n in names)


class _Unthreader(Rewriter):
    def __init__(self, floats: bool) -> None:
        super().__init__()
        self._floats = floats
        self._tiles: dict[Value, Value] = {}

    def value(self, value: Value) -> Value:
        """The tile without its layout."""
        return self._tiles.get(value, value)

    def define(self, name: Name) -> Name:
        """A tile is made without a layout."""
        if not isinstance(name, Value) or name.type.layout is None:
            return name
        self._tiles[name] = Value(replace(name.type, layout=None), name.name)
        return self._tiles[name]

    def memory(self, memory: Memory) -> Memory:
        """On-chip memory in row-major order."""
        rewritten = super().memory(memory)
        if rewritten.layout is not None:
            rewritten = self._memories[memory] = replace(rewritten, layout=None)
        return rewritten

    def statement(self, stmt: Stmt) -> Iterable[Stmt]:
        """Views by shifts, copies at once, no waiting."""
        match stmt:
            case ins.View():
                x, out = self.value(stmt.x), self.define(stmt.out)
                assert isinstance(out, Value)
                return view_by_shifts(stmt, x, out, floats=self._floats)
            case ins.ConvertLayout():
                self._tiles[stmt.out] = self.value(stmt.x)
                return ()
            case ins.CommitGroup() | ins.WaitGroup() | ins.Sync() | ins.MemoryBarrier():
                return ()
            case ins.CopyAsync(dst=dst, src=src, loc=loc):
                if stmt.barrier is not None:
                    return super().statement(stmt)
                tile = Value(TileType(src.memory.dtype, src.shape), "copied")
                load = ins.Load(tile, self.region(src), loc=loc)
                return [load, ins.Store(self.region(dst), tile, loc=loc)]
        return super().statement(stmt)
