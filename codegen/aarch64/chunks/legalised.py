"""Operations that no instruction has, by the legalisation of Vector IR (compiler/vector/legal).

Its rules are asked for an operation on whole registers; each instruction that they give is one of the
vector unit's. Masks of Vector IR are lanes of ones or zeros here, as wide as the numbers.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dslc.codegen.aarch64.chunks.formats import F64, Lanes
from dslc.codegen.aarch64.machine_code.blocks import Reg
from dslc.compiler import dtypes
from dslc.compiler.vector import instructions as ins
from dslc.compiler.vector.building.registers import vector_type
from dslc.compiler.vector.legal.builder import LegalBuilder
from dslc.compiler.vector.legal.capabilities import Capabilities
from dslc.compiler.vector.legal.rules import REGISTER_RULES
from dslc.compiler.vector.types import VectorType
from dslc.compiler.vector.values import Constant, Operand, Register

if TYPE_CHECKING:
    from dslc.codegen.aarch64.emission import Emission

FUNCTIONS = frozenset({"exp", "exp2", "log", "log2", "rsqrt", "sqrt", "tanh", "sigmoid", "erf"})
"""Those whose legal form is a sequence: the others branch on numbers that are far from 0."""

_PAIR = VectorType(dtypes.F64, 2)


def unary(e: Emission, op: str, x: Lanes) -> Lanes:
    """A function of f64."""
    return _legal(e, lambda b, a: b.unary(op, a), x)


def power(e: Emission, x: Lanes, y: Lanes) -> Lanes:
    """x to the y in f64."""
    return _legal(e, lambda b, *xs: b.binary("pow", *xs), x, y)


def _legal(e: Emission, operation: Callable[..., Operand], *xs: Lanes) -> Lanes:
    builder = LegalBuilder("chunk", Capabilities(), REGISTER_RULES, exported=False)
    params = [Register(_PAIR, "x") for _ in xs]
    result = operation(builder, *params)
    (body,) = builder.bodies
    regs = []
    for own in zip(*(x.regs for x in xs), strict=True):
        known = _Registers(e, dict(zip(params, own, strict=True)))
        for stmt in body:
            known.emit(stmt)
        regs.append(known.read(result))
    return Lanes(tuple(regs), F64, xs[0].count)


_FLOATS = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
_INTEGERS = {"add": "add", "sub": "sub"}
_BITS = {"and": "and", "or": "orr", "xor": "eor"}
_COMPARED = {"eq": "cmeq", "gt": "cmgt", "ge": "cmge"}
_SWAPPED = {"lt": "gt", "le": "ge"}
_UNARY = {"neg": "fneg", "abs": "fabs", "sqrt": "fsqrt", "trunc": "frintz"}


class _Registers:
    """The registers of the vector unit that stand for those of Vector IR."""

    def __init__(self, e: Emission, known: dict[Register, Reg]) -> None:
        self.e, self.known = e, known

    def read(self, x: Operand) -> Reg:
        """An operand; a number in every lane where it is known."""
        if isinstance(x, Register):
            return self.known[x]
        return self.e.s.literal(_lane(x) * 2)

    def emit(self, stmt: Any) -> None:
        """An instruction, which defines its register."""
        self.known[stmt.out] = self._made(stmt)

    def _made(self, stmt: Any) -> Reg:
        s = self.e.s
        match stmt:
            case ins.Unary(op="not", x=x):
                return s.v("mvn {0}.16b, {1}.16b", self.read(x))
            case ins.Unary(op=op, x=x):
                return s.v(f"{_UNARY[op]} {{0}}.2d, {{1}}.2d", self.read(x))
            case ins.Binary(op=op, x=x, y=y):
                return self._binary(op, x, y)
            case ins.Fma(x=x, y=y, z=z):
                a, b, c = map(self.read, (x, y, z))
                return s.accumulate("fmla {0}.2d, {1}.2d, {2}.2d", c, a, b)
            case ins.Select(condition=condition, x=x, y=y):
                mask, a, b = map(self.read, (condition, x, y))
                return s.accumulate("bsl {0}.16b, {1}.16b, {2}.16b", mask, a, b)
            case ins.Bitcast(x=x):
                return self.read(x)
            case ins.Convert(x=x) if vector_type(x).dtype == dtypes.I64:
                return s.v("scvtf {0}.2d, {1}.2d", self.read(x))
        raise AssertionError(f"{stmt} is no instruction over f64")

    def _binary(self, op: str, x: Operand, y: Operand) -> Reg:
        s, dtype = self.e.s, vector_type(x).dtype
        if op in ("lshift", "rshift"):
            assert isinstance(y, Constant)
            word = "shl" if op == "lshift" else "sshr" if dtype.is_signed else "ushr"
            return s.v(f"{word} {{0}}.2d, {{1}}.2d, #{y.values[0]}", self.read(x))
        a, b = self.read(x), self.read(y)
        if op in _BITS:
            return s.v(f"{_BITS[op]} {{0}}.16b, {{1}}.16b, {{2}}.16b", a, b)
        if op == "ne":
            return s.v("mvn {0}.16b, {1}.16b", self._binary("eq", x, y))
        if op in _SWAPPED:
            return self._binary(_SWAPPED[op], y, x)
        kind = "f" if dtype.is_float else ""
        word = (
            f"{kind}{_COMPARED[op]}" if op in _COMPARED else ((kind and _FLOATS) or _INTEGERS)[op]
        )
        return s.v(f"{word} {{0}}.2d, {{1}}.2d, {{2}}.2d", a, b)


def _lane(x: Constant) -> bytes:
    """The 8 bytes of a number that stands in both lanes."""
    (value,) = x.values
    if x.type.dtype == dtypes.BOOL:
        return b"\xff" * 8 if value else bytes(8)
    if x.type.dtype == dtypes.F64:
        return struct.pack("<d", value)
    return (int(value) & (1 << 64) - 1).to_bytes(8, "little")
