"""What the grammar does not say: where declarations, targets and `return` may stand.

Both front-ends hold their trees to these rules.
"""

from __future__ import annotations

from collections.abc import Callable

from dslc.compiler.diagnostics import Diagnostic, Loc
from dslc.frontend import tree


def check_module(module: tree.Module, report: Callable[[Diagnostic], None]) -> None:
    """Report every place where a tree breaks the rules."""
    check = _Check(report)
    for item in module.items:
        match item:
            case tree.Kernel() | tree.Program():
                check.declarations_first(item.body)
                check.block(item.body)
            case tree.Function():
                check.function(item)
            case _:
                pass


class _Check:
    def __init__(self, report: Callable[[Diagnostic], None]) -> None:
        self.report = report

    def declarations_first(self, body: tuple[tree.Statement, ...]) -> None:
        """Declarations after another statement of the body."""
        begun = False
        for statement in body:
            if not isinstance(statement, tree.Const | tree.Tune | tree.Require):
                begun = True
            elif begun:
                self._misplaced(statement, "declarations come first in a kernel")

    def function(self, function: tree.Function) -> None:
        """A function declares nothing and returns once, at its end."""
        last = function.body[-1] if function.body else None
        for statement in function.body:
            if isinstance(statement, tree.Const | tree.Tune | tree.Require):
                self._misplaced(statement, "a function has no declarations")
            elif statement is not last or not isinstance(statement, tree.Return):
                self.statement(statement)

    def block(self, body: tuple[tree.Statement, ...]) -> None:
        """Statements of a kernel's own level, whose declarations were looked at."""
        for statement in body:
            if not isinstance(statement, tree.Const | tree.Tune | tree.Require):
                self.statement(statement)

    def statement(self, statement: tree.Statement) -> None:
        """One statement and those inside it."""
        match statement:
            case tree.Const() | tree.Tune() | tree.Require():
                self._misplaced(
                    statement, "declarations come first in a kernel, not inside a block"
                )
            case tree.Return():
                self._returns(statement)
            case tree.ExprStatement(value):
                self._effect(value)
            case tree.Assign(target):
                self._target(target, tuples=True)
            case tree.AugAssign(target):
                self._target(target, tuples=False)
            case tree.For() | tree.While():
                for inner in statement.body:
                    self.statement(inner)
            case tree.If():
                for inner in (*statement.then, *statement.otherwise):
                    self.statement(inner)
            case _:
                pass

    def _misplaced(self, statement: tree.Const | tree.Tune | tree.Require, why: str) -> None:
        word = type(statement).__name__.lower()
        hint = "move it to the top of the kernel"
        self._error("DSL0109", f"`{word}` cannot stand here: {why}", statement.loc, hint)

    def _returns(self, statement: tree.Return) -> None:
        self._error(
            "DSL0110",
            "`return` stands only at the end of a `def`",
            statement.loc,
            "a kernel gives its results by writing its `out` parameters; inside a function assign to "
            "a name and return that at the end",
        )

    def _effect(self, value: tree.Expr) -> None:
        if isinstance(value, tree.Call):
            return
        if isinstance(value, tree.Literal) and isinstance(value.value, str):
            where = "write a comment with `#`; a docstring comes first in its kernel or function"
            self._error("DSL0108", "a string alone does nothing here", value.loc, where)
            return
        compared = isinstance(value, tree.Compare) and value.ops == ("==",)
        hint = "write `=` to assign" if compared else None
        self._error(
            "DSL0108", "this expression does nothing: its value is not used", value.loc, hint
        )

    def _target(self, target: tree.Expr, *, tuples: bool) -> None:
        match target:
            case tree.Name() | tree.Subscript():
                return
            case tree.Sequence(items) if tuples and items:
                for item in items:
                    if not isinstance(item, tree.Name):
                        self._bad_target(item, "in a tuple")
            case _:
                self._bad_target(target, "")

    def _bad_target(self, target: tree.Expr, where: str) -> None:
        what = {
            tree.Call: "a call",
            tree.Literal: "a literal",
            tree.Attribute: "an attribute",
            tree.Sequence: "a tuple",
            tree.Compare: "a comparison",
            tree.Conditional: "a choice",
            tree.Subscript: "a slice",
        }.get(type(target), "an expression")
        hint = "the left side is a name, a slice `t[...]`, or several names"
        if isinstance(target, tree.Compare):
            hint = "`==` compares, `=` assigns"
        message = f"cannot assign to {what} {where}".rstrip()
        self._error("DSL0106", message, target.loc, hint)

    def _error(self, code: str, message: str, loc: Loc, hint: str | None) -> None:
        self.report(Diagnostic(code, message, loc, hint))
