"""The closed arithmetic of manifests: shapes, grids and conditions over dims and scalars.

Names, integers and floats; `+ - * / // % & | ^ ~ << >>`, comparisons, `and or not` and parentheses with
Python's precedence and meaning; `min max abs cdiv select` and a dtype's name as a function, which
rounds or wraps to it (`i32(x)`, `f16(x)`). Nothing else: text becomes closures over these alone.
"""

from __future__ import annotations

import functools
import math
import operator
import re
import struct
from collections.abc import Callable, Mapping
from typing import TypeAlias

from dslc.compiler.diagnostics import error

Number: TypeAlias = int | float
Values: TypeAlias = Mapping[str, Number]
Compiled: TypeAlias = Callable[[Values], Number]
_Operator: TypeAlias = Callable[..., Number]
_Node: TypeAlias = tuple[Compiled, int]  # the closure and how deep closures nest in it

_DEEPEST = 100
_LONGEST = 10_000
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<sign>//|<<|>>|<=|>=|==|!=|[-+*/%&|^~<>(),]))",
    re.ASCII,
)


def _shift(left: bool, x: int, by: int) -> int:
    if not 0 <= by < 64:
        raise ValueError("a shift by less than 0 or more than 63")
    return x << by if left else x >> by


_OR, _AND, _NOT, _COMPARE, _UNARY = 1, 2, 3, 4, 11
_OPERATORS: dict[str, tuple[int, _Operator | None]] = {
    "or": (_OR, None),
    "and": (_AND, None),
    "==": (_COMPARE, operator.eq),
    "!=": (_COMPARE, operator.ne),
    "<": (_COMPARE, operator.lt),
    "<=": (_COMPARE, operator.le),
    ">": (_COMPARE, operator.gt),
    ">=": (_COMPARE, operator.ge),
    "|": (5, operator.or_),
    "^": (6, operator.xor),
    "&": (7, operator.and_),
    "<<": (8, functools.partial(_shift, True)),
    ">>": (8, functools.partial(_shift, False)),
    "+": (9, operator.add),
    "-": (9, operator.sub),
    "*": (10, operator.mul),
    "/": (10, operator.truediv),
    "//": (10, operator.floordiv),
    "%": (10, operator.mod),
}
_PREFIXES: dict[str, tuple[int, _Operator]] = {
    "not": (_NOT, operator.not_),
    "-": (_UNARY, operator.neg),
    "+": (_UNARY, operator.pos),
    "~": (_UNARY, lambda x: -1 - operator.index(x)),
}


def _extreme(pick: Callable[[Number, Number], Number], x: Number, y: Number) -> Number:
    return x + y if math.isnan(x) or math.isnan(y) else pick(x, y)


def _wrap(signed: bool, bits: int, x: int) -> int:
    low = x & ((1 << bits) - 1)
    return low - (1 << bits) if signed and low >> (bits - 1) else low


def _round(code: str, x: Number) -> float:
    try:
        return float(struct.unpack(code, struct.pack(code, x))[0])
    except OverflowError:
        return math.copysign(math.inf, x)


