"""Statements of the text form: instructions by the table of their fields, and control flow."""

from __future__ import annotations

from typing import TypeAlias

from dslc.compiler.dtypes import INDEX, DType
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.expr import Expr, Var
from dslc.compiler.ir.instructions import Carried, Instruction, Joined, Stmt
from dslc.compiler.ir.text import words
from dslc.compiler.ir.text.parse_types import TypeReader
from dslc.compiler.ir.text.tokens import Token
from dslc.compiler.ir.traverse import Body, Field, Name, Part, Use, fields
from dslc.compiler.ir.values import TileType, Value

Named: TypeAlias = tuple[Token, TileType | DType | None]


class StatementReader(TypeReader):
    """Reads the statements of one kernel."""

    def statements(self) -> Body:
        """The statements up to a closing brace or a yield."""
        cursor = self.cursor
        cursor.lines()
        body: list[Stmt] = []
        while cursor.token.text not in ("}", "yield"):
            body.append(self._statement())
            cursor.end_line()
        return tuple(body)

    def _statement(self) -> Stmt:
        cursor = self.cursor
        named: list[Named] = []
        if cursor.token.kind == "tile" or cursor.following.text in (":", ",", "="):
            while not named or cursor.accept(","):
                named.append(self._result())
            cursor.expect("=")
        token = cursor.name("a statement")
        match token.text:
            case "for":
                return self._for(named)
            case "while":
                return self._while(named)
            case "if":
                return self._if(named)
            case "warp_specialize":
                return self._warp_specialize(named)
            case "let" if not named:
                return self._let()
            case word if word in words.WORDS and word != "let":
                return self._instruction(token, named)
        raise cursor.unknown("instruction", token, [*words.WORDS, *words.STRUCTURED])

    def _result(self) -> tuple[Token, TileType | DType | None]:
        cursor = self.cursor
        token = cursor.token
        cursor.take("tile" if token.kind == "tile" else "name", "a result")
        return token, self.type_() if cursor.accept(":") else None

    def _let(self) -> Stmt:
        token = self.cursor.name("a scalar")
        dtype = self._dtype_or_index()
        self.cursor.expect("=")
        value = self.expr()
        return ins.Let(self.define_scalar(token, dtype), value, loc=self.at())

    def _dtype_or_index(self) -> DType:
        return self.cursor.dtype() if self.cursor.accept(":") else INDEX

    def _instruction(self, token: Token, named: list[Named]) -> Instruction:
        cursor, kind = self.cursor, words.WORDS[token.text]
        parts = fields(kind)
        values: dict[str, object] = {}
        for f in parts:
            if f.name == "op":
                elementwise = kind in (ins.Unary, ins.Binary)
                values["op"] = token.text if elementwise else cursor.name("an operation").text
        positional = [
            f
            for f in parts
            if (not f.optional or f.part is Part.VALUES)
            and f.name not in values
            and (f.part is not Part.ATTRIBUTE or f.name == "text")
            and f.part is not Part.RESULT
        ]
        self._arguments(token, parts, positional, values)
        if any(f.part is Part.RESULT for f in parts) and (named or kind is not ins.AtomicRmw):
            values["out"] = self._out(token, named)
        elif named:
            raise cursor.mismatch(f"{token.text} has no result", token)
        missing = [f.name for f in parts if f.name not in values and not f.optional]
        if missing:
            raise cursor.mismatch(f"{token.text} lacks {', '.join(missing)}", token)
        values["loc"] = self.at()
        instruction: Instruction = kind(**values)  # type: ignore[arg-type]
        return instruction

    def _arguments(
        self,
        token: Token,
        parts: tuple[Field, ...],
        positional: list[Field],
        values: dict[str, object],
    ) -> None:
        """The arguments of an instruction, those with names in any order."""
        cursor = self.cursor
        by_name = {f.name: f for f in parts if f not in positional and f.part is not Part.RESULT}
        left = list(positional)
        first = True
        while cursor.token.kind not in ("line", "end") and cursor.token.text not in (
            ":",
            "}",
            "at",
        ):
            if not first:
                cursor.expect(",")
            first = False
            named = by_name.get(cursor.token.text) if cursor.token.kind == "name" else None
            if named is not None and (cursor.following.text == "=" or named.annotation == "bool"):
                cursor.accept(named.name)
                values[named.name] = self._named_value(named)
                continue
            if not left:
                raise cursor.fail(f"no further argument of {token.text}")
            f = left[0]
            if f.part in (Part.VALUES, Part.MIXED):  # takes all that come without a name
                found = values.setdefault(f.name, ())
                assert isinstance(found, tuple)
                one = self.tile() if f.part is Part.VALUES else self.use()
                values[f.name] = (*found, one)
            else:
                values[f.name] = self._positional(left.pop(0))
        if left and (left[0].part is Part.MIXED or left[0].optional):
            values.setdefault(left[0].name, ())

    def _positional(self, f: Field) -> object:
        match f.part:
            case Part.VALUE:
                return self.tile()
            case Part.EXPR:
                return self.expr()
            case Part.REGION:
                return self.region()
            case Part.MEMORY:
                return self.declaration()
            case _:
                return self.cursor.string()

    def _named_value(self, f: Field) -> object:
        cursor = self.cursor
        if not cursor.accept("="):
            return True
        if f.part is not Part.ATTRIBUTE:
            return self._positional(f)
        if f.annotation.startswith("Layout"):
            return self.layout()
        if f.annotation.startswith("tuple"):
            cursor.expect("(")
            return cursor.until(")", cursor.integer)
        return cursor.string() if f.annotation.startswith("str") else cursor.integer()

    def _out(self, token: Token, named: list[Named]) -> Value:
        if len(named) != 1 or named[0][0].kind != "tile" or named[0][1] is not None:
            message = f"{token.text} has one result: write %x = {token.text} ... : f16[16]"
            raise self.cursor.mismatch(message, token)
        return self.define_tile(named[0][0], self.tile_type())

    def range(self) -> tuple[Var, Expr, Expr, Expr]:
        """A loop's variable, which is defined, and its start, stop and step."""
        cursor = self.cursor
        token = cursor.name("a loop variable")
        dtype = self._dtype_or_index()
        cursor.expect("in")
        cursor.expect("range")
        cursor.expect("(")
        where = cursor.token
        bounds = cursor.until(")", self.expr)
        if len(bounds) != 3:
            raise cursor.mismatch("a range has a start, a stop and a step", where)
        return (self.define_scalar(token, dtype), *bounds)

    def _for(self, named: list[Named]) -> Stmt:
        var, start, stop, step = self.range()
        options = ("stages", "unroll", "split", "atomic")
        given: dict[str, int] = {}
        while self.cursor.token.text in options:
            name = self.cursor.name("an option").text
            self.cursor.expect("=")
            given[name] = self.cursor.integer()
        inners, inits = self._carry(named)
        loc = self.at()
        body, yields = self._block(len(inners))
        carried = self._carried(named, inners, inits, yields)
        return ins.For(var, start, stop, step, body, carried, **given, loc=loc)

    def _while(self, named: list[Named]) -> Stmt:
        cursor = self.cursor
        inners, inits = self._carry(named)
        loc = self.at()
        before, _ = self._block(0)
        cursor.expect("test")
        condition = self.expr()
        cursor.expect("do")
        body, yields = self._block(len(inners))
        carried = self._carried(named, inners, inits, yields)
        return ins.While(before, condition, body, carried, loc=loc)

    def _if(self, named: list[Named]) -> Stmt:
        cursor = self.cursor
        condition = self.expr()
        loc = self.at()
        then, thens = self._block(len(named))
        otherwise: Body = ()
        others: tuple[Use, ...] = ()
        if cursor.accept("else"):
            otherwise, others = self._block(len(named))
        elif named:
            raise cursor.fail("'else'")
        joined: list[Joined] = []
        for (token, type_), a, b in zip(named, thens, others, strict=True):
            if type_ is None:
                raise cursor.mismatch(f"{token.text} lacks its type", token)
            joined.append(Joined(self._define(token, type_), a, b))
        return ins.If(condition, then, otherwise, tuple(joined), loc=loc)

    def _warp_specialize(self, named: list[Named]) -> Stmt:
        cursor = self.cursor
        if named:
            raise cursor.mismatch("a warp_specialize has no results", named[0][0])
        given: dict[str, int] = {}
        while cursor.token.text in ("warps", "registers"):
            name = cursor.name("an option").text
            cursor.expect("=")
            given[name] = cursor.integer()
        if "warps" not in given:
            raise cursor.fail("'warps'")
        loc = self.at()
        body, _ = self._block(0)
        return ins.WarpSpecialize(body, given["warps"], given.get("registers"), loc=loc)

    def _carry(self, named: list[Named]) -> tuple[list[Name], list[Use]]:
        cursor = self.cursor
        where = cursor.token
        pairs: tuple[tuple[Token, TileType | DType, Use], ...] = ()
        if cursor.accept("carry"):
            cursor.expect("(")
            pairs = cursor.until(")", self._carry_item)
        if len(pairs) != len(named):
            message = f"{len(pairs)} values are carried, but the loop has {len(named)} results"
            raise cursor.mismatch(message, where)
        inners = [self._define(token, type_) for token, type_, _ in pairs]
        return inners, [init for _, _, init in pairs]

    def _carry_item(self) -> tuple[Token, TileType | DType, Use]:
        token, type_ = self._result()
        if type_ is None:
            raise self.cursor.fail("':' and a type")
        self.cursor.expect("=")
        return token, type_, self.use()

    def _define(self, token: Token, type_: TileType | DType) -> Name:
        if (token.kind == "tile") != isinstance(type_, TileType):
            raise self.cursor.mismatch(f"{token.text} cannot have this type", token)
        return self.define(token, type_)

    def _carried(
        self,
        named: list[Named],
        inners: list[Name],
        inits: list[Use],
        yields: tuple[Use, ...],
    ) -> tuple[Carried, ...]:
        carried: list[Carried] = []
        for (token, given), inner, init, yielded in zip(named, inners, inits, yields, strict=True):
            type_ = given or (inner.type if isinstance(inner, Value) else inner.dtype)
            carried.append(Carried(self._define(token, type_), inner, init, yielded))
        return tuple(carried)

    def _block(self, handed: int) -> tuple[Body, tuple[Use, ...]]:
        """A body between braces and the values that it yields, as many as are handed on."""
        cursor = self.cursor
        cursor.expect("{")
        cursor.deeper()
        body = self.statements()
        where = cursor.token
        uses: list[Use] = []
        if cursor.accept("yield"):
            while not uses or cursor.accept(","):
                uses.append(self.use())
            cursor.end_line()
        cursor.expect("}")
        cursor.shallower()
        if len(uses) != handed:
            raise cursor.mismatch(f"{handed} values should be yielded here, not {len(uses)}", where)
        return body, tuple(uses)
