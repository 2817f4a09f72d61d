"""Legal Vector IR as the text of an LLVM module.

Blocks are written in the order of the program. What loops carry are phi nodes, and a loop's test stands
at its end: a body that runs at least once needs no branch before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from dslc.codegen.cpu.llvm.accesses import emit_access
from dslc.codegen.cpu.llvm.registers import REGISTER_EMITTERS
from dslc.codegen.cpu.llvm.types import type_text
from dslc.codegen.cpu.llvm.writing import FunctionText, ModuleText
from dslc.compiler.vector.function import (
    Block,
    Call,
    For,
    Function,
    If,
    Module,
    Return,
    Stmt,
    While,
)
from dslc.compiler.vector.types import PointerType
from dslc.compiler.vector.values import Constant, Operand, Register

# What code with floats refers to there, and a C library has; nothing reads it.
_WINDOWS = "@_fltused = weak_odr constant i32 0\n"
METADATA = '!0 = !{i32 1}\n!1 = !{!"branch_weights", i32 1, i32 2000}\n'
_WIDE = '"prefer-vector-width"="512" "min-legal-vector-width"="512"'


def print_llvm(module: Module, triple: str, tune: str) -> str:
    """The module for machines of that triple, in the order that suits the processor `tune`."""
    shared = ModuleText(triple.startswith("x86_64"))
    functions = [_FunctionPrinter(f, shared).text() for f in module.functions]
    wide = f" {_WIDE}" if shared.is_x86 else ""
    attributes = f'attributes #0 = {{ nounwind "no-stack-arg-probe" "tune-cpu"="{tune}"{wide} }}\n'
    marks = _WINDOWS if "windows" in triple else ""
    head = f'target triple = "{triple}"\n{marks}{shared.text()}'
    debug = shared.debug.text() if shared.debug else ""
    return "\n".join([head, *functions, attributes + METADATA + debug])


class _FunctionPrinter:
    """Prints one function."""

    def __init__(self, function: Function, module: ModuleText) -> None:
        self.function = function
        self.f = FunctionText(module, function.name)

    def text(self) -> str:
        f, params = self.f, []
        for number, parameter in enumerate(self.function.params):
            f.names[parameter.register] = name = f"%a{number}"
            type_ = parameter.register.type
            flags = ""
            if isinstance(type_, PointerType):
                flags = " noalias" * parameter.noalias + f" align {parameter.align}"
            params.append(f"{type_text(type_)}{flags} {name}")
        self.body(self.function.body)
        if not f.ended:
            f.end("ret i32 0")
        linkage = "" if self.function.exported else "internal "
        debug = f" {f.debug.of_function}" if f.debug else ""
        head = f'define {linkage}i32 @"{self.function.name}"({", ".join(params)}) #0{debug} {{'
        return "\n".join([head, "entry:", *f.entry, *f.lines, "}", ""])

    def body(self, stmts: Iterable[Stmt]) -> None:
        for stmt in stmts:
            self.statement(stmt)

    def statement(self, stmt: Any) -> None:
        f = self.f
        if f.debug:
            f.debug.at(stmt.loc)
        match stmt:
            case For():
                self.for_(stmt)
            case While():
                self.while_(stmt)
            case If():
                self.if_(stmt)
            case Return():
                f.end(f"ret {f.typed(stmt.status)}")
            case Call():
                arguments = ", ".join(map(f.typed, stmt.args))
                f.names[stmt.out] = f.emit(f'call i32 @"{stmt.function}"({arguments})')
            case _ if type(stmt) in REGISTER_EMITTERS:
                f.names[stmt.out] = REGISTER_EMITTERS[type(stmt)](f, stmt)
            case _:
                found = emit_access(f, stmt)
                if found is not None:
                    f.names[stmt.out] = found

    def block(self, block: Block) -> list[str]:
        """What the block yields, by names."""
        self.body(block.body)
        return [self.f.value(x) for x in block.yields]

    def phis(
        self, registers: Sequence[Register], edges: Sequence[tuple[Sequence[str], str]]
    ) -> None:
        """A phi node for each register: its values by the blocks that they come from."""
        for number, register in enumerate(registers):
            pairs = ", ".join(f"[ {values[number]}, %{label} ]" for values, label in edges)
            name = self.f.names.setdefault(register, self.f.fresh())
            self.f.run(f"{name} = phi {type_text(register.type)} {pairs}")

    def phis_later(self, registers: Sequence[Register]) -> int:
        """Room for the phi nodes of a loop, whose second edge is known at its end."""
        for register in registers:
            self.f.names[register] = self.f.fresh()
            self.f.lines.append("")
        return len(self.f.lines) - len(registers)

    def fill(
        self,
        place: int,
        registers: Sequence[Register],
        edges: Sequence[tuple[Sequence[str], str]],
    ) -> None:
        """Write the phi nodes for which `phis_later` left room."""
        for number, register in enumerate(registers):
            pairs = ", ".join(f"[ {values[number]}, %{label} ]" for values, label in edges)
            name = self.f.names[register]
            self.f.lines[place + number] = f"  {name} = phi {type_text(register.type)} {pairs}"

    def for_(self, stmt: For) -> None:
        f = self.f
        starts, before = [f.value(x) for x in stmt.starts], f.label
        begin, end = f.value(stmt.begin), f.value(stmt.end)
        body, after = f.fresh_label("body"), f.fresh_label("after")
        goes = "slt" if stmt.step > 0 else "sgt"
        runs = _runs(stmt.begin, stmt.end, stmt.step)
        if runs:
            f.end(f"br label %{body}")
        else:
            enter = f.emit(f"icmp {goes} i64 {begin}, {end}")
            f.end(f"br i1 {enter}, label %{body}, label %{after}")
        f.begin(body)
        registers = (stmt.var, *stmt.carried)
        place = self.phis_later(registers)
        yields = self.block(stmt.block)
        edges = [([begin, *starts], before)]
        exits = [] if runs else [(starts, before)]
        if not f.ended:
            following = f.emit(f"add i64 {f.names[stmt.var]}, {stmt.step}")
            again = f.emit(f"icmp {goes} i64 {following}, {end}")
            edges.append(([following, *yields], f.label))
            exits.append((yields, f.label))
            f.end(f"br i1 {again}, label %{body}, label %{after}")
        self.fill(place, registers, edges)
        f.begin(after)
        self.joined(stmt.outs, exits)

    def joined(self, outs: Sequence[Register], edges: Sequence[tuple[Sequence[str], str]]) -> None:
        """What blocks hand on; where none comes here the rest of the function is never reached."""
        if edges:
            self.phis(outs, edges)
            return
        for register in outs:
            self.f.names[register] = "poison"

    def while_(self, stmt: While) -> None:
        f = self.f
        starts, before = [f.value(x) for x in stmt.starts], f.label
        test, body, after = (f.fresh_label(word) for word in ("test", "body", "after"))
        f.end(f"br label %{test}")
        f.begin(test)
        place = self.phis_later(stmt.carried)
        (going,) = self.block(stmt.test)
        f.end(f"br i1 {going}, label %{body}, label %{after}")
        f.begin(body)
        yields = self.block(stmt.block)
        edges = [(starts, before)]
        if not f.ended:
            edges.append((yields, f.label))
            f.end(f"br label %{test}")
        self.fill(place, stmt.carried, edges)
        f.begin(after)
        for out, carried in zip(stmt.outs, stmt.carried, strict=True):
            f.names[out] = f.names[carried]

    def if_(self, stmt: If) -> None:
        f = self.f
        then, otherwise, after = (f.fresh_label(word) for word in ("then", "else", "after"))
        hint = ", !prof !1" if stmt.rare else ""
        f.end(f"br {f.typed(stmt.condition)}, label %{then}, label %{otherwise}{hint}")
        edges: list[tuple[Sequence[str], str]] = []
        for label, block in ((then, stmt.then), (otherwise, stmt.otherwise)):
            f.begin(label)
            yields = self.block(block)
            if not f.ended:
                edges.append((yields, f.label))
                f.end(f"br label %{after}")
        f.begin(after)
        self.joined(stmt.outs, edges)


def _runs(begin: Operand, end: Operand, step: int) -> bool:
    """Whether a loop is known to have an iteration."""
    if not (isinstance(begin, Constant) and isinstance(end, Constant)):
        return False
    return len(range(int(begin.values[0]), int(end.values[0]), step)) > 0
