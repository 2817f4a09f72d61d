"""Names and expressions of the text form of Tile IR; `printer` has the grammar."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from dslc.compiler.diagnostics import Loc
from dslc.compiler.dtypes import BOOL, INDEX
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir.expr import Const, Convert, Expr, Read, Select, Var
from dslc.compiler.ir.rewrite import fresh_name
from dslc.compiler.ir.text import words
from dslc.compiler.ir.traverse import Name, Use
from dslc.compiler.ir.values import AxisSlice, Memory, Region, Value


class ExpressionPrinter:
    """Expressions of one kernel: tiles and memories get names that are theirs alone."""

    def __init__(self, locations: bool) -> None:
        self.locations = locations
        self._tiles: dict[Value, str] = {}
        self._memories: dict[Memory, str] = {}
        self._taken: tuple[set[str], set[str]] = (set(), set())

    def tile(self, value: Value) -> str:
        """The name of a tile, its own in the text."""
        if value not in self._tiles:
            self._tiles[value] = fresh_name(_identifier(value.name, "t"), self._taken[0])
        return f"%{self._tiles[value]}"

    def memory(self, memory: Memory) -> str:
        """The name of a memory, its own in the text."""
        if memory not in self._memories:
            self._memories[memory] = fresh_name(_identifier(memory.name, "m"), self._taken[1])
        return f"@{self._memories[memory]}"

    def name(self, name: Name) -> str:
        """The name of a tile or scalar."""
        return self.tile(name) if isinstance(name, Value) else name.name

    def scalar(self, var: Var) -> str:
        """A scalar where it is defined: its name, and its dtype unless it is an index."""
        return var.name if var.dtype == INDEX else f"{var.name}: {var.dtype}"

    def use(self, use: Use) -> str:
        """A tile or an expression."""
        return self.tile(use) if isinstance(use, Value) else self.expr(use)

    def region(self, region: Region) -> str:
        """A region of a memory."""
        return f"{self.memory(region.memory)}[{', '.join(map(self._axis, region.axes))}]"

    def _axis(self, axis: AxisSlice) -> str:
        text = self.expr(axis.start)
        if not axis.dropped:
            text += f" : +{axis.size}" + (f" : {axis.step}" if axis.step != 1 else "")
        if axis.limit is not None:
            text += f" limit {axis.limit}"
        if axis.end is not None:
            text += f" end {self.expr(axis.end)}"
        return text if axis.checked else f"{text}!"

    def range(self, start: Expr, stop: Expr, step: Expr) -> str:
        """The bounds of a loop."""
        return f"range({self.exprs((start, stop, step))})"

    def exprs(self, exprs: Iterable[Expr]) -> str:
        """Expressions, with commas."""
        return ", ".join(map(self.expr, exprs))

    def expr(self, expr: Expr, level: int = 0) -> str:
        """The expression, in parentheses if it binds less tightly than `level`."""
        text, own = self._expr(expr)
        return f"({text})" if own < level else text

    def _expr(self, expr: Expr) -> tuple[str, int]:
        match expr:
            case Const(value, dtype):
                return _constant(value, dtype == INDEX, dtype == BOOL, str(dtype))
            case Var(name):
                return name, words.ATOM
            case Read(value):
                return f"read({self.tile(value)})", words.ATOM
            case ex.Unary(op, x) if op in words.SIGNS:
                inside = f"({self.expr(x)})" if isinstance(x, Const) else self.expr(x, words.SIGN)
                return words.SIGNS[op] + inside, words.SIGN
            case ex.Unary(op, x):
                return f"{op}({self.expr(x)})", words.ATOM
            case ex.Binary(op, x, y) if op in words.SYMBOLS:
                level = words.PRECEDENCE[op]
                left, right = self.expr(x, level), self.expr(y, level + 1)
                return f"{left} {words.SYMBOLS[op]} {right}", level
            case ex.Binary(op, x, y):
                return f"{op}({self.expr(x)}, {self.expr(y)})", words.ATOM
            case Select(condition, x, y):
                return f"select({self.exprs((condition, x, y))})", words.ATOM
            case Convert(x, dtype, saturate):
                flag = ", saturate" if saturate else ""
                return f"cast({self.expr(x)}, {dtype}{flag})", words.ATOM

    def at(self, loc: Loc | None) -> str:
        """Where a statement stands in its source, if that is asked for."""
        if loc is None or not self.locations:
            return ""
        end = f"-{loc.end_line}:{loc.end_col}" if loc.end_line else ""
        return f" at {quoted(loc.file)}:{loc.line}:{loc.col}{end}"


def _constant(value: float, is_index: bool, is_bool: bool, dtype: str) -> tuple[str, int]:
    if is_bool:
        return str(bool(value)), words.ATOM
    if is_index:
        return str(value), words.ATOM if value >= 0 else words.SIGN
    return f"{dtype}({value!r})", words.ATOM


def _identifier(hint: str, default: str) -> str:
    text = re.sub(r"[^A-Za-z0-9_.]", "_", hint)
    return text if re.match(r"[A-Za-z_]", text) else f"{default}{text}"


def quoted(text: str) -> str:
    """A text between quotes; letters of any script as they are, what does not print by escapes."""
    return json.dumps(text, ensure_ascii=not text.replace("\n", "").isprintable())
