"""Register tiles: what a tile is in C, and how one of its elements is read and written."""

from __future__ import annotations

from dataclasses import dataclass

from dslc.codegen.c_family.ctypes_of import element_type, is_packed, words
from dslc.compiler.dtypes import DType, Kind
from dslc.compiler.ir import Value
from dslc.compiler.layout import Layout

_STANDARD_SMALL = ("f8e4m3", "f8e5m2", "f8e3m4")


@dataclass(frozen=True, slots=True)
class Tile:
    """The registers of a tile: C array `name`, `count` elements a thread."""

    name: str
    dtype: DType
    layout: Layout

    @property
    def count(self) -> int:
        """Elements a thread."""
        return self.layout.locals

    @property
    def words(self) -> int:
        """Elements of the C array."""
        return words(self.dtype, self.count)

    @property
    def declaration(self) -> str:
        """The array's type and name."""
        ctype = "unsigned" if is_packed(self.dtype) else element_type(self.dtype)
        return f"{ctype} {self.name}[{self.words}]"

    def renamed(self, name: str) -> Tile:
        """Registers of the same kind under another name."""
        return Tile(name, self.dtype, self.layout)

    def read(self, i: str) -> str:
        """Element i, in its element type."""
        return read(self.name, self.dtype, i)

    def write(self, i: str, x: str) -> str:
        """The statement that sets element i."""
        return write(self.name, self.dtype, i, x)


def tile_of(value: Value, name: str) -> Tile:
    """The registers for a value, whose layout is decided."""
    assert value.type.layout is not None, f"{value.name} has no layout"
    return Tile(name, value.type.dtype, value.type.layout)


def read(array: str, dtype: DType, i: str) -> str:
    """Element i of an array of a dtype."""
    if not is_packed(dtype):
        return f"{array}[{i}]"
    return decode(f"get_bits<{dtype.bits}>({array}, {i})", dtype)


def write(array: str, dtype: DType, i: str, x: str) -> str:
    """The statement that sets element i."""
    if not is_packed(dtype):
        return f"{array}[{i}] = {x};"
    return f"set_bits<{dtype.bits}>({array}, {i}, {encode(x, dtype)});"


def decode(bits: str, dtype: DType) -> str:
    """The value of a code."""
    if not is_packed(dtype):
        return bits
    if dtype.kind is Kind.UINT:
        return bits
    if dtype.kind is Kind.INT:
        return f"sign_extend<{dtype.bits}>({bits})"
    if dtype.name in ("f16", "bf16", "e8m0", *_STANDARD_SMALL):
        return f"decode_{dtype.name}({bits})"
    return f"decode_small<{dtype.exponent}, {dtype.mantissa}>({bits})"


def held(x: str, dtype: DType) -> str:
    """A value as its dtype holds it: C computes narrow integers in int, narrow floats in float."""
    if dtype.kind in (Kind.BOOL, Kind.INDEX):
        return x
    if dtype.name == "tf32":
        return f"round_tf32({x})"
    if not is_packed(dtype):
        return x
    if dtype.is_float or dtype.kind is Kind.SCALE:
        return decode(encode(x, dtype), dtype)
    mask = f" & {(1 << dtype.bits) - 1}u" if dtype.kind is Kind.UINT else ""
    return decode(f"((unsigned)({x}){mask})", dtype)


def encode(x: str, dtype: DType) -> str:
    """The code of a value, in the low bits."""
    if not dtype.is_float:
        return f"(unsigned)({x})"
    if dtype.name in ("f16", "bf16", "e8m0", *_STANDARD_SMALL):
        return f"encode_{dtype.name}({x})"
    return f"encode_small<{dtype.exponent}, {dtype.mantissa}>({x})"
