"""What the parser does at each production of grammar.lark: make the node of an item or a statement.

The methods bear the names of the grammar; each takes the place of what was matched and the values of
the symbols that the grammar keeps.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from dslc.compiler.diagnostics import Label, Loc, did_you_mean
from dslc.frontend import tree
from dslc.frontend.expression_builder import ExpressionBuilder
from dslc.frontend.strings import clean_docstring
from dslc.frontend.tokens import Token

Statements: TypeAlias = tuple[tree.Statement, ...]


class TreeBuilder(ExpressionBuilder):
    """Makes the nodes of one source."""

    # Top level

    def module(self, loc: Loc, *items: tree.TopLevel | tree.Literal) -> tree.Module:
        """A whole source; a string is its docstring where it comes first."""
        doc = None
        kept = []
        for i, item in enumerate(items):
            if not isinstance(item, tree.Literal):
                kept.append(item)
            elif i == 0:
                doc = clean_docstring(str(item.value))
            else:
                self.error("DSL0108", "a string alone does nothing here", item.loc)
        start = Loc(self.file, 1, 1, loc.end_line, loc.end_col)
        return tree.Module(tuple(kept), doc, loc=start)

    def docstring(self, loc: Loc, *strings: Token) -> tree.Literal:
        """A string on the top level."""
        return self.string(loc, *strings)

    def import_(self, loc: Loc, path: str, *names: Token) -> tree.Import:
        """`from path import names`."""
        return tree.Import(path, tuple(n.text for n in names), loc=loc)

    def dotted(self, loc: Loc, *names: Token) -> str:
        """`a.b.c`."""
        return ".".join(n.text for n in names)

    def const(self, loc: Loc, name: Token, value: tree.Expr) -> tree.Const:
        """`const NAME = value`."""
        return tree.Const(name.text, value, loc=loc)

    def function(
        self, loc: Loc, name: Token, defaults: list[tuple[Token, Any]], body: Statements
    ) -> tree.Function:
        """`def name(params): body`."""
        self._distinct([(n.text, self.at(n)) for n, _ in defaults])
        values = [value for _, value in defaults if value is not None]
        late = [n for n, value in defaults[len(defaults) - len(values) :] if value is None]
        if late:
            message = f"`{late[0].text}` has no default but follows a parameter that has one"
            self.error("DSL0111", message, self.at(late[0]))
        doc, body = split_docstring(body)
        names = tuple(n.text for n, _ in defaults)
        return tree.Function(name.text, names, tuple(values), body, doc, loc=loc)

    def kernel(
        self, loc: Loc, name: Token, params: tuple[tree.Param, ...], body: Statements
    ) -> tree.Kernel:
        """`kernel name(params): body`."""
        doc, body = split_docstring(body)
        return tree.Kernel(name.text, params, body, doc, loc=loc)

    def program(
        self, loc: Loc, name: Token, params: tuple[tree.Param, ...], body: Statements
    ) -> tree.Program:
        """`program name(params): body`."""
        doc, body = split_docstring(body)
        return tree.Program(name.text, params, body, doc, loc=loc)

    # Parameters

    def params(self, loc: Loc, *params: tree.Param) -> tuple[tree.Param, ...]:
        """The parameters of a kernel or a program."""
        self._distinct([(p.name, p.loc) for p in params])
        return params

    def param(self, loc: Loc, name: Token, *parts: Any) -> tree.Param:
        """`name: mode type modifiers`."""
        mode, parts = (parts[0], parts[1:]) if isinstance(parts[0], str) else ("in", parts)
        optional = parts[-1] is None
        dtype, dims = parts[0]
        given: dict[str, Any] = {}
        for word, value, place in parts[1 : len(parts) - optional]:
            if word in given:
                self.error("DSL0111", f"`{word}` is given twice", place)
            given[word] = value
        strides, packed = given.get("strides"), given.get("packed")
        if dims is None and given:
            self.error("DSL0111", f"a scalar has no {' and no '.join(given)}", loc)
        elif strides is not None and len(strides) != len(dims):
            message = f"{len(strides)} strides for {len(dims)} dims"
            self.error("DSL0111", message, loc, hint="give one stride for each dim")
        return tree.Param(name.text, dtype, dims, mode, strides, packed, optional, loc=loc)

    def optional(self, loc: Loc) -> None:
        """`| None` behind a parameter."""

    def mode(self, loc: Loc, word: Token) -> str:
        """`out` or `inout`."""
        return word.text

    def type_(
        self, loc: Loc, name: Token, dims: tuple[tree.Expr, ...] | None = None
    ) -> tuple[tree.Name, tuple[tree.Expr, ...] | None]:
        """`dtype` or `dtype[dims]`."""
        return self.name(self.at(name), name), dims

    def dims(self, loc: Loc, *dims: tree.Expr) -> tuple[tree.Expr, ...]:
        """The dims of a tensor."""
        return dims

    def modifier(self, loc: Loc, word: Token, *rest: Any) -> tuple[str, Any, Loc]:
        """`strides (a, b)` or `packed row`, told by the words."""
        called = not (rest and isinstance(rest[0], Token))
        if word.text == "strides" and called:
            return "strides", rest, loc
        if word.text == "packed" and not called:
            if rest[0].text != "row":
                hint = "`packed row` is the one fixed storage"
                self.error("DSL0111", f"unknown storage `{rest[0].text}`", loc, hint=hint)
            return "packed", rest[0].text, loc
        wanted = {"strides": "`strides (a, b)`", "packed": "`packed row`"}.get(word.text)
        near = f"write {wanted}" if wanted else did_you_mean(word.text, ("strides", "packed"))
        message = f"`{word.text}` does not describe a parameter"
        hint = near or "after the type come `strides (a, b)` and `packed row`, nothing else"
        self.error("DSL0111", message, loc, hint=hint)
        return word.text, None, loc

    def defaults(
        self, loc: Loc, *params: tuple[Token, tree.Expr | None]
    ) -> list[tuple[Token, tree.Expr | None]]:
        """The parameters of a function."""
        return list(params)

    def default(
        self, loc: Loc, name: Token, value: tree.Expr | None = None
    ) -> tuple[Token, tree.Expr | None]:
        """A parameter of a function, and its default."""
        return name, value

    # Statements

    def suite(self, loc: Loc, *statements: Any) -> Statements:
        """A body: the lines of a block, or the statements after the colon."""
        return _flat(statements)

    def line(self, loc: Loc, *statements: tree.Statement) -> list[tree.Statement]:
        """The statements of one line, apart by semicolons."""
        return list(statements)

    def for_(
        self, loc: Loc, targets: tuple[tree.Name, ...], iterator: tree.Expr, body: Statements
    ) -> tree.For:
        """`for targets in iterator: body`."""
        return tree.For(targets, iterator, body, loc=loc)

    def targets(self, loc: Loc, *names: Token) -> tuple[tree.Name, ...]:
        """The names of a loop."""
        return tuple(self.name(self.at(n), n) for n in names)

    def while_(self, loc: Loc, condition: tree.Expr, body: Statements) -> tree.While:
        """`while condition: body`."""
        return tree.While(condition, body, loc=loc)

    def if_(
        self, loc: Loc, condition: tree.Expr, then: Statements, otherwise: Statements = ()
    ) -> tree.If:
        """`if condition: then` and what follows."""
        return tree.If(condition, then, otherwise, loc=loc)

    def elif_(
        self, loc: Loc, condition: tree.Expr, then: Statements, otherwise: Statements = ()
    ) -> Statements:
        """`elif condition: then` and what follows."""
        return (tree.If(condition, then, otherwise, loc=loc),)

    def else_(self, loc: Loc, body: Statements) -> Statements:
        """`else: body`."""
        return body

    def expression(self, loc: Loc, value: tree.Expr) -> tree.ExprStatement:
        """An expression as a statement."""
        return tree.ExprStatement(value, loc=loc)

    def assign(self, loc: Loc, target: tree.Expr, value: tree.Expr) -> tree.Assign:
        """`target = value`."""
        return tree.Assign(target, value, loc=loc)

    def aug_assign(self, loc: Loc, target: tree.Expr, op: str, value: tree.Expr) -> tree.AugAssign:
        """`target op= value`."""
        return tree.AugAssign(target, op, value, loc=loc)

    def augmented(self, loc: Loc, op: Token) -> str:
        """`+=` and the like, without the equals sign."""
        return op.text[:-1]

    def tune(self, loc: Loc, name: Token, *choices: tree.Expr) -> tree.Tune:
        """`tune NAME = a | b`, or `tune NAME`."""
        return tree.Tune(name.text, choices, loc=loc)

    def require(self, loc: Loc, condition: tree.Expr) -> tree.Require:
        """`require condition`."""
        return tree.Require(condition, self.text(condition.loc), loc=loc)

    def assert_(self, loc: Loc, condition: tree.Expr, text: tree.Expr | None = None) -> tree.Assert:
        """`assert condition, text`."""
        return tree.Assert(condition, text, loc=loc)

    def return_(self, loc: Loc, value: tree.Expr) -> tree.Return:
        """`return value`."""
        return tree.Return(value, loc=loc)

    def pass_(self, loc: Loc) -> tree.Pass:
        """`pass`."""
        return tree.Pass(loc=loc)

    def _distinct(self, names: list[tuple[str, Loc]]) -> None:
        first: dict[str, Loc] = {}
        for name, loc in names:
            if name in first:
                label = Label(first[name], "first here")
                self.error("DSL0111", f"two parameters are named `{name}`", loc, labels=(label,))
            first.setdefault(name, loc)


def split_docstring(body: Statements) -> tuple[str | None, Statements]:
    """A body's docstring, if it begins with one, and the rest."""
    if body and isinstance(body[0], tree.ExprStatement):
        value = body[0].value
        if isinstance(value, tree.Literal) and isinstance(value.value, str):
            return clean_docstring(value.value), body[1:]
    return None, body


def _flat(statements: tuple[Any, ...]) -> Statements:
    flat: list[tree.Statement] = []
    for statement in statements:
        if isinstance(statement, list):
            flat.extend(statement)
        else:
            flat.append(statement)
    return tuple(flat)
