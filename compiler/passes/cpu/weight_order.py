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

_BLOCK = 4  # of k, and columns


@dataclass(frozen=True, slots=True)
class WeightOrder:
    """Gives loads of weights, packed by the compiler and multiplied as bytes, this layout."""

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
                if _is_multiplied(out, readers):
                    layout = order(out.type.shape, out.type.dtype)
                    if layout is not None:
                        changed[out] = replace(out, type=replace(out.type, layout=layout))
        return _Laid(changed).kernel(kernel) if changed else kernel


def _is_multiplied(loaded: Value, readers: Mapping[Name, list[Stmt]]) -> bool:
    """Whether a tile, computed on element by element, is the second operand of a product of bytes."""
    open_, seen = [loaded], {loaded}
    while open_:
        value = open_.pop()
        for stmt in readers.get(value, ()):
            if isinstance(stmt, ins.Dot) and stmt.b is value:
                types = (stmt.a.type.dtype, value.type.dtype)
                if all(x.is_integer and x.bits <= 8 for x in types):
                    return True
            elif isinstance(stmt, ins.ELEMENTWISE) and stmt.out not in seen:
                seen.add(stmt.out)
                open_.append(stmt.out)
    return False


def order(shape: tuple[int, ...], dtype: DType) -> Layout | None:
    """The order of a tile [k, n] in blocks of 4 of k of 4 columns; None if it does not divide."""
    k, n = shape
    together = 8 // dtype.bits if 8 % dtype.bits == 0 else 1
    if k % (2 * _BLOCK) or n % (_BLOCK * together):
        return None
    modes = (
        Mode(n // (_BLOCK * together), 1, _BLOCK * together),
        Mode(k // _BLOCK, 0, _BLOCK),
        Mode(_BLOCK, 1, 1),
        Mode(_BLOCK, 0, 1),
        Mode(together, 1, _BLOCK),
    )
    return Layout((k, n), (), tuple(m for m in modes if m.size > 1))


def is_in_fours(layout: Layout) -> bool:
    """Whether a tile is in such an order."""
    modes = layout.local_modes
    if modes and modes[-1].axis == 1 and modes[-1].stride == _BLOCK:
        modes = modes[:-1]
    return modes[-2:] == (Mode(_BLOCK, 1, 1), Mode(_BLOCK, 0, 1))


class _Laid(Substitution):
    def __init__(self, values: dict[Value, Value]) -> None:
        super().__init__(values)

    def define(self, name: object) -> object:  # type: ignore[override]
        """The tile with its layout where it is defined."""
        return self.values.get(name, name) if isinstance(name, Value) else name
