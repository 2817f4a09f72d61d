"""Emitted HIP read back: the C in which the generator and its libraries write.

That is a small part of C++: functions, of which some are templates over numbers and types; declarations
of scalars, pointers and arrays; counted loops, branches, assignments and calls. What else C++ has is an
error that names the line.
"""

from __future__ import annotations

from collections.abc import Iterator

from dslc.codegen.flydsl import syntax as sx
from dslc.codegen.flydsl.c_types import NAMES, Other, Type
from dslc.codegen.flydsl.tokens import tokens
from dslc.codegen.flydsl.type_reader import TypeReader, UnreadableError

_LEVELS = (
    ("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", ">", "<=", ">="), ("<<", ">>"),
    ("+", "-"), ("*", "/", "%"),
)  # fmt: skip
_UPDATES = ("=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=")


def read_function(text: str, first_line: int = 1, *, body: bool = True) -> sx.Function:
    """One function; without its body where only its face matters."""
    return _Reader(tokens(text, first_line), set()).function(with_body=body)


class _Reader(TypeReader):
    """Functions, statements and expressions."""

    # Functions

    def function(self, *, with_body: bool) -> sx.Function:
        given: list[str] = []
        types: list[str] = []
        if self._accept("template"):
            self._expect("<")
            while not self._accept(">"):
                word, name = self._take().text, self._take().text
                (types if word == "class" else given).append(name)
                self._accept(",")
        self._types |= set(types)
        attributes = self._attributes()
        result = self._type()
        name = self._take().text
        self._expect("(")
        params: list[tuple[Type, str]] = []
        while not self._accept(")"):
            kind = self._type()
            self._accept("&")
            params.append((kind, self._take().text))
            self._accept(",")
        body = None
        if with_body:
            self._expect("{")
            body = self._until_brace()
        return sx.Function(
            name, tuple(given), tuple(types), result, tuple(params), attributes, body
        )

    # Statements

    def _until_brace(self) -> tuple[sx.Stmt, ...]:
        body: list[sx.Stmt] = []
        while not self._accept("}"):
            body += self._statement()
        return tuple(body)

    def _body(self) -> tuple[sx.Stmt, ...]:
        return self._until_brace() if self._accept("{") else tuple(self._statement())

    def _statement(self) -> Iterator[sx.Stmt]:
        line = self._next.line
        unroll = None
        if self._next.kind == "pragma":
            words = self._take().text.split()
            unroll = int(words[2]) if len(words) > 2 else 0
        if self._accept(";"):
            return
        if self._is("static") and self._tokens[self._at + 1].text == "__attribute__":
            self._attributes()
        if self._accept("{"):
            yield sx.Block(self._until_brace())
        elif self._accept("for"):
            yield self._for(unroll, line)
        elif self._accept("while"):
            for text in ("(", "true", ")", "{"):
                self._expect(text)
            yield sx.While(self._until_brace(), line)
        elif self._accept("if"):
            yield self._if(line)
        elif self._accept("return"):
            value = None if self._is(";") else self._expression()
            self._expect(";")
            yield sx.Return(value, line)
        elif self._begins_type():
            yield from self._declarations(line)
        else:
            yield self._simple(line)
            while self._accept(","):
                yield self._simple(line)
            self._expect(";")

    def _if(self, line: int) -> sx.Stmt:
        self._accept("constexpr")
        self._expect("(")
        condition = self._expression()
        self._expect(")")
        if self._is("break"):
            self._take()
            self._expect(";")
            return sx.Leave(condition, line)
        then = self._body()
        return sx.If(condition, then, self._body() if self._accept("else") else (), line)

    def _for(self, unroll: int | None, line: int) -> sx.For:
        self._expect("(")
        kind, var = self._type(), self._take().text
        self._expect("=")
        start = self._choice()
        self._expect(";")
        condition = self._expression()
        if not (isinstance(condition, sx.Binary) and condition.a == sx.Name(var)):
            raise UnreadableError(line, "a loop that is no count")
        self._expect(";")
        step = self._simple(line)
        self._expect(")")
        if not (isinstance(step, sx.Assign) and step.target == sx.Name(var)):
            raise UnreadableError(line, "a loop that is no count")
        by = step.value if step.op == "+=" else sx.Unary("-", step.value)
        return sx.For(kind, var, start, condition.op, condition.b, by, unroll, self._body(), line)

    def _declarations(self, line: int) -> Iterator[sx.Stmt]:
        kind = self._type()
        while True:
            name, count, init, zeros = self._take().text, None, None, False
            if self._accept("["):
                count = int(self._take().text)
                self._expect("]")
            if self._accept("="):
                if self._accept("{"):
                    self._expect("}")
                    zeros = True
                else:
                    init = self._choice()
            known = None if kind == Other("auto") else kind
            yield sx.Declare(known, name, count, init, zeros, line)
            if not self._accept(","):
                break
        self._expect(";")

    def _simple(self, line: int) -> sx.Stmt:
        """An assignment, a count or a call."""
        for sign in ("++", "--"):
            if self._accept(sign):
                return sx.Assign(f"{sign[0]}=", self._unary(), sx.Number("1"), line)
        target = self._unary()
        if self._is(*_UPDATES):
            op = self._take().text
            return sx.Assign(op, target, self._choice(), line)
        return sx.Run(target, line)

    # Expressions

    def _expression(self) -> sx.Expr:
        return self._choice()

    def _choice(self) -> sx.Expr:
        condition = self._binary(0)
        if not self._accept("?"):
            return condition
        a = self._choice()
        self._expect(":")
        return sx.Choice(condition, a, self._choice())

    def _binary(self, level: int) -> sx.Expr:
        if level == len(_LEVELS):
            return self._unary()
        a = self._binary(level + 1)
        while self._is(*_LEVELS[level]):
            op = self._take().text
            a = sx.Binary(op, a, self._binary(level + 1))
        return a

    def _unary(self) -> sx.Expr:
        if self._is("-", "~", "!", "&", "*"):
            return sx.Unary(self._take().text, self._unary())
        if self._is("(") and self._begins_type(1):
            self._take()
            kind = self._type()
            self._expect(")")
            return sx.Cast(kind, self._unary())
        return self._postfix(self._primary())

    def _postfix(self, x: sx.Expr) -> sx.Expr:
        while self._accept("["):
            x = sx.Index(x, self._expression())
            self._expect("]")
        return x

    def _primary(self) -> sx.Expr:
        if self._accept("("):
            x = self._expression()
            self._expect(")")
            return x
        if self._next.kind == "number":
            return sx.Number(self._take().text)
        if self._next.kind != "name":
            raise UnreadableError(self._next.line, f"unexpected {self._next.text!r}")
        if self._begins_type() and self._tokens[self._at + 1].text == "(":
            name = self._take().text
            self._take()
            x = self._expression()
            self._expect(")")
            return sx.Cast(NAMES.get(name) or Other(name), x)
        name = self._take().text
        given = self._given() if self._is("<") and self._closes() else ()
        if self._accept("("):
            if self._begins_type() and self._is_type_alone():
                given = (self._type(),)
                self._accept(",")
            return sx.Call(name, given, tuple(self._arguments()))
        return sx.Name(name)

    def _arguments(self) -> Iterator[sx.Expr]:
        if self._accept(")"):
            return
        while True:
            if self._next.kind == "string":
                yield sx.Name(self._take().text)
            else:
                yield self._choice()
            if self._accept(")"):
                return
            self._expect(",")

    def _is_type_alone(self) -> bool:
        """Whether a type stands here as an argument."""
        at = self._at
        while self._tokens[at].kind == "name":
            at += 1
        return self._tokens[at].text in (",", ")")

    def _closes(self) -> bool:
        """Whether `<` here begins what a template is given, up to `>(`."""
        at = self._at + 1
        while self._tokens[at].kind in ("number", "name") or self._tokens[at].text == ",":
            at += 1
        return self._tokens[at].text == ">" and self._tokens[at + 1].text == "("

    def _given(self) -> tuple[sx.Expr | Type, ...]:
        self._expect("<")
        given: list[sx.Expr | Type] = []
        while not self._accept(">"):
            given.append(self._type() if self._begins_type() else self._primary())
            self._accept(",")
        return tuple(given)
