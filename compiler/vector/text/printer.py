"""The text form of Vector IR, which `dslc.compiler.vector.text.parser` reads back.

    function scale(%x: ptr align 64, %y: ptr noalias, %n: index) {
      for %i in range(0, %n, 64) unroll 2 {
        %row = load %x[%i], align=64 : f32x16
        %twice = mul %row, f32x16(2.0) : f32x16
        store %y[%i], %twice
      }
    }

The grammar, where NAME is a letter and then letters, digits, `_` and `.`; `x,*` is a list with commas,
`x?` may be left out, and a line ends a statement:

    text      = function*
    function  = "local"? "function" NAME "(" (register ":" TYPE ("align" INT)? "noalias"?),* ")" block
    stmt      = (register "=")? WORD argument,* (":" TYPE)? at? | for | while | if
    argument  = NAME | address | operand | NAME "=" (operand | INT | NAME | "(" INT,* ")")
    address   = register "[" operand "]"
    operand   = register | INT | TYPE "(" number,* ")"
    for       = outs "for" register "in" range ("unroll" INT)? carry? block at?
    range     = "range" "(" operand "," operand "," INT ")"
    while     = outs "while" carry? block "do" block at?
    if        = outs "if" operand "rare"? block ("else" block)? at?
    outs      = ((register ":" TYPE),* "=")?
    carry     = "carry" "(" (register ":" TYPE "=" operand),* ")"
    block     = "{" stmt* ("yield" operand,*)? "}"
    at        = "at" STRING ":" INT ":" INT

A bare number is a constant of dtype index. `f32x16(2.0)` is one number in all lanes, `i32x2(0, 1)` one
a lane; numbers are Python's, with `inf`, `nan`, `True` and `False`. The arguments of an instruction are
its operands in the order of its class, its operation or its name first where it has one; what may be
left out is named. A block that yields ends with `yield`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import MISSING, fields
from typing import Any

from dslc.compiler.diagnostics import Loc
from dslc.compiler.dtypes import Kind
from dslc.compiler.vector.function import Block, For, Function, If, Module, Stmt, While
from dslc.compiler.vector.text.words import NAMED_BY_OP, mnemonic
from dslc.compiler.vector.traverse import shape
from dslc.compiler.vector.values import Constant, Operand, Register


def print_module(module: Module, *, locations: bool = False) -> str:
    """The text of all functions. Ends with a newline."""
    return "\n".join(print_function(f, locations=locations) for f in module.functions)


def print_function(function: Function, *, locations: bool = False) -> str:
    """The text of a function. Ends with a newline."""
    return "\n".join([*_Printer(locations).function(function), ""])


def print_statement(stmt: Stmt) -> str:
    """A statement by itself, for messages: one line, nested blocks left out."""
    return next(iter(_Printer(False).statement(stmt, ""))).removesuffix(" {")


def print_constant(constant: Constant) -> str:
    """`f32x16(2.0)`; an index by itself is a bare number."""
    if constant.type.lanes is None and constant.type.dtype.kind is Kind.INDEX:
        return str(constant.values[0])
    return f"{constant.type}({', '.join(map(repr, constant.values))})"


class _Printer:
    """Text of one function; registers are named as they come."""

    def __init__(self, locations: bool) -> None:
        self.locations = locations
        self.names: dict[Register, str] = {}
        self.taken: set[str] = set()
        self.counts: dict[str, int] = {}

    def name(self, register: Register) -> str:
        """`%x`, `%x.1` where another register is called x, numbers for those without a name."""
        if register not in self.names:
            hint = register.name
            name = hint
            while not name or name in self.taken:
                count = self.counts[hint] = self.counts.get(hint, -1) + 1
                name = f"{hint}.{count}" if hint else f"v{count}"
            self.taken.add(name)
            self.names[register] = f"%{name}"
        return self.names[register]

    def operand(self, x: Operand) -> str:
        return self.name(x) if isinstance(x, Register) else print_constant(x)

    def operands(self, xs: tuple[Operand, ...]) -> str:
        return ", ".join(map(self.operand, xs))

    def at(self, loc: Loc | None) -> str:
        if loc is None or not self.locations:
            return ""
        return f" at {json.dumps(loc.file)}:{loc.line}:{loc.col}"

    def function(self, function: Function) -> Iterator[str]:
        params = []
        for p in function.params:
            align = f" align {p.align}" if p.align != 1 else ""
            alias = " noalias" if p.noalias else ""
            params.append(f"{self.name(p.register)}: {p.register.type}{align}{alias}")
        local = "" if function.exported else "local "
        yield f"{local}function {function.name}({', '.join(params)}) {{"
        yield from self.block(Block(function.body), "  ")
        yield "}" + self.at(function.loc)

    def block(self, block: Block, indent: str) -> Iterator[str]:
        for stmt in block.body:
            yield from self.statement(stmt, indent)
        if block.yields:
            yield f"{indent}yield {self.operands(block.yields)}"

    def statement(self, stmt: Stmt, indent: str) -> Iterator[str]:
        inner = indent + "  "
        at = self.at(stmt.loc)
        match stmt:
            case For():
                bounds = f"{self.operand(stmt.begin)}, {self.operand(stmt.end)}, {stmt.step}"
                unroll = f" unroll {stmt.unroll}" if stmt.unroll != 1 else ""
                carry = self.carry(stmt.carried, stmt.starts)
                head = f"for {self.name(stmt.var)} in range({bounds}){unroll}{carry}"
                yield f"{indent}{self.outs(stmt.outs)}{head} {{"
                yield from self.block(stmt.block, inner)
            case While():
                carry = self.carry(stmt.carried, stmt.starts)
                yield f"{indent}{self.outs(stmt.outs)}while{carry} {{"
                yield from self.block(stmt.test, inner)
                yield f"{indent}}} do {{"
                yield from self.block(stmt.block, inner)
            case If():
                rare = " rare" if stmt.rare else ""
                condition = f"{self.operand(stmt.condition)}{rare}"
                yield f"{indent}{self.outs(stmt.outs)}if {condition} {{"
                yield from self.block(stmt.then, inner)
                if stmt.otherwise.body or stmt.otherwise.yields:
                    yield f"{indent}}} else {{"
                    yield from self.block(stmt.otherwise, inner)
            case _:
                yield indent + self.instruction(stmt) + at
                return
        yield f"{indent}}}{at}"

    def outs(self, outs: tuple[Register, ...]) -> str:
        return ", ".join(f"{self.name(r)}: {r.type}" for r in outs) + " = " if outs else ""

    def carry(self, carried: tuple[Register, ...], starts: tuple[Operand, ...]) -> str:
        if not carried:
            return ""
        pairs = zip(carried, starts, strict=True)
        items = (f"{self.name(r)}: {r.type} = {self.operand(x)}" for r, x in pairs)
        return f" carry({', '.join(items)})"

    def instruction(self, stmt: Any) -> str:
        form = shape(type(stmt))
        arguments = [] if isinstance(stmt, NAMED_BY_OP) else [_word(stmt)]
        reads = list(form.reads)
        if reads[:2] == ["pointer", "offset"]:
            arguments.append(f"{self.operand(stmt.pointer)}[{self.operand(stmt.offset)}]")
            del reads[:2]
        arguments += [self.operand(getattr(stmt, name)) for name in reads]
        for name in form.read_lists:
            arguments += map(self.operand, getattr(stmt, name))
        for name in form.optional_reads:
            if (x := getattr(stmt, name)) is not None:
                arguments.append(f"{name}={self.operand(x)}")
        arguments += _attributes(stmt)
        word = stmt.op if isinstance(stmt, NAMED_BY_OP) else mnemonic(type(stmt))
        result = f"{self.name(stmt.out)} = " if form.has_result else ""
        type_ = f" : {stmt.out.type}" if form.has_result else ""
        text = ", ".join(a for a in arguments if a)
        return f"{result}{word}{' ' if text else ''}{text}{type_}"


WORD_FIELDS = ("op", "atom", "function")
"""Attributes that are written without their names, before the operands."""


def _word(stmt: Any) -> str:
    return next((getattr(stmt, name) for name in WORD_FIELDS if hasattr(stmt, name)), "")


def _attributes(stmt: Any) -> Iterator[str]:
    """Those that differ from their defaults, or have none."""
    for f in fields(stmt):
        if f.name not in shape(type(stmt)).attributes or f.name in WORD_FIELDS:
            continue
        value = getattr(stmt, f.name)
        if f.default is MISSING or value != f.default:
            text = f"({', '.join(map(str, value))})" if isinstance(value, tuple) else str(value)
            yield f"{f.name}={text}"
