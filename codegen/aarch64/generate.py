"""A kernel after the passes as one function of AArch64 assembly."""

from __future__ import annotations

from typing import Any

from dslc.codegen.aarch64 import control, statements
from dslc.codegen.aarch64.chunks import constants, elementwise, indirect, reductions, views
from dslc.codegen.aarch64.chunks.formats import UNSIGNED, stored
from dslc.codegen.aarch64.emission import Emission
from dslc.codegen.aarch64.machine_code.allocation import allocate, remove_dead
from dslc.codegen.aarch64.machine_code.blocks import Effect, File, Inst, Reg, flatten
from dslc.codegen.aarch64.machine_code.scheduling import scheduled
from dslc.codegen.aarch64.machine_code.stream import GLOBAL, INPUTS
from dslc.codegen.aarch64.machine_code.text import function_text
from dslc.codegen.aarch64.memory import accesses, atomics
from dslc.codegen.aarch64.memory.copies import in_place
from dslc.codegen.aarch64.places import Array
from dslc.codegen.aarch64.products import emit_products
from dslc.codegen.aarch64.refusals import without_code
from dslc.codegen.calls import Code
from dslc.codegen.chunks import shapes
from dslc.codegen.chunks.grid import turn_variables
from dslc.codegen.chunks.planning import LAZY
from dslc.codegen.chunks.regions import strides_of
from dslc.codegen.emitters import table
from dslc.codegen.quoting import ascii_name, comment_lines
from dslc.compiler.ir import Kernel, Memory, Role, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import linear
from dslc.compiler.targets import Target

PULLS: dict[type, Any] = table(
    elementwise.PULLS, constants.PULLS, shapes.PULLS, accesses.PULLS, views.PULLS
)
STATEMENTS: dict[type, Any] = {
    **statements.STATEMENTS,
    **reductions.STATEMENTS,
    **control.STATEMENTS,
    **indirect.STATEMENTS,
    **atomics.STATEMENTS,
    **emit_products.STATEMENTS,
}
FEATURES = {
    "base": frozenset[str](),
    "dotprod": frozenset({"fp16", "dotprod"}),
    "i8mm": frozenset({"fp16", "dotprod", "i8mm"}),
    "bf16": frozenset({"fp16", "dotprod", "i8mm", "bf16"}),
}
_ARCHITECTURES = {
    "base": "armv8-a",
    "dotprod": "armv8.2-a+fp16+dotprod",
    "i8mm": "armv8.2-a+fp16+dotprod+i8mm",
    "bf16": "armv8.2-a+fp16+dotprod+i8mm+bf16",
}


def variant_of(target: Target) -> str:
    """The feature set that a target stands for."""
    return target.name.partition(":")[2]


def emit(kernel: Kernel, target: Target) -> Code:
    """The function of a kernel. DSL0590 for what has no code."""
    variant = variant_of(target)
    e = Kernels(kernel, FEATURES[variant])
    e.whole()
    symbol = f"{ascii_name(kernel.name)}__{variant}"
    lines, numbers = allocate(scheduled(in_place(remove_dead(flatten(e.s.code)))), e.s)
    text = function_text(symbol, lines, numbers, e.s.frame_bytes, e.s.constants, e.exit)
    text = text.replace(".L", f".L{symbol}_")
    head = f"// {kernel.name}: turns [begin, end) of {_grid(kernel)}\n"
    head += comment_lines(kernel.doc or "")
    text = f"\t.arch {_ARCHITECTURES[variant]}\n\t.text\n{head}{text}"
    return Code(symbol, text, e.scratch_bytes, tuple(e.asserts))


def _grid(kernel: Kernel) -> str:
    return ", ".join(a.var.name for a in kernel.grid) or "one"


class Kernels(Emission):
    """One kernel: its arguments, its turns, its statements."""

    def __init__(self, kernel: Kernel, features: frozenset[str]) -> None:
        super().__init__(kernel, features, PULLS)

    def whole(self) -> None:
        """The function from its arguments to its result."""
        s = self.s
        args, begin, end, scratch = (Reg(File.X, n) for n in range(4))
        arguments, turn, stop = s.copy(args), s.copy(begin), s.copy(end)
        s.move(self.scratch, scratch)
        self._arguments(arguments)
        done, head = s.label("done"), s.label("turn")
        s.branch("cmp {0}, {1}\n\tb.ge @", done, turn, stop)
        with s.loop_scope() as (_, latch):
            s.put(head)
            self.fixed_scopes.add(s.scope)
            self._turn(turn)
            self.body(self.kernel.body)
            body, s.block = s.block, latch
            s.into("add {0}, {1}, #1", turn, turn)
            s.branch("cmp {0}, {1}\n\tb.lt @", head, turn, stop)
            s.block = body
        s.put(done)
        s.put(Inst("mov w0, #0"))

    def body(self, body: tuple[ins.Stmt, ...]) -> None:
        """Statements one after another."""
        for stmt in body:
            handler = STATEMENTS.get(type(stmt))
            if handler is not None:
                handler(self, stmt)
            elif isinstance(stmt, (*LAZY, ins.View)):
                self.define(stmt.out, stmt)
                if stmt.out in self.kept:
                    self.settle(stmt.out, statements.keep(self, stmt.out))
            else:
                raise without_code(stmt)

    def drive(self, product: ins.Dot, value: Value, array: Array) -> None:
        """A product that is finished in registers."""
        emit_products.drive(self, product, value, array)

    def _arguments(self, words: Reg) -> None:
        at = 0
        for param in (*self.kernel.params, *self.kernel.dims, *self.kernel.workspaces):
            if isinstance(param, Memory):
                self._tensor(param, self._word(words, at))
            elif param.dtype.is_float:
                text = (
                    "ldr {0:d}, [{1}, #%d]" if param.dtype.bits == 64 else "ldr {0:s}, [{1}, #%d]"
                )
                raw = self.s.load(text % at, words, alias="arguments")
                lanes = "2d, {1}.d[0]" if param.dtype.bits == 64 else "4s, {1}.s[0]"
                self.bind(param, self.s.v(f"dup {{0}}.{lanes}", raw))
            else:
                self.bind(param, self._word(words, at))
            at += 8

    def _word(self, words: Reg, at: int) -> Reg:
        out = self.s.general()
        inst = Inst(
            f"ldr {{0}}, [{{1}}, #{at}]", (out, words), 1, effect=Effect.LOAD, alias="arguments"
        )
        self.s.put(inst)
        return out

    def _tensor(self, memory: Memory, base: Reg) -> None:
        compact = memory.packed == "row" and memory.dtype.is_low_bit
        form = UNSIGNED[8] if compact else stored(memory.dtype)
        alias = INPUTS if memory.role is Role.IN else GLOBAL
        self.memories[memory] = Array(
            base, 0, form, memory.shape, strides_of(memory), alias, compact=compact
        )

    def _turn(self, turn: Reg) -> None:
        """The variables of the grid from the number of the turn, the last axis fastest."""
        number = self.fresh("turn")
        self.bind(number, turn)
        self.natural.add(number)
        for axis, value in turn_variables(self.kernel.grid, number):
            self.bind(axis.var, self.s.copy(self.integer(value)))
            if self.is_natural(linear(axis.start)):
                self.natural.add(axis.var)
