"""Names are defined once and before they are used, every instruction keeps its rule, and loops and
branches hand on values of one type. The first rule that is broken is an error with its statement.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dslc.compiler.diagnostics import DiagnosticError, error
from dslc.compiler.dtypes import BOOL, I32, INDEX
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
from dslc.compiler.vector.text.printer import print_statement
from dslc.compiler.vector.traverse import blocks, entering, operands, results
from dslc.compiler.vector.types import Type, VectorType
from dslc.compiler.vector.values import Constant, Operand, Register
from dslc.compiler.vector.verifying.memory_rules import check_access
from dslc.compiler.vector.verifying.register_rules import REGISTER_RULES


def verify(module: Module) -> None:
    """DSL0410 to DSL0417 where a function breaks a rule of Vector IR."""
    before: dict[str, Function] = {}
    for function in module.functions:
        _Verifier(function, before).run()
        before[function.name] = function


class _Verifier:
    """Walks a function with the registers that are visible at each place."""

    def __init__(self, function: Function, before: dict[str, Function]) -> None:
        self.function = function
        self.before = before
        self.visible: set[Register] = set()
        self.defined: set[Register] = set()
        self.stmt: Stmt | None = None

    def fail(self, code: str, message: str) -> DiagnosticError:
        where = f"function {self.function.name}"
        if self.stmt is None:
            return error(code, f"{message}\n  in: {where}", self.function.loc)
        loc = self.stmt.loc or self.function.loc
        return error(code, f"{message}\n  in: {print_statement(self.stmt)}\n  of: {where}", loc)

    def run(self) -> None:
        if self.function.name in self.before:
            raise self.fail("DSL0411", f"{self.function.name} is defined twice")
        for p in self.function.params:
            self.define(p.register)
            if isinstance(p.register.type, VectorType) and p.register.type.lanes is not None:
                raise self.fail("DSL0412", "a parameter is a scalar or a pointer")
        self.block(Block(self.function.body), ())

    def define(self, register: Register) -> None:
        if register in self.defined:
            raise self.fail("DSL0411", f"%{register.name} is defined twice")
        self.defined.add(register)
        self.visible.add(register)

    def use(self, x: Operand) -> None:
        if isinstance(x, Constant):
            if len(x.values) not in (1, x.type.count):
                raise self.fail("DSL0412", f"a constant of {x.type} has {len(x.values)} numbers")
        elif x not in self.visible:
            raise self.fail("DSL0410", f"%{x.name} is not defined here")

    def block(self, block: Block, types: Sequence[Type], *, opens: bool = False) -> None:
        """A block that yields operands of these types; `opens`: what it defines stays visible."""
        outside = set(self.visible)
        holder = self.stmt
        for number, stmt in enumerate(block.body):
            self.stmt = stmt
            self.statement(stmt)
            if isinstance(stmt, Return) and number + 1 < len(block.body):
                raise self.fail("DSL0416", "nothing follows a return")
        self.stmt = holder
        for x in block.yields:
            self.use(x)
        returns = bool(block.body) and isinstance(block.body[-1], Return)
        if not (returns and not block.yields):
            self.agree("a block yields", tuple(x.type for x in block.yields), types)
        if not opens:
            self.visible = outside

    def agree(self, what: str, found: Sequence[Type], wanted: Sequence[Type]) -> None:
        if tuple(found) != tuple(wanted):
            texts = [", ".join(map(str, types)) or "nothing" for types in (found, wanted)]
            raise self.fail("DSL0417", f"{what} {texts[0]}, not {texts[1]}")

    def statement(self, stmt: Any) -> None:
        for x in operands(stmt):
            self.use(x)
        match stmt:
            case For() | While() | If():
                self.control(stmt)
            case Return():
                self.agree("a status is", (stmt.status.type,), (VectorType(I32),))
            case Call():
                self.call(stmt)
            case _:
                rule = REGISTER_RULES.get(type(stmt), check_access)
                if failed := rule(stmt):
                    raise self.fail(*failed)
        for register in results(stmt):
            self.define(register)

    def call(self, stmt: Call) -> None:
        callee = self.before.get(stmt.function)
        if callee is None:
            raise self.fail("DSL0410", f"no function {stmt.function} is before this one")
        wanted = tuple(p.register.type for p in callee.params)
        self.agree("the arguments are", tuple(x.type for x in stmt.args), wanted)
        self.agree("the status is", (stmt.out.type,), (VectorType(I32),))

    def control(self, stmt: For | While | If) -> None:
        types = tuple(r.type for r in stmt.outs)
        outside = set(self.visible)
        for register in entering(stmt):
            self.define(register)
        match stmt:
            case For():
                bounds = (stmt.begin.type, stmt.end.type, stmt.var.type)
                self.agree("the range is over", bounds, (VectorType(INDEX),) * 3)
                if stmt.step == 0 or stmt.unroll < 1:
                    raise self.fail("DSL0416", "a step is not 0, and unroll is 1 or more")
            case If():
                self.agree("the condition is", (stmt.condition.type,), (VectorType(BOOL),))
        if not isinstance(stmt, If):
            self.agree("the loop starts with", [x.type for x in stmt.starts], types)
            self.agree("the loop carries", [r.type for r in stmt.carried], types)
        if isinstance(stmt, While):
            self.while_(stmt, types)
        else:
            for block in blocks(stmt):
                self.block(block, types)
        self.visible = outside

    def while_(self, stmt: While, types: Sequence[Type]) -> None:
        """The block sees what the test defines."""
        if stmt.test.body and isinstance(stmt.test.body[-1], Return):
            raise self.fail("DSL0416", "a test yields a bool")
        self.block(stmt.test, (VectorType(BOOL),), opens=True)
        self.block(stmt.block, types)
