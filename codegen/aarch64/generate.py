"""A kernel after the passes as one function of AArch64 assembly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dslc.codegen.aarch64 import control, statements
from dslc.codegen.aarch64.chunks import elementwise, indirect, reductions, shapes, views
from dslc.codegen.aarch64.chunks.formats import UNSIGNED, stored
from dslc.codegen.aarch64.emission import Emission
from dslc.codegen.aarch64.machine_code.allocation import allocate, remove_dead
from dslc.codegen.aarch64.machine_code.blocks import Effect, File, Inst, Reg, flatten
from dslc.codegen.aarch64.machine_code.scheduling import scheduled
from dslc.codegen.aarch64.machine_code.stream import GLOBAL, INPUTS
from dslc.codegen.aarch64.machine_code.text import function_text
from dslc.codegen.aarch64.memory import accesses
from dslc.codegen.aarch64.memory.copies import in_place
from dslc.codegen.aarch64.places import Array
from dslc.codegen.aarch64.products import emit_products
from dslc.codegen.aarch64.products.driving import plan
from dslc.codegen.aarch64.refusals import without_code
from dslc.codegen.chunks.planning import LAZY, kept
from dslc.codegen.quoting import ascii_name, comment_lines
from dslc.compiler.analysis.axis_extents import extents
from dslc.compiler.dtypes import INDEX
from dslc.compiler.ir import GridAxis, Kernel, Memory, Role, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import Linear, linear, simplify
from dslc.compiler.targets import Target

PULLS: dict[type, Any] = {**elementwise.PULLS, **shapes.PULLS, **accesses.PULLS, **views.PULLS}
STATEMENTS: dict[type, Any] = {
    **statements.STATEMENTS,
    **reductions.STATEMENTS,
    **control.STATEMENTS,
    **indirect.STATEMENTS,
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


@dataclass(frozen=True, slots=True)
class Function:
    """A function's text, the scratch memory that a call needs, the texts of its asserts."""

    symbol: str
    text: str
    scratch: int
    asserts: tuple[str, ...]


def variant_of(target: Target) -> str:
    """The feature set that a target stands for."""
    return target.name.partition(":")[2]


def emit(kernel: Kernel, target: Target) -> Function:
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
    return Function(symbol, text, e.scratch_bytes, tuple(e.asserts))


def _grid(kernel: Kernel) -> str:
    return ", ".join(a.var.name for a in kernel.grid) or "one"


class Kernels(Emission):
    """One kernel: its arguments, its turns, its statements."""

    def __init__(self, kernel: Kernel, features: frozenset[str]) -> None:
        super().__init__(kernel, features, PULLS)
        self.kept = kept(kernel)
        self.plan = plan(kernel, features, self.kept)
        self.extents = extents(kernel)

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
        strides: list[Linear] = []
        if memory.strides is not None:
            strides = [linear(x) for x in memory.strides]
        else:
            step = Linear(constant=1)
            for extent in reversed(memory.shape):
                strides.insert(0, step)
                step = step * linear(extent)
        compact = memory.packed == "row" and memory.dtype.is_low_bit
        form = UNSIGNED[8] if compact else stored(memory.dtype)
        alias = INPUTS if memory.role is Role.IN else GLOBAL
        self.memories[memory] = Array(
            base, 0, form, memory.shape, tuple(strides), alias, compact=compact
        )

    def _turn(self, turn: Reg) -> None:
        """The variables of the grid from the number of the turn, the last axis fastest."""
        number: ex.Expr = self.fresh("turn")
        assert isinstance(number, ex.Var)
        self.bind(number, turn)
        self.natural.add(number)
        for k, axis in reversed(list(enumerate(self.kernel.grid))):
            count = _count(axis)
            digit = number if k == 0 else ex.Binary("mod", number, count, INDEX)
            scaled = ex.Binary("mul", digit, axis.step, INDEX)
            value = ex.Binary("add", axis.start, scaled, INDEX)
            self.bind(axis.var, self.s.copy(self.integer(value)))
            if self.is_natural(linear(axis.start)):
                self.natural.add(axis.var)
            number = ex.Binary("floordiv", number, count, INDEX)


def _count(axis: GridAxis) -> ex.Expr:
    distance = ex.Binary("sub", axis.stop, axis.start, INDEX)
    last = ex.Binary("sub", axis.step, ex.index(1), INDEX)
    total = ex.Binary("add", distance, last, INDEX)
    return simplify(ex.Binary("floordiv", total, axis.step, INDEX))
