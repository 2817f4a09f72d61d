"""The order in which a CPU stores the weights of a product: that of the registers that multiply bytes.

Before (tests/ir/weight-order/example.tir):

    %q = load @w[k : +32, n : +32] : u4[32, 32]
    %b = cast %q : i8[32, 32]
    %d = dot %a, %b, acc=%acc : i32[16, 32]

After, with a layout of one thread, which the low-bit pass then stores w in:

    %q = load @w[k : +32, n : +32] : u4[32, 32] `...`

A block is 4 of k of 4 columns, 16 elements: what a dot product by lane multiplies. Two blocks that
follow each other along k, zipped by words, are two blocks of 8 of k of 2 columns: what a matrix product
takes. So one order serves every CPU, and packed weights are those of all variants. Of codes whose width
divides 8 the blocks of as many neighbouring columns as a byte has codes lie together: the first block's
codes in the low bits of 16 bytes, the next one's above them. One mask or shift then makes a whole
register of the operand (Blazingly Fast LLM Inference on Arm, section IV D: [n, 2, 16]). Blocks follow
each other along k. Codes of other widths follow each other block by block.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from dslc.compiler.analysis.weights import packed_freely
from dslc.compiler.dtypes import DType
from dslc.compiler.ir import Kernel, TileProgram, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.rewrite import Substitution, map_kernels
from dslc.compiler.ir.traverse import Name, users, walk
from dslc.compiler.layout import Layout, Mode

DEPTH = 4
"""The elements of k of a block."""


@dataclass(frozen=True, slots=True)
class WeightOrder:
    """Gives loads of weights, packed by the compiler and multiplied as bytes, this layout.

    A block has so many `columns`: 4 for Arm's matrix units, 16 for vectors whose lanes are columns, in
    words of 4 of k. With `floats`, weights that are multiplied as floats have it too.
    """

    columns: int = 4
    floats: bool = False
    name: ClassVar[str] = "weight-order"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program with the layouts of such loads."""
        return map_kernels(program, self._kernel)

    def _kernel(self, kernel: Kernel) -> Kernel:
        readers = users(kernel.body)
        free = packed_freely(kernel)
        changed: dict[Value, Value] = {}
        for stmt in walk(kernel.body):
            if isinstance(stmt, ins.Load) and stmt.region.memory in free:
                out = stmt.out
                if out.type.layout is not None or out.type.rank != 2:
                    continue
                if self._is_multiplied(out, readers):
                    layout = order(out.type.shape, out.type.dtype, self.columns)
                    if layout is not None:
                        changed[out] = replace(out, type=replace(out.type, layout=layout))
        return _Laid(changed).kernel(kernel) if changed else kernel

    def _is_multiplied(self, loaded: Value, readers: Mapping[Name, list[Stmt]]) -> bool:
        """Whether a tile, computed on element by element, is the second operand of such a product."""
        open_, seen = [loaded], {loaded}
        while open_:
            value = open_.pop()
            for stmt in readers.get(value, ()):
                if isinstance(stmt, ins.Dot) and stmt.b is value:
                    types = (stmt.a.type.dtype, value.type.dtype)
                    if all(x.is_integer and x.bits <= 8 for x in types):
                        return True
                    if self.floats and all(x.is_float and x.bits <= 32 for x in types):
                        return True
                elif isinstance(stmt, ins.ELEMENTWISE) and stmt.out not in seen:
                    seen.add(stmt.out)
                    open_.append(stmt.out)
        return False


def order(shape: tuple[int, ...], dtype: DType, columns: int = 4) -> Layout | None:
    """The order of a tile [k, n] in blocks of 4 of k of so many columns; None if it does not divide."""
    k, n = shape
    shared = 8 // dtype.bits if 8 % dtype.bits == 0 else 1
    if n % (columns * shared) and columns > DEPTH:
        shared = 1  # narrow tiles: the codes of a block follow each other
    if k % (2 * DEPTH) or n % (columns * shared):
        return None
    across = Mode(n // (columns * shared), 1, columns * shared)
    along = Mode(k // DEPTH, 0, DEPTH)
    modes = (
        # A register tile of words goes over all columns: one stream of memory.
        *((across, along) if columns == DEPTH else (along, across)),
        Mode(columns, 1, 1),
        Mode(DEPTH, 0, 1),
        Mode(shared, 1, columns),
    )
    return Layout((k, n), (), tuple(m for m in modes if m.size > 1))


def is_in_fours(layout: Layout, columns: int = 4) -> bool:
    """Whether a tile is in such an order."""
    modes = layout.local_modes
    if together(layout, columns) > 1:
        modes = modes[:-1]
    if len(modes) < 2 or modes[-1] != Mode(DEPTH, 0, 1):
        return False
    # Blocks that follow each other along a row are one mode with the columns in them.
    across = modes[-2]
    return (across.axis, across.stride, across.size % columns) == (1, 1, 0)


def together(layout: Layout, columns: int) -> int:
    """How many neighbouring columns, `columns` apart, have their codes in one byte."""
    modes = layout.local_modes
    if modes and (modes[-1].axis, modes[-1].stride) == (1, columns):
        return modes[-1].size
    return 1


class _Laid(Substitution):
    def __init__(self, values: dict[Value, Value]) -> None:
        super().__init__(values)

    def define(self, name: object) -> object:  # type: ignore[override]
        """The tile with its layout where it is defined."""
        return self.values.get(name, name) if isinstance(name, Value) else name
