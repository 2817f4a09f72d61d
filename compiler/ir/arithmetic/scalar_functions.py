"""Scalar expressions as Python functions of the frame.

Index and bool arithmetic becomes Python source (exact integers), one assignment a node so that depth
does not matter; scalars of other dtypes are NumPy scalars and use the tiles' functions. The source
holds slot numbers, integers and operators only: constants of other kinds are passed beside it.

A *frame* is a list; which of its slots a scalar stands in, `Slots` says.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, Protocol, TypeAlias, assert_never

import numpy as np
from dslc.compiler.dtypes import BOOL, DType, Kind, cast, encode, round_to, value_dtype
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir.arithmetic import elements
from dslc.compiler.ir.values import Value

Frame: TypeAlias = list[Any]
Scalar: TypeAlias = Callable[[Frame], Any]


class Slots(Protocol):
    """Where a frame holds what expressions read."""

    def slot(self, name: Value | ex.Var) -> int:
        """The slot of a scalar, or of a tile of one element that is read as one."""

    def guard(self, value: Value) -> Callable[[Frame], None] | None:
        """What is to be called before a tile is read as a scalar, where something is."""


_INDEX_OPS = {
    "add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "and": "{} & {}", "or": "{} | {}",
    "xor": "{} ^ {}", "floordiv": "{0} // {1} if {1} else 0", "mod": "{0} % {1} if {1} else 0",
    "min": "{0} if {0} <= {1} else {1}", "max": "{0} if {0} >= {1} else {1}",
    "shl": "{0} << {1} if 0 <= {1} < 64 else 0", "shr": "{0} >> {1} if 0 <= {1} < 64 else 0",
    "pow": "power({}, {})",
    "eq": "{} == {}", "ne": "{} != {}", "lt": "{} < {}", "le": "{} <= {}", "gt": "{} > {}",
    "ge": "{} >= {}", "neg": "-{}", "abs": "abs({})", "invert": "~{}",
    "floor": "{}", "ceil": "{}", "round": "{}",
}  # fmt: skip
_BOOL_OPS = {
    "and": "{} and {}", "or": "{} or {}", "xor": "{} is not {}", "eq": "{} is {}",
    "ne": "{} is not {}", "lt": "{} < {}", "le": "{} <= {}", "gt": "{} > {}", "ge": "{} >= {}",
    "min": "{} and {}", "max": "{} or {}", "not": "not {}", "invert": "not {}",
}  # fmt: skip


def constant(value: float, dtype: DType) -> Any:
    """A number as a scalar of the dtype."""
    if dtype.kind is Kind.INDEX:
        return int(value)
    if dtype == BOOL:
        return bool(value)
    if dtype.is_float:
        return round_to(np.asarray(value, np.float64), dtype)[()]
    low, high = dtype.integer_range
    return value_dtype(dtype).type((int(value) - low) % (high - low + 1) + low)


def convert(x: Any, src: DType, dst: DType, saturate: bool) -> Any:
    """`cast(x, dst)` of one scalar."""
    if dst == BOOL:
        return bool(x != 0)
    if src.is_integer and dst.kind is Kind.INDEX:
        return int(x)
    if src.is_integer and dst.is_integer:
        low, high = dst.integer_range
        return constant(min(max(int(x), low), high) if saturate else int(x), dst)
    source = value_dtype(src).type(x)
    result = cast(source, src, dst, saturate)[()]
    return int(result) if dst.kind is Kind.INDEX else result


def code(x: Any, dtype: DType) -> Any:
    """The storage code of a scalar."""
    return encode(np.asarray(x), dtype)[()]


def compile_scalar(slots: Slots, expr: ex.Expr) -> Scalar:
    """The expression as a function of the frame."""
    match expr:
        case ex.Const(value, dtype):
            fixed = constant(value, dtype)
            return lambda f: fixed
        case ex.Var():
            return itemgetter(slots.slot(expr))
        case _:
            writer = _Writer(slots)
            return writer.function(writer.operand(expr))


def compile_scalars(slots: Slots, exprs: Sequence[ex.Expr]) -> Callable[[Frame], tuple[Any, ...]]:
    """Several expressions as one function that gives a tuple."""
    if all(isinstance(e, ex.Const) for e in exprs):
        fixed = tuple(constant(e.value, e.dtype) for e in exprs if isinstance(e, ex.Const))
        return lambda f: fixed
    writer = _Writer(slots)
    parts = "".join(f"{writer.operand(e)}, " for e in exprs)
    return writer.function(f"({parts})")


def _power(base: int, exponent: int) -> int:
    if exponent >= 0:
        return int(base**exponent)
    return 0 if base not in (1, -1) else base if exponent % 2 else 1


@dataclass(slots=True)
class _Writer:
    """Source of one function: a line an inner node, each named once however often it is used."""

    slots: Slots
    lines: list[str] = field(default_factory=list)
    constants: dict[str, Any] = field(default_factory=lambda: {"power": _power})
    named: dict[int, str] = field(default_factory=dict)

    def function(self, result: str) -> Callable[[Frame], Any]:
        body = "".join(f"    {line}\n" for line in self.lines)
        space = dict(self.constants)
        exec(compile(f"def scalar(f):\n{body}    return {result}\n", "<scalar>", "exec"), space)
        scalar: Callable[[Frame], Any] = space["scalar"]
        return scalar

    def operand(self, expr: ex.Expr) -> str:
        """The text that stands for an expression; its operands are written first, without recursion."""
        stack = [expr]
        while stack:
            node = stack[-1]
            pending = [c for c in ex.children(node) if id(c) not in self.named]
            if pending:
                stack.extend(pending)
                continue
            stack.pop()
            if id(node) not in self.named:
                self.named[id(node)] = self._write(node)
        return self.named[id(expr)]

    def _write(self, node: ex.Expr) -> str:
        names = [self.named[id(c)] for c in ex.children(node)]
        match node:
            case ex.Const(value, dtype):
                known = constant(value, dtype)
                if not elements.is_plain(dtype):
                    return self._constant(known)
                return repr(known) if known >= 0 else f"({known})"
            case ex.Var():
                return self._line(f"f[{self.slots.slot(node)}]")
            case ex.Read(value):
                plain = {Kind.INDEX: "int", Kind.BOOL: "bool"}.get(node.dtype.kind, "")
                if (check := self.slots.guard(value)) is not None:
                    self.lines.append(f"{self._constant(check)}(f)")
                return self._line(f"{plain}(f[{self.slots.slot(value)}][()])")
            case ex.Unary(op, x, dtype):
                return self._operation(op, x.dtype, dtype, names, elements.unary)
            case ex.Binary(op, x, _, dtype):
                return self._operation(op, x.dtype, dtype, names, elements.binary)
            case ex.Select():
                return self._line("{1} if {0} else {2}".format(*names))
            case ex.Convert(x, dtype, saturate):
                function = functools.partial(convert, src=x.dtype, dst=dtype, saturate=saturate)
                return self._line(f"{self._constant(function)}({names[0]})")
            case _:
                assert_never(node)

    def _operation(
        self,
        op: str,
        operand: DType,
        result: DType,
        names: list[str],
        functions: Callable[[str, DType], elements.Function],
    ) -> str:
        table = {Kind.INDEX: _INDEX_OPS, Kind.BOOL: _BOOL_OPS}.get(operand.kind, {})
        if op in table:
            return self._line(table[op].format(*names))
        called = f"{self._constant(functions(op, operand))}({', '.join(names)})"
        if result == BOOL:
            return self._line(f"bool({called})")
        return self._line(f"{called}[()]")

    def _line(self, text: str) -> str:
        name = f"t{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        return name

    def _constant(self, value: Any) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = value
        return name
