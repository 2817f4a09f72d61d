"""The C types of emitted HIP and what FlyDSL calls them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number: `fly` is its class in `flydsl.expr`."""

    fly: str
    bits: int
    signed: bool = True
    floating: bool = False


@dataclass(frozen=True, slots=True)
class Pointer:
    """The address of elements of a type, None for those of any."""

    to: Scalar | None


@dataclass(frozen=True, slots=True)
class Other:
    """A type of which only the name matters: vectors, and the types of templates."""

    name: str


Type = Scalar | Pointer | Other

BOOL = Scalar("Boolean", 1, signed=False)
INT, UNSIGNED = Scalar("Int32", 32), Scalar("Uint32", 32, signed=False)
LONG, ULONG = Scalar("Int64", 64), Scalar("Uint64", 64, signed=False)
FLOAT, DOUBLE = Scalar("Float32", 32, floating=True), Scalar("Float64", 64, floating=True)
HALF = Scalar("Float16", 16, floating=True)
VOID = Other("void")

NAMES: dict[str, Scalar] = {
    "bool": BOOL, "char": Scalar("Int8", 8), "signed char": Scalar("Int8", 8),
    "unsigned char": Scalar("Uint8", 8, signed=False), "short": Scalar("Int16", 16),
    "unsigned short": Scalar("Uint16", 16, signed=False), "int": INT, "unsigned": UNSIGNED,
    "unsigned int": UNSIGNED, "long": LONG, "long long": LONG, "unsigned long": ULONG,
    "unsigned long long": ULONG, "float": FLOAT, "double": DOUBLE, "_Float16": HALF,
}  # fmt: skip


def promoted(t: Scalar) -> Scalar:
    """What an operand becomes before arithmetic: integers narrower than `int` become that."""
    return INT if not t.floating and t.bits < INT.bits else t


def common(a: Scalar, b: Scalar) -> Scalar:
    """The type of arithmetic on two (C, 6.3.1.8: the usual arithmetic conversions)."""
    a, b = promoted(a), promoted(b)
    if a.floating != b.floating:
        return a if a.floating else b
    if a.bits != b.bits:
        return a if a.bits > b.bits else b
    return b if a.signed else a
