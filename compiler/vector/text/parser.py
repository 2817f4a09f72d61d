"""Reads the text form of Vector IR; the grammar is in `dslc.compiler.vector.text.printer`."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any

from dslc.compiler.diagnostics import Loc
from dslc.compiler.dtypes import INDEX
from dslc.compiler.ir.text.tokens import Cursor, Token
from dslc.compiler.vector.constants import lanes_of
from dslc.compiler.vector.function import Block, For, Function, If, Module, Parameter, Stmt, While
from dslc.compiler.vector.text.printer import WORD_FIELDS
from dslc.compiler.vector.text.words import NAMED_BY_OP, WORDS
from dslc.compiler.vector.traverse import shape
from dslc.compiler.vector.types import Type, VectorType, parse_type
from dslc.compiler.vector.values import Constant, Operand, Register, index

_NUMBERS = {"inf": float("inf"), "nan": float("nan"), "True": True, "False": False}


def parse(text: str, file: str = "<vector ir>") -> Module:
    """The module of that text, not verified. DSL040x with the place where it is none."""
    parser = _Parser(text, file)
    functions = []
    parser.cursor.lines()
    while parser.cursor.token.kind != "end":
        functions.append(parser.function())
        parser.cursor.lines()
    return Module(tuple(functions))


class _Parser:
    """Reads one function after another; registers are known by their names."""

    def __init__(self, text: str, file: str) -> None:
        self.cursor = Cursor(text, file)
        self.registers: dict[str, Register] = {}

    # Names

    def define(self, type_: Type, token: Token) -> Register:
        if token.text in self.registers:
            raise self.cursor.defined_twice(token)
        register = Register(type_, token.text[1:])
        self.registers[token.text] = register
        return register

    def register_name(self) -> Token:
        return self.cursor.take("tile", "a register such as %x")

    def use(self) -> Register:
        token = self.register_name()
        if token.text not in self.registers:
            raise self.cursor.unknown("register", token, self.registers)
        return self.registers[token.text]

    def read_type(self) -> Type:
        token = self.cursor.name("a type")
        type_ = parse_type(token.text)
        if type_ is None:
            raise self.cursor.unknown("type", token, ("f32x16", "i32", "ptr"))
        return type_

    # Operands

    def operand(self) -> Operand:
        token = self.cursor.token
        if token.kind == "tile":
            return self.use()
        if token.kind == "number" or token.text == "-":
            return index(self.cursor.integer())
        type_ = self.read_type()
        if not isinstance(type_, VectorType):
            raise self.cursor.mismatch("a pointer is no constant", token)
        self.cursor.expect("(")
        values = self.cursor.until(")", self.number)
        if len(values) not in (1, type_.count):
            raise self.cursor.mismatch(f"{type_} has {type_.count} lanes, not {len(values)}", token)
        return _constant(values, type_)

    def number(self) -> int | float | bool:
        sign = -1 if self.cursor.accept("-") else 1
        token = self.cursor.token
        if token.kind == "name" and token.text in _NUMBERS:
            self.cursor.accept(token.text)
            value = _NUMBERS[token.text]
            return value if isinstance(value, bool) else sign * value
        text = self.cursor.take("number", "a number").text
        return sign * (int(text) if text.isdigit() else float(text))

    # Functions and blocks

    def function(self) -> Function:
        self.registers = {}
        exported = not self.cursor.accept("local")
        self.cursor.expect("function")
        name = self.cursor.name("the function's name").text
        self.cursor.expect("(")
        params = self.cursor.until(")", self.parameter)
        block = self.block()
        return Function(name, params, block.body, exported, loc=self.at())

    def parameter(self) -> Parameter:
        token = self.register_name()
        self.cursor.expect(":")
        register = self.define(self.read_type(), token)
        align = self.cursor.integer() if self.cursor.accept("align") else 1
        return Parameter(register, align, self.cursor.accept("noalias"))

    def block(self) -> Block:
        self.cursor.expect("{")
        self.cursor.deeper()
        self.cursor.lines()
        body: list[Stmt] = []
        yields: tuple[Operand, ...] = ()
        while not self.cursor.accept("}"):
            if self.cursor.accept("yield"):
                yielded = [self.operand()]
                while self.cursor.accept(","):
                    yielded.append(self.operand())
                yields = tuple(yielded)
                self.cursor.end_line()
                self.cursor.expect("}")
                break
            body.append(self.statement())
            self.cursor.end_line()
        self.cursor.shallower()
        return Block(tuple(body), yields)

    def at(self) -> Loc | None:
        if not self.cursor.accept("at"):
            return None
        file = self.cursor.string()
        self.cursor.expect(":")
        line = self.cursor.integer()
        self.cursor.expect(":")
        return Loc(file, line, self.cursor.integer())

    # Statements

    def statement(self) -> Stmt:
        names: list[tuple[Token, Type | None]] = []
        if self.cursor.token.kind == "tile":
            names.append(self.result())
            while self.cursor.accept(","):
                names.append(self.result())
            self.cursor.expect("=")
        if self.cursor.token.text in ("for", "while", "if"):
            return self.control(names)
        return self.instruction(names)

    def result(self) -> tuple[Token, Type | None]:
        token = self.register_name()
        return token, self.read_type() if self.cursor.accept(":") else None

    def control(self, names: list[tuple[Token, Type | None]]) -> Stmt:
        if any(type_ is None for _, type_ in names):
            raise self.cursor.fail("a type after each result")
        match self.cursor.name("a statement").text:
            case "for":
                return self.for_(names)
            case "while":
                carried, starts = self.carry()
                test = self.block()
                self.cursor.expect("do")
                block = self.block()
                return While(self.outs(names), carried, starts, test, block, loc=self.at())
            case _:
                condition = self.operand()
                rare = self.cursor.accept("rare")
                then = self.block()
                otherwise = self.block() if self.cursor.accept("else") else Block(())
                outs = self.outs(names)
                return If(outs, condition, then, otherwise, rare, loc=self.at())

    def for_(self, names: list[tuple[Token, Type | None]]) -> For:
        token = self.register_name()
        for word in ("in", "range", "("):
            self.cursor.expect(word)
        begin = self.operand()
        self.cursor.expect(",")
        end = self.operand()
        self.cursor.expect(",")
        step = self.cursor.integer()
        self.cursor.expect(")")
        unroll = self.cursor.integer() if self.cursor.accept("unroll") else 1
        carried, starts = self.carry()
        var = self.define(VectorType(INDEX), token)
        block = self.block()
        outs = self.outs(names)
        return For(outs, var, begin, end, step, carried, starts, block, unroll, loc=self.at())

    def outs(self, names: list[tuple[Token, Type | None]]) -> tuple[Register, ...]:
        return tuple(self.define(t, token) for token, t in names if t is not None)

    def carry(self) -> tuple[tuple[Register, ...], tuple[Operand, ...]]:
        if not self.cursor.accept("carry"):
            return (), ()
        self.cursor.expect("(")
        carried = self.cursor.until(")", self.carried)
        registers = tuple(self.define(type_, token) for token, type_, _ in carried)
        return registers, tuple(start for _, _, start in carried)

    def carried(self) -> tuple[Token, Type, Operand]:
        token = self.register_name()
        self.cursor.expect(":")
        type_ = self.read_type()
        self.cursor.expect("=")
        return token, type_, self.operand()

    # Instructions

    def instruction(self, names: list[tuple[Token, Type | None]]) -> Stmt:
        token = self.cursor.name("an instruction")
        kind = WORDS.get(token.text)
        if kind is None:
            raise self.cursor.unknown("instruction", token, WORDS)
        form = shape(kind)
        values: dict[str, Any] = {"op": token.text} if kind in NAMED_BY_OP else {}
        arguments, named = self.arguments()
        expected = [n for n in WORD_FIELDS if n in form.attributes and n not in values]
        expected += form.reads
        if len(arguments) < len(expected) or (
            len(arguments) > len(expected) and not form.read_lists
        ):
            raise self.cursor.mismatch(
                f"{token.text} takes {len(expected)} operands, not {len(arguments)}", token
            )
        values |= dict(zip(expected, arguments, strict=False)) | named
        for name in form.read_lists:
            values[name] = tuple(arguments[len(expected) :])
        if form.has_result:
            if len(names) != 1 or names[0][1] is not None:
                raise self.cursor.mismatch(f"{token.text} has one result", token)
            self.cursor.expect(":")
            values["out"] = self.define(self.read_type(), names[0][0])
        elif names:
            raise self.cursor.mismatch(f"{token.text} has no result", token)
        return self.made(kind, values, token)

    def made(self, kind: type[Any], values: dict[str, Any], token: Token) -> Stmt:
        known = {f.name: f for f in fields(kind)}
        for name, value in values.items():
            if name not in known:
                raise self.cursor.mismatch(f"{token.text} has no {name}", token)
            wanted = str(known[name].type)
            if not _fits(value, wanted):
                raise self.cursor.mismatch(f"{name} is to be {wanted.lower()}", token)
            if wanted == "int":
                values[name] = value.values[0]
        required = {f.name for f in known.values() if f.default is MISSING}
        if missing := required - values.keys():
            raise self.cursor.mismatch(f"{token.text} lacks {min(missing)}", token)
        stmt: Stmt = kind(**values, loc=self.at())
        return stmt

    def arguments(self) -> tuple[list[Any], dict[str, Any]]:
        positional: list[Any] = []
        named: dict[str, Any] = {}
        if self.cursor.token.kind == "line" or self.cursor.token.text in (":", "}", "at"):
            return positional, named
        while True:
            token = self.cursor.token
            if token.kind == "name" and self.cursor.following.text == "=":
                self.cursor.name("a name")
                self.cursor.expect("=")
                named[token.text] = self.value()
            elif token.kind == "tile" and self.cursor.following.text == "[":
                positional.append(self.use())
                self.cursor.expect("[")
                positional.append(self.operand())
                self.cursor.expect("]")
            else:
                positional.append(self.value())
            if not self.cursor.accept(","):
                return positional, named

    def value(self) -> Any:
        """An operand, an attribute's number, its word or its list of numbers."""
        token = self.cursor.token
        if token.kind == "name" and self.cursor.following.text != "(":
            self.cursor.name("a word")
            return _NUMBERS.get(token.text, token.text)
        if self.cursor.accept("("):
            return self.cursor.until(")", self.cursor.integer)
        return self.operand()


def _constant(values: tuple[int | float | bool, ...], type_: VectorType) -> Constant:
    rounded = lanes_of(values, type_.dtype)
    return Constant(rounded.values, type_)


def _fits(value: Any, wanted: str) -> bool:
    match wanted:
        case "int":
            return isinstance(value, Constant) and value.type == VectorType(INDEX)
        case "tuple[int, ...]":
            return isinstance(value, tuple) and all(isinstance(v, int) for v in value)
        case "bool":
            return isinstance(value, bool)
        case "str":
            return isinstance(value, str)
        case _:
            return isinstance(value, (Register, Constant, tuple))
