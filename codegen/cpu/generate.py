"""A kernel after the passes as one function of Vector IR.

    int32_t f(const int64_t *words, int64_t begin, int64_t end, void *scratch)

runs the turns from begin up to end; `words` are the arguments. It gives 0, or the number of the assert
that does not hold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dslc.codegen.chunks import shapes
from dslc.codegen.chunks.at import At
from dslc.codegen.chunks.grid import turn_variables
from dslc.codegen.chunks.regions import strides_of
from dslc.codegen.cpu import (
    accesses,
    atomics,
    bits,
    control,
    elementwise,
    indirect,
    reductions,
    scalars,
    statements,
    streaming,
    transfer,
)
from dslc.codegen.cpu.emission import Emission
from dslc.codegen.cpu.places import Array
from dslc.codegen.cpu.products import emit_products, shared_panels
from dslc.codegen.cpu.refusals import without_code
from dslc.codegen.emitters import table
from dslc.compiler.dtypes import F32, F64, INDEX
from dslc.compiler.ir import Kernel, Memory, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import linear
from dslc.compiler.ir.traverse import tile_of
from dslc.compiler.targets.cpu import Processor
from dslc.compiler.vector.function import Function
from dslc.compiler.vector.memory_instructions import Fence
from dslc.compiler.vector.types import POINTER, VectorType
from dslc.compiler.vector.values import Operand

PULLS: dict[type, Any] = table(elementwise.PULLS, shapes.PULLS, accesses.PULLS, bits.PULLS)
STATEMENTS: dict[type, Any] = table(
    statements.STATEMENTS,
    reductions.STATEMENTS,
    control.STATEMENTS,
    indirect.STATEMENTS,
    atomics.STATEMENTS,
    emit_products.STATEMENTS,
)


@dataclass(frozen=True, slots=True)
class Generated:
    """A function, the scratch memory that a call needs, the texts of its asserts."""

    function: Function
    scratch: int
    asserts: tuple[str, ...]


def generate(kernel: Kernel, machine: Processor, symbol: str) -> Generated:
    """The function of a kernel. DSL0590 for what has no code."""
    e = Kernels(kernel, machine, symbol)
    e.whole()
    return Generated(e.b.function(), e.scratch_bytes, tuple(e.asserts))


class Kernels(Emission):
    """One kernel: its arguments, its turns, its statements."""

    def __init__(self, kernel: Kernel, machine: Processor, symbol: str) -> None:
        super().__init__(kernel, machine, PULLS, symbol)
        self.written_once = streaming.written_once(kernel)

    def whole(self) -> None:
        """The function from its arguments to its result."""
        b = self.b
        words = b.pointer("words", align=8)
        begin, end = b.scalar("begin", INDEX), b.scalar("end", INDEX)
        self.scratch = b.pointer("scratch", align=64, noalias=True)
        self._arguments(words)
        kind = shared_panels.shared(self)
        if kind is not None:
            shared_panels.turns(self, kind, begin, end)
        else:
            with b.loop(begin, end, name="turn") as loop, self.scope():
                self._turn(loop.var)
                self.body(self.kernel.body)
        if self.streams:
            b.append(Fence())

    def body(self, body: tuple[ins.Stmt, ...]) -> None:
        """Statements one after another."""
        left = list(body)
        while left:
            stmt = left.pop(0)
            handler = STATEMENTS.get(type(stmt))
            if handler is None:
                raise without_code(stmt)
            self.b.loc = stmt.loc
            out = tile_of(stmt)
            if out in self.kept and left and reductions.is_fused(left[0], out):
                self.define(out, stmt)
                fused = left.pop(0)
                assert isinstance(fused, ins.Reduce)
                reductions.reduce(self, fused, statements.scratch_for(self, out))
            else:
                handler(self, stmt)

    def scalar(self, expr: ex.Expr) -> Operand:
        """A scalar expression in a register of its dtype."""
        return scalars.scalar(self, expr)

    def load_lanes(self, array: Array, at: At) -> Operand:
        """A chunk from memory."""
        return transfer.load_lanes(self, array, at)

    def drive(self, i: ins.Dot, value: Value, array: Array) -> None:
        """The tile `value`, made of a product element by element, to memory."""
        emit_products.drive(self, i, value, array)

    def _arguments(self, words: Operand) -> None:
        at = 0
        for param in (*self.kernel.params, *self.kernel.dims, *self.kernel.workspaces):
            if isinstance(param, Memory):
                self._tensor(param, self.b.load(words, at, POINTER, align=8, name=param.name))
                address = self.fresh("address")
                self.bind(address, self.b.load(words, at, VectorType(INDEX), align=8))
                self.addresses[param] = address
            else:
                dtype = F32 if param.dtype.is_float and param.dtype != F64 else param.dtype
                raw = self.b.load(words, at, VectorType(dtype), align=8, name=param.name)
                self.bind(param, self.b.convert(raw, param.dtype))
            at += 8
        self.natural.update(self.kernel.dims)

    def _tensor(self, memory: Memory, pointer: Operand) -> None:
        compact = memory.packed == "row" and memory.dtype.is_low_bit
        self.memories[memory] = Array(
            pointer, 0, memory.dtype, memory.shape, strides_of(memory), compact=compact
        )

    def _turn(self, turn: Operand) -> None:
        """The variables of the grid from the number of the turn."""
        number = self.fresh("turn")
        self.bind(number, turn)
        self.natural.add(number)
        for axis, value in turn_variables(self.kernel.grid, number):
            self.bind(axis.var, self.scalar(value))
            if self.is_natural(linear(axis.start)):
                self.natural.add(axis.var)
