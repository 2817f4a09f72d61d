"""The names of a kernel's text and the expressions over them."""

from __future__ import annotations

from dslc.compiler.dtypes import BOOL, DType, parse_dtype
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir.expr import COMPARE_OPS, Const, Convert, Expr, Read, Select, Var, index
from dslc.compiler.ir.text import words
from dslc.compiler.ir.text.tokens import Cursor, Token
from dslc.compiler.ir.traverse import Name, Use
from dslc.compiler.ir.values import Memory, TileType, Value


class Scope:
    """What a kernel's text has defined so far, and how its expressions are read."""

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.tiles: dict[str, Value] = {}
        self.scalars: dict[str, Var] = {}
        self.memories: dict[str, Memory] = {}

    def define_tile(self, token: Token, type_: TileType) -> Value:
        """A new tile of that name; DSL0403 where the name is taken."""
        name = token.text.removeprefix("%")
        self._untaken(token, name in self.tiles)
        self.tiles[name] = Value(type_, name)
        return self.tiles[name]

    def define_scalar(self, token: Token, dtype: DType) -> Var:
        """A new scalar of that name; DSL0403 where the name is taken."""
        self._untaken(token, token.text in self.scalars)
        self.scalars[token.text] = Var(token.text, dtype)
        return self.scalars[token.text]

    def define(self, token: Token, type_: TileType | DType) -> Name:
        """A new tile or scalar, as the token's kind says."""
        if isinstance(type_, TileType):
            return self.define_tile(token, type_)
        return self.define_scalar(token, type_)

    def define_memory(self, token: Token, memory: Memory) -> Memory:
        """A new memory; DSL0403 where the name is taken."""
        self._untaken(token, memory.name in self.memories)
        self.memories[memory.name] = memory
        return memory

    def _untaken(self, token: Token, taken: bool) -> None:
        if taken:
            raise self.cursor.defined_twice(token)

    def tile(self) -> Value:
        """A tile that is defined."""
        token = self.cursor.take("tile", "a tile such as %x")
        name = token.text.removeprefix("%")
        if name not in self.tiles:
            raise self.cursor.unknown("tile", token, (f"%{n}" for n in self.tiles))
        return self.tiles[name]

    def memory(self) -> Memory:
        """A memory that is declared."""
        token = self.cursor.take("memory", "a memory such as @a")
        name = token.text.removeprefix("@")
        if name not in self.memories:
            raise self.cursor.unknown("memory", token, (f"@{n}" for n in self.memories))
        return self.memories[name]

    def use(self) -> Use:
        """A tile or an expression."""
        return self.tile() if self.cursor.token.kind == "tile" else self.expr()

    def expr(self, level: int = 1) -> Expr:
        """An expression whose operators bind at least as tightly as `level`."""
        self.cursor.deeper()
        left = self._signed()
        while True:
            token = self.cursor.token
            op = words.OPS.get(token.text) if token.kind == "symbol" else None
            if op is None or words.PRECEDENCE[op] < level:
                break
            self.cursor.accept(token.text)
            left = self._binary(op, left, self.expr(words.PRECEDENCE[op] + 1), token)
        self.cursor.shallower()
        return left

    def _binary(self, op: str, x: Expr, y: Expr, token: Token) -> Expr:
        if x.dtype != y.dtype:
            message = f"{token.text!r} has operands of two dtypes, {x.dtype} and {y.dtype}"
            hint = f"write constants as {x.dtype}(1), conversions as cast(x, {x.dtype})"
            raise self.cursor.mismatch(message, token, hint)
        return ex.Binary(op, x, y, BOOL if op in COMPARE_OPS else x.dtype)

    def _signed(self) -> Expr:
        cursor = self.cursor
        if cursor.token.text == "-" and cursor.following.kind == "number":
            return index(cursor.integer())
        for op, sign in words.SIGNS.items():
            if cursor.accept(sign):
                x = self.expr(words.SIGN)
                return ex.Unary(op, x, x.dtype)
        return self._atom()

    def _atom(self) -> Expr:
        cursor = self.cursor
        token = cursor.token
        if token.kind == "number":
            return index(cursor.integer())
        if cursor.accept("("):
            inside = self.expr()
            cursor.expect(")")
            return inside
        token = cursor.name("an expression")
        if token.text in ("True", "False"):
            return Const(token.text == "True", BOOL)
        if cursor.accept("("):
            return self._call(token)
        if token.text not in self.scalars:
            raise cursor.unknown("scalar", token, self.scalars)
        return self.scalars[token.text]

    def _call(self, token: Token) -> Expr:
        cursor, name = self.cursor, token.text
        dtype = parse_dtype(name)
        if dtype is not None:
            value = Const(self._number(dtype), dtype)
            cursor.expect(")")
            return value
        if name == "read":
            tile = self.tile()
            cursor.expect(")")
            return Read(tile)
        if name == "cast":
            return self._convert()
        args = cursor.until(")", self.expr)
        wanted = 1 if name in words.UNARY_CALLS else 2 if name in words.BINARY_CALLS else 3
        if wanted == 3 and name != "select":
            raise cursor.unknown("operation", token, [*words.UNARY_CALLS, *words.BINARY_CALLS])
        if len(args) != wanted:
            message = f"{name} takes {wanted} operands, not {len(args)}"
            raise cursor.mismatch(message, token)
        match args:
            case (x,):
                return ex.Unary(name, x, x.dtype)
            case (x, y):
                return self._binary(name, x, y, token)
            case (condition, x, y):
                return Select(condition, x, y, x.dtype)
        raise AssertionError(args)

    def _convert(self) -> Expr:
        x = self.expr()
        self.cursor.expect(",")
        dtype = self.cursor.dtype()
        saturate = self.cursor.accept(",")
        if saturate:
            self.cursor.expect("saturate")
        self.cursor.expect(")")
        return Convert(x, dtype, saturate)

    def _number(self, dtype: DType) -> int | float | bool:
        cursor = self.cursor
        sign = -1 if cursor.accept("-") else 1
        if dtype.is_float and cursor.token.text in ("inf", "nan"):
            return sign * float(cursor.name("a number").text)
        if cursor.token.text.isdigit():
            value = sign * cursor.integer()
            return bool(value) if dtype == BOOL else value
        return sign * float(cursor.take("number", f"a number of {dtype}").text)
