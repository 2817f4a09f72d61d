"""Types, memories, regions and locations of the text form."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from typing import TypeVar

from dslc.compiler.diagnostics import DiagnosticError, Loc
from dslc.compiler.dtypes import DType, Kind
from dslc.compiler.ir.program import PackedParam
from dslc.compiler.ir.text.parse_expressions import Scope
from dslc.compiler.ir.text.tokens import Token
from dslc.compiler.ir.values import AxisSlice, Memory, Place, Region, Role, TileType
from dslc.compiler.layout import Layout, parse_layout
from dslc.compiler.low_bit_format import storage_for

E = TypeVar("E", bound=Enum)


class TypeReader(Scope):
    """Reads what stands behind a colon, and the places of memory that statements name."""

    def declaration(self) -> Memory:
        """A memory where it is declared: `@a: in f16[M, K]`."""
        cursor = self.cursor
        token = cursor.take("memory", "a memory such as @a")
        cursor.expect(":")
        role = self._word(Role, "the role of a memory")
        place = None
        if cursor.token.text in {p.value for p in Place}:
            place = self._word(Place, "a place")
        dtype = cursor.dtype()
        cursor.expect("[")
        shape = cursor.until("]", self.expr)
        strides = None
        if cursor.accept("strides"):
            cursor.expect("(")
            strides = cursor.until(")", self.expr)
        layout = self._layout()
        packed = cursor.name("a storage").text if cursor.accept("packed") else None
        offset = cursor.integer() if cursor.accept("offset") else None
        align = cursor.integer() if cursor.accept("align") else None
        name = token.text.removeprefix("@")
        memory = Memory(
            name, dtype, shape, role, place, strides, layout, packed, offset, self.at(), align
        )
        return self.define_memory(token, memory)

    def _word(self, kind: type[E], what: str) -> E:
        token = self.cursor.name(what)
        known = {member.value: member for member in kind}
        if token.text not in known:
            raise self.cursor.unknown("word", token, known)
        return known[token.text]

    def packed_param(self) -> PackedParam:
        """A stored parameter: `w: u4[K, N]`, the layout of a tile, and its lanes."""
        cursor = self.cursor
        name = cursor.name("a parameter").text
        cursor.expect(":")
        dtype = cursor.dtype()
        cursor.expect("[")
        shape = cursor.until("]", self.expr)
        token = cursor.token
        layout = self._layout()
        if layout is None:
            raise cursor.fail("the layout of a tile")
        lanes = cursor.integer() if cursor.accept("lanes") else 1
        signed = dtype.kind is Kind.INT
        with self._located(token):
            storage = storage_for(layout.shape, dtype.bits, layout, signed=signed, lanes=lanes)
        return PackedParam(name, dtype, shape, storage)

    def layout(self) -> Layout:
        """A layout between backquotes."""
        parsed = self._layout()
        if parsed is None:
            raise self.cursor.fail("a layout")
        return parsed

    def _layout(self) -> Layout | None:
        token = self.cursor.token
        if token.kind != "layout":
            return None
        self.cursor.take("layout", "a layout")
        with self._located(token):
            return parse_layout(token.text.strip("`"))

    @contextmanager
    def _located(self, token: Token) -> Iterator[None]:
        """Diagnostics from within stand at the token."""
        try:
            yield
        except DiagnosticError as found:
            loc = self.cursor.loc(token)
            raise DiagnosticError(
                dataclasses.replace(d, loc=loc) for d in found.diagnostics
            ) from None

    def type_(self) -> TileType | DType:
        """A tile's type `f16[16]` or a scalar's `f16`, after the colon."""
        dtype = self.cursor.dtype()
        if not self.cursor.accept("["):
            return dtype
        shape = self.cursor.until("]", self.cursor.integer)
        return TileType(dtype, shape, self._layout())

    def tile_type(self) -> TileType:
        """The type of a tile, after its colon."""
        token = self.cursor.token
        self.cursor.expect(":")
        type_ = self.type_()
        if not isinstance(type_, TileType):
            raise self.cursor.mismatch("the type of a tile has a shape, such as f16[16, 64]", token)
        return type_

    def at(self) -> Loc | None:
        """The location that a statement ends with, if any."""
        cursor = self.cursor
        if not cursor.accept("at"):
            return None
        file = cursor.string()
        numbers = [0, 0, 0, 0]
        for i, before in enumerate("::-:"):
            if i == 2 and cursor.token.text != "-":
                break
            cursor.expect(before)
            numbers[i] = cursor.integer()
        return Loc(file, *numbers)

    def region(self) -> Region:
        """A region of a memory: `@a[m : +16, k]`."""
        memory = self.memory()
        self.cursor.expect("[")
        return Region(memory, self.cursor.until("]", self._axis))

    def _axis(self) -> AxisSlice:
        cursor = self.cursor
        start, size, step, dropped = self.expr(), 1, 1, True
        if cursor.accept(":"):
            cursor.expect("+")
            size, dropped = cursor.integer(), False
            step = cursor.integer() if cursor.accept(":") else 1
        limit = cursor.integer() if cursor.accept("limit") else None
        end = self.expr() if cursor.accept("end") else None
        return AxisSlice(start, size, step, dropped, not cursor.accept("!"), limit, end)
