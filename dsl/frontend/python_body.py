"""Python's `ast` -> syntax tree: expressions and statements of a decorated function.

Nothing is evaluated here. What Python has and the language has not is a located error.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from dslc.compiler.diagnostics import Diagnostic, DiagnosticError, Loc, error
from dslc.frontend import tree
from dslc.frontend.foreign import FOREIGN, FOREIGN_NODES
from dslc.frontend.python_source import Source
from dslc.frontend.strings import clean_docstring
from dslc.frontend.tokens import MAX_NESTING, OWN_KEYWORDS

_BINARY = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.Pow: "**", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<",
    ast.RShift: ">>", ast.And: "and", ast.Or: "or",
}  # fmt: skip
_UNARY = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~", ast.Not: "not"}
_COMPARE = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
}


class BodyReader:
    """Converts the nodes of one function.

    `resolve` looks at an expression before it is converted and may give what stands for it: a
    captured name or an attribute of a module.
    """

    def __init__(
        self,
        source: Source,
        resolve: Callable[[ast.expr, Loc], tree.Expr | None],
        report: Callable[[Diagnostic], None],
    ) -> None:
        self.source = source
        self.resolve = resolve
        self.report = report
        self._depth = 0

    def loc(self, node: ast.AST) -> Loc:
        """The place of a node."""
        return self.source.loc(node)

    # Statements

    def body(self, statements: Sequence[ast.stmt]) -> tuple[str | None, tuple[tree.Statement, ...]]:
        """The docstring and the statements of a function."""
        match statements:
            case [ast.Expr(ast.Constant(str() as doc)), *rest]:
                return clean_docstring(doc), self.block(rest)
            case _:
                return None, self.block(statements)

    def block(self, statements: Sequence[ast.stmt]) -> tuple[tree.Statement, ...]:
        """The statements that can be converted; the errors of the others are reported."""
        kept = []
        for statement in statements:
            depth = self._depth
            try:
                kept.append(self.statement(statement))
            except DiagnosticError as failure:
                self._depth = depth
                for diagnostic in failure.diagnostics:
                    self.report(diagnostic)
        return tuple(kept)

    def statement(self, node: ast.stmt) -> tree.Statement:
        """One statement."""
        loc = self.loc(node)
        self._deeper(loc)
        translated = self._statement(node, loc)
        self._depth -= 1
        return translated

    def _statement(self, node: ast.stmt, loc: Loc) -> tree.Statement:
        match node:
            case ast.Assign([target], value):
                return tree.Assign(self.expr(target), self.expr(value), loc=loc)
            case ast.Assign():
                raise error("DSL0101", "one assignment to a line", loc, hint="write two lines")
            case ast.AugAssign(target, op, value):
                return tree.AugAssign(
                    self.expr(target), self._op(op, loc), self.expr(value), loc=loc
                )
            case ast.For(target, iterator, body, []):
                return tree.For(
                    self._targets(target), self.expr(iterator), self.block(body), loc=loc
                )
            case ast.While(condition, body, []):
                return tree.While(self.expr(condition), self.block(body), loc=loc)
            case ast.For(orelse=[first, *_]) | ast.While(orelse=[first, *_]):
                hint = "loops have no `else`"
                raise error("DSL0105", "this `else` belongs to no `if`", self.loc(first), hint=hint)
            case ast.If(condition, then, otherwise):
                return tree.If(
                    self.expr(condition), self.block(then), self.block(otherwise), loc=loc
                )
            case ast.Expr(ast.Call(ast.Name("require"), args, keywords)):
                return self._require(args, keywords, loc)
            case ast.Expr(value):
                return tree.ExprStatement(self.expr(value), loc=loc)
            case ast.Assert(condition, text):
                shown = None if text is None else self.expr(text)
                return tree.Assert(self.expr(condition), shown, loc=loc)
            case ast.Return(None):
                raise error("DSL0110", "`return` needs a value", loc)
            case ast.Return(value) if value is not None:
                return tree.Return(self.expr(value), loc=loc)
            case ast.Pass():
                return tree.Pass(loc=loc)
            case _:
                raise self._foreign(node, loc)

    def _require(self, args: list[ast.expr], keywords: list[ast.keyword], loc: Loc) -> tree.Require:
        if len(args) != 1 or keywords:
            raise error("DSL0107", "`require` takes one condition", loc)
        condition = self.expr(args[0])
        return tree.Require(condition, self.source.text(self.loc(args[0])), loc=loc)

    def _targets(self, target: ast.expr) -> tuple[tree.Name, ...]:
        names = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
        names_of = [self.expr(name) for name in names]
        for name in names_of:
            if not isinstance(name, tree.Name):
                raise error("DSL0106", "a loop's targets are names", name.loc)
        return tuple(name for name in names_of if isinstance(name, tree.Name))

    # Expressions

    def expr(self, node: ast.expr) -> tree.Expr:
        """One expression."""
        loc = self.loc(node)
        self._deeper(loc)
        translated = self.resolve(node, loc) or self._expr(node, loc)
        self._depth -= 1
        return translated

    def exprs(self, nodes: Sequence[ast.expr]) -> tuple[tree.Expr, ...]:
        """Several expressions."""
        return tuple(self.expr(n) for n in nodes)

    def _expr(self, node: ast.expr, loc: Loc) -> tree.Expr:
        match node:
            case ast.Name(name):
                return tree.Name(self._allowed(name, loc), loc=loc)
            case ast.Constant(None | bool() | int() | float() | str() as value):
                return tree.Literal(value, loc=loc)
            case ast.Tuple(items) | ast.List(items):
                return tree.Sequence(self.exprs(items), loc=loc)
            case ast.UnaryOp(op, operand):
                return tree.Unary(_UNARY[type(op)], self.expr(operand), loc=loc)
            case ast.BinOp(left, op, right):
                return tree.Binary(self._op(op, loc), self.expr(left), self.expr(right), loc=loc)
            case ast.BoolOp(op, values):
                return self._logical(self._op(op, loc), values, loc)
            case ast.Compare(left, ops, rest):
                names = tuple(self._compare(op, loc) for op in ops)
                for name, operand in zip(names, rest, strict=True):
                    if name.startswith("is") and not _is_none(operand):
                        raise error("DSL0105", FOREIGN["is"][0], loc, hint=FOREIGN["is"][1])
                return tree.Compare(self.exprs([left, *rest]), names, loc=loc)
            case ast.IfExp(condition, then, otherwise):
                return tree.Conditional(
                    self.expr(condition), self.expr(then), self.expr(otherwise), loc=loc
                )
            case ast.Call():
                return self._call(node, loc)
            case ast.Attribute(value, name):
                return tree.Attribute(self.expr(value), self._allowed(name, loc), loc=loc)
            case ast.Subscript(value, index):
                items = index.elts if isinstance(index, ast.Tuple) else [index]
                parts = tuple(self._item(item) for item in items)
                return tree.Subscript(self.expr(value), parts, loc=loc)
            case _:
                raise self._foreign(node, loc)

    def _item(self, node: ast.expr) -> tree.Expr | tree.Slice:
        loc = self.loc(node)
        match node:
            case ast.Slice():
                bounds = (node.lower, node.upper, node.step)
                parts = [None if n is None else self.expr(n) for n in bounds]
                return tree.Slice(parts[0], parts[1], parts[2], loc=loc)
            case ast.Constant(value) if value is ...:
                return tree.Name("...", loc=loc)
            case _:
                return self.expr(node)

    def _call(self, node: ast.Call, loc: Loc) -> tree.Call:
        keywords = []
        for keyword in node.keywords:
            if keyword.arg is None:
                message, hint = FOREIGN_NODES["Starred"]
                raise error("DSL0105", message, self.loc(keyword), hint=hint)
            name = self._allowed(keyword.arg, self.loc(keyword))
            keywords.append(tree.Keyword(name, self.expr(keyword.value), loc=self.loc(keyword)))
        return tree.Call(self.expr(node.func), self.exprs(node.args), tuple(keywords), loc=loc)

    def _logical(self, op: str, values: list[ast.expr], loc: Loc) -> tree.Expr:
        """`a and b and c`, which `ast` keeps flat, nested to the left."""
        if self._depth + len(values) > MAX_NESTING:
            raise _too_deep(loc)
        joined = self.expr(values[0])
        for value in values[1:]:
            right = self.expr(value)
            end = loc if value is values[-1] else right.loc
            at = Loc(loc.file, loc.line, loc.col, end.end_line, end.end_col)
            joined = tree.Binary(op, joined, right, loc=at)
        return joined

    def _op(self, op: ast.operator | ast.boolop, loc: Loc) -> str:
        if isinstance(op, ast.MatMult):
            message, hint = FOREIGN["@"]
            raise error("DSL0105", message, loc, hint=hint)
        return _BINARY[type(op)]

    def _compare(self, op: ast.cmpop, loc: Loc) -> str:
        if type(op) not in _COMPARE:
            message, hint = FOREIGN["in"]
            raise error("DSL0105", message, loc, hint=hint)
        return _COMPARE[type(op)]

    def _allowed(self, name: str, loc: Loc) -> str:
        if name in OWN_KEYWORDS and name != "parallel":
            hint = "choose another name"
            raise error("DSL0104", f"`{name}` is a keyword and cannot be a name", loc, hint=hint)
        return name

    def _deeper(self, loc: Loc) -> None:
        self._depth += 1
        if self._depth > MAX_NESTING:
            raise _too_deep(loc)

    def _foreign(self, node: ast.AST, loc: Loc) -> DiagnosticError:
        kind = type(node).__name__
        message, hint = FOREIGN_NODES.get(kind, (f"there is no `{kind.lower()}`", None))
        return error("DSL0105", message, loc, hint=hint)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _too_deep(loc: Loc) -> DiagnosticError:
    hint = f"the limit is {MAX_NESTING}: give a part of it a name first"
    return error("DSL0012", "this is nested too deeply", loc, hint=hint)
