"""The order in which a CPU stores the weights of a product: that of the registers of its matrix unit.

Before, for `w: u4[K, N]` whose tiles become an operand of smmla:

    %q = load @w[k : +128, n : +128] : u4[128, 128]

After, with a layout of one thread, which the low-bit pass then stores w in:

    %q = load @w[k : +128, n : +128] : u4[128, 128] `...`

A register of the unit holds a block of k x n elements, 16 of 8 bits. Of codes whose width divides 8
the blocks of as many neighbouring columns as a byte has codes lie together: the first block's codes in
the low bits of 16 bytes, the next one's above them. One mask or shift then makes a whole register of
the operand (Blazingly Fast LLM Inference on Arm, section IV D: [n, 2, 16]). Blocks follow each other
along k. Codes of other widths follow each other block by block.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import ClassVar

from dslc.compiler.dtypes import DType, Kind
from dslc.compiler.ir import Kernel, TileProgram, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.rewrite import Substitution, map_kernels
from dslc.compiler.ir.traverse import operands, results, walk
from dslc.compiler.layout import Layout, Mode
from dslc.compiler.passes.weights import packed_freely
from dslc.compiler.targets import Atom, Target

_LANES = 16  # bytes of a register
_ELEMENTWISE = (ins.Cast, ins.Unary, ins.Binary, ins.Fma, ins.Where)


@dataclass(frozen=True, slots=True)
class WeightOrder:
    """Gives loads of weights, packed by the compiler and multiplied as bytes, the layout of a unit."""

    target: Target
    name: ClassVar[str] = "weight-order"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program with the layouts of such loads."""
        return map_kernels(program, self._kernel)

    def _kernel(self, kernel: Kernel) -> Kernel:
        readers: defaultdict[Value, list[Stmt]] = defaultdict(list)
        for stmt in walk(kernel.body):
            for value in operands(stmt):
                readers[value].append(stmt)
        free = packed_freely(kernel)
        changed: dict[Value, Value] = {}
        for stmt in walk(kernel.body):
            if isinstance(stmt, ins.Load) and stmt.region.memory in free:
                out = stmt.out
                if out.type.layout is not None or out.type.rank != 2:
                    continue
                atom = self._atom(out, readers)
                layout = None if atom is None else order(out.type.shape, out.type.dtype, atom)
                if layout is not None:
                    changed[out] = replace(out, type=replace(out.type, layout=layout))
        return _Laid(changed).kernel(kernel) if changed else kernel

    def _atom(self, value: Value, readers: dict[Value, list[Stmt]]) -> Atom | None:
        """The unit that the tile, computed on element by element, is the second operand of."""
        for stmt in readers.get(value, ()):
            if isinstance(stmt, ins.Dot) and stmt.b is value:
                return self._unit(stmt.a.type.dtype, value.type.dtype)
            if isinstance(stmt, _ELEMENTWISE):
                for out in results(stmt):
                    if isinstance(out, Value) and (found := self._atom(out, readers)) is not None:
                        return found
        return None

    def _unit(self, a: DType, b: DType) -> Atom | None:
        """The largest unit of bytes that the machine has, whatever their signs."""
        if max(a.bits, b.bits) > 8 or not (a.is_integer and b.is_integer):
            return None
        units = [x for x in self.target.atoms if x.k > 1 and x.takes("i8", "i8")]
        mixed = (a.kind is Kind.UINT) != (b.kind is Kind.UINT)
        if mixed:
            units = [x for x in units if self.target.atom("usmmla") is not None]
        return max(units, key=lambda x: x.m * x.n * x.k, default=None)


def order(shape: tuple[int, ...], dtype: DType, atom: Atom) -> Layout | None:
    """The order of a tile [k, n] in blocks of the unit's second operand; None if it does not divide."""
    k, n = shape
    depth, columns = atom.k, atom.n
    together = 8 // dtype.bits if 8 % dtype.bits == 0 else 1
    if k % depth or n % (columns * together) or depth * columns != _LANES:
        return None
    modes = (
        Mode(n // (columns * together), 1, columns * together),
        Mode(k // depth, 0, depth),
        Mode(columns, 1, 1),
        Mode(depth, 0, 1),
        Mode(together, 1, columns),
    )
    return Layout((k, n), (), tuple(m for m in modes if m.size > 1))


class _Laid(Substitution):
    def __init__(self, values: dict[Value, Value]) -> None:
        super().__init__(values)

    def define(self, name: object) -> object:  # type: ignore[override]
        """The tile with its layout where it is defined."""
        return self.values.get(name, name) if isinstance(name, Value) else name
