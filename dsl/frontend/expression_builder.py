"""What the parser does at each production of grammar.lark: make the node of an expression."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dslc.compiler.diagnostics import Diagnostic, Label, Loc
from dslc.frontend import tree
from dslc.frontend.strings import unquote
from dslc.frontend.tokens import Token


class ExpressionBuilder:
    """Makes the expressions of one source; `text` gives the source at a place."""

    def __init__(
        self, file: str, report: Callable[[Diagnostic], None], text: Callable[[Loc], str]
    ) -> None:
        self.file = file
        self.report = report
        self.text = text

    def at(self, token: Token) -> Loc:
        """The place of a token."""
        return Loc(self.file, token.line, token.col, token.end_line, token.end_col)

    def error(
        self,
        code: str,
        message: str,
        loc: Loc,
        *,
        hint: str | None = None,
        labels: tuple[Label, ...] = (),
    ) -> None:
        """Report an error."""
        self.report(Diagnostic(code, message, loc, hint, labels))

    def sequence(self, loc: Loc, *items: tree.Expr) -> tree.Sequence:
        """`a, b`, `(a, b)` or `[a, b]`."""
        return tree.Sequence(items, loc=loc)

    def conditional(
        self, loc: Loc, then: tree.Expr, condition: tree.Expr, otherwise: tree.Expr
    ) -> tree.Conditional:
        """`then if condition else otherwise`."""
        return tree.Conditional(condition, then, otherwise, loc=loc)

    def binary(self, loc: Loc, left: tree.Expr, op: Token, right: tree.Expr) -> tree.Binary:
        """`left op right`."""
        return tree.Binary(op.text, left, right, loc=loc)

    def unary(self, loc: Loc, op: Token, operand: tree.Expr) -> tree.Unary:
        """`op operand`."""
        return tree.Unary(op.text, operand, loc=loc)

    def compare(self, loc: Loc, *parts: Any) -> tree.Compare:
        """`a < b <= c`."""
        return tree.Compare(parts[::2], parts[1::2], loc=loc)

    def compare_op(self, loc: Loc, *op: Token) -> str:
        """`<` and the like, `is` and `is not`."""
        return " ".join(token.text for token in op)

    def attribute(self, loc: Loc, value: tree.Expr, name: Token) -> tree.Attribute:
        """`value.name`."""
        return tree.Attribute(value, name.text, loc=loc)

    def call(self, loc: Loc, function: tree.Expr, arguments: Any) -> tree.Call:
        """`function(args, name=value)`."""
        args, keywords = arguments
        return tree.Call(function, args, keywords, loc=loc)

    def arguments(
        self, loc: Loc, *arguments: tree.Expr | tree.Keyword
    ) -> tuple[tuple[tree.Expr, ...], tuple[tree.Keyword, ...]]:
        """The arguments of a call, those by name last."""
        args: list[tree.Expr] = []
        keywords: dict[str, tree.Keyword] = {}
        for argument in arguments:
            if isinstance(argument, tree.Keyword):
                if argument.name in keywords:
                    message = f"the argument `{argument.name}` is given twice"
                    first = Label(keywords[argument.name].loc, "first here")
                    self.error("DSL0107", message, argument.loc, labels=(first,))
                keywords[argument.name] = argument
            else:
                if keywords:
                    message = "an argument by position follows one by name"
                    self.error("DSL0107", message, argument.loc)
                args.append(argument)
        return tuple(args), tuple(keywords.values())

    def keyword(self, loc: Loc, name: Token, value: tree.Expr) -> tree.Keyword:
        """`name=value` in a call."""
        return tree.Keyword(name.text, value, loc=loc)

    def subscript(self, loc: Loc, value: tree.Expr, *items: Any) -> tree.Subscript:
        """`value[items]`."""
        return tree.Subscript(value, items, loc=loc)

    def subscript_one(self, loc: Loc, value: tree.Expr, item: Any) -> tree.Subscript:
        """`value[item]`; `value[(a, b)]` is `value[a, b]`, as in Python."""
        if isinstance(item, tree.Sequence) and self.text(item.loc).startswith("("):
            return tree.Subscript(value, item.items, loc=loc)
        return tree.Subscript(value, (item,), loc=loc)

    def no_items(self, loc: Loc, value: tree.Expr) -> tree.Expr:
        """`value[]`, an error."""
        hint = "write `[:]` for the whole axis, `[...]` for the whole tensor"
        self.error("DSL0101", "nothing between the brackets", loc, hint=hint)
        return value

    def slice(self, loc: Loc, *parts: Any) -> tree.Slice:
        """`start : stop : step`, where any part may be missing."""
        bounds: list[tree.Expr | None] = [None, None, None]
        position = 0
        for part in parts:
            if isinstance(part, Token):
                position += 1
            else:
                bounds[position] = part
        return tree.Slice(bounds[0], bounds[1], bounds[2], loc=loc)

    def ellipsis(self, loc: Loc) -> tree.Name:
        """`...` in a subscript."""
        return tree.Name("...", loc=loc)

    def name(self, loc: Loc, name: Token) -> tree.Name:
        """A name."""
        return tree.Name(name.text, loc=loc)

    def parallel(self, loc: Loc) -> tree.Name:
        """`parallel`, the one keyword that stands for a function."""
        return tree.Name("parallel", loc=loc)

    def integer(self, loc: Loc, number: Token) -> tree.Literal:
        """An integer in any of Python's bases."""
        digits = number.text.replace("_", "")
        if len(digits) > 1000:  # Python itself refuses more than some thousands of decimal digits
            self.error("DSL0006", "this number is too long", loc)
            digits = "0"
        return tree.Literal(int(digits, 0), loc=loc)

    def floating(self, loc: Loc, number: Token) -> tree.Literal:
        """A float."""
        return tree.Literal(float(number.text), loc=loc)

    def string(self, loc: Loc, *strings: Token) -> tree.Literal:
        """A string, or several that stand side by side."""
        values = []
        for token in strings:
            try:
                values.append(unquote(token.text))
            except ValueError as failure:
                self.error("DSL0007", str(failure), self.at(token))
        return tree.Literal("".join(values), loc=loc)

    def true(self, loc: Loc) -> tree.Literal:
        """`True`."""
        return tree.Literal(True, loc=loc)

    def false(self, loc: Loc) -> tree.Literal:
        """`False`."""
        return tree.Literal(False, loc=loc)

    def none(self, loc: Loc) -> tree.Literal:
        """`None`."""
        return tree.Literal(None, loc=loc)

    def group(self, loc: Loc, inner: tree.Expr) -> tree.Expr:
        """`(inner)`: the parentheses leave no trace."""
        return inner