_FUNCTIONS: dict[str, tuple[int, _Operator]] = {
    "abs": (1, abs),
    "min": (2, functools.partial(_extreme, min)),
    "max": (2, functools.partial(_extreme, max)),
    "cdiv": (2, lambda x, y: -(-x // y)),
    "f16": (1, functools.partial(_round, "<e")),
    "f32": (1, functools.partial(_round, "<f")),
    "f64": (1, float),
}
for _bits in (*range(1, 9), 16, 32, 64):
    _FUNCTIONS[f"i{_bits}"] = (1, functools.partial(_wrap, True, _bits))
    _FUNCTIONS[f"u{_bits}"] = (1, functools.partial(_wrap, False, _bits))


def evaluate(text: str, values: Values) -> int:
    """The integer that an expression gives; DSL0811 where it gives none of 64 bits."""
    result = _run(text, values)
    if not isinstance(result, int):
        raise error("DSL0811", f"`{text}` is not an integer: {result}")
    if not -(1 << 63) <= result < 1 << 64:
        raise error("DSL0811", f"`{text}` does not fit in 64 bits")
    return int(result)


def number(text: str, values: Values) -> Number:
    """The number that an expression gives; DSL0811 where it gives none."""
    return _run(text, values)


def holds(text: str, values: Values) -> bool:
    """Whether a condition holds."""
    return bool(_run(text, values))


@functools.lru_cache(maxsize=4096)
def compile_expression(text: str) -> Compiled:
    """The expression as a function of the names' values; DSL0810 where the text is not one."""
    return _Parser(text).whole()


def names_of(text: str) -> frozenset[str]:
    """The names whose values an expression may need."""
    words = re.findall(r"(?<![\w.])([A-Za-z_]\w*)\s*(\(?)", text, re.ASCII)
    return frozenset(name for name, call in words if not call) - {"and", "or", "not"}


def _run(text: str, values: Values) -> Number:
    try:
        return compile_expression(text)(values)
    except KeyError as missing:
        raise error("DSL0811", f"`{text}` needs a value for {missing.args[0]!r}") from None
    except ZeroDivisionError:
        raise error("DSL0811", f"division by zero in `{text}`") from None
    except (TypeError, ValueError, OverflowError) as problem:
        raise error("DSL0811", f"`{text}` has no value: {problem}") from None


class _Parser:
    """Precedence climbing over the tokens of one text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.nesting = 0
        self.tokens: list[tuple[str, str]] = []
        if len(text) > _LONGEST:
            raise error("DSL0810", f"an expression of {len(text)} characters is too long")
        at, end = 0, len(text.rstrip())
        while at < end:
            match = _TOKEN.match(text, at)
            if match is None:
                raise self.wrong(f"unexpected {text[at:].strip()[0]!r}")
            self.tokens.append((str(match.lastgroup), match[str(match.lastgroup)]))
            at = match.end()
        self.tokens.append(("end", "the end"))
        self.at = 0

    def wrong(self, what: str) -> Exception:
        shown = self.text if len(self.text) <= 60 else self.text[:57] + "..."
        return error("DSL0810", f"`{shown}` is not an expression: {what}")

    def whole(self) -> Compiled:
        run, _ = self.expression(0)
        if self.tokens[self.at][0] != "end":
            raise self.wrong(f"unexpected {self.tokens[self.at][1]!r}")
        return run

    def accept(self, *texts: str) -> str | None:
        text = self.tokens[self.at][1]
        if text not in texts:
            return None
        self.at += 1
        return text

    def expect(self, text: str) -> None:
        if not self.accept(text):
            raise self.wrong(f"expected {text!r}, found {self.tokens[self.at][1]!r}")

    def node(self, run: Compiled, *operands: _Node) -> _Node:
        depth = 1 + max((d for _, d in operands), default=0)
        if depth > _DEEPEST:
            raise self.wrong("it nests too deeply")
        return run, depth

    def expression(self, power: int) -> _Node:
        """An operand and every operator after it that binds tighter than `power`."""
        self.nesting += 1
        if self.nesting > _DEEPEST:
            raise self.wrong("it nests too deeply")
        left = self.operand(power)
        while (rule := _OPERATORS.get(self.tokens[self.at][1])) and rule[0] > power:
            self.at += 1
            binds, function = rule
            right = self.expression(binds)
            left = self.node(_combine(binds, function, left[0], right[0]), left, right)
            after = _OPERATORS.get(self.tokens[self.at][1])
            if binds == _COMPARE and after and after[0] == _COMPARE:
                raise self.wrong("comparisons do not chain")
        self.nesting -= 1
        return left

    def operand(self, power: int) -> _Node:
        sign = self.tokens[self.at][1]
        if sign not in _PREFIXES:
            return self.atom()
        binds, function = _PREFIXES[sign]
        if power > binds:
            raise self.wrong(f"unexpected {sign!r}")
        self.at += 1
        inner = self.expression(binds)
        return self.node(_apply(function, inner[0]), inner)

    def atom(self) -> _Node:
        kind, text = self.tokens[self.at]
        self.at += 1
        if kind == "number":
            if len(text) > 40:
                raise self.wrong("a number is too long")
            number = int(text) if text.isdigit() else float(text)
            return self.node(lambda values: number)
        if text == "(":
            inner = self.expression(0)
            self.expect(")")
            return inner
        if kind != "name" or text in ("and", "or", "not"):
            raise self.wrong(f"unexpected {text!r}")
        if self.accept("("):
            return self.call(text)
        return self.node(lambda values: values[text])

    def call(self, name: str) -> _Node:
        arguments = [self.expression(0)]
        while self.accept(","):
            arguments.append(self.expression(0))
        self.expect(")")
        runs = [run for run, _ in arguments]
        if name == "select" and len(runs) == 3:
            return self.node(_choice(*runs), *arguments)
        if _FUNCTIONS.get(name, (0,))[0] != len(runs):
            raise self.wrong(f"there is no function {name!r} of {len(runs)} arguments")
        return self.node(_apply(_FUNCTIONS[name][1], *runs), *arguments)


def _apply(function: _Operator, x: Compiled, y: Compiled | None = None) -> Compiled:
    if y is None:
        return lambda values: function(x(values))
    return lambda values: function(x(values), y(values))


def _combine(binds: int, function: _Operator | None, x: Compiled, y: Compiled) -> Compiled:
    if function is not None:
        return _apply(function, x, y)
    if binds == _OR:
        return lambda values: bool(x(values)) or bool(y(values))
    return lambda values: bool(x(values)) and bool(y(values))


def _choice(condition: Compiled, x: Compiled, y: Compiled) -> Compiled:
    return lambda values: x(values) if condition(values) else y(values)
