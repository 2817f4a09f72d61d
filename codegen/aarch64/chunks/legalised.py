"""Operations that no instruction has, by the legalisation of Vector IR (compiler/vector/legal).

Its rules are asked for an operation on whole registers; each instruction that they give is one of the
vector unit's. Masks of Vector IR are lanes of ones or zeros here, as wide as the numbers. What branches
(sin and cos, on numbers that are far from 0) is long: a loop over the registers has it once.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from dslc.codegen.aarch64.chunks.formats import F64, Lanes
from dslc.codegen.aarch64.machine_code.blocks import Effect, Inst, Reg
from dslc.compiler import dtypes
from dslc.compiler.ir import expr as ex
from dslc.compiler.vector import instructions as ins
from dslc.compiler.vector import memory_instructions as mem
from dslc.compiler.vector.building.registers import vector_type
from dslc.compiler.vector.function import Block, If, Stmt
from dslc.compiler.vector.legal.builder import LegalBuilder, Part
from dslc.compiler.vector.legal.capabilities import Capabilities
from dslc.compiler.vector.legal.rules import REGISTER_RULES
from dslc.compiler.vector.types import VectorType
from dslc.compiler.vector.values import Constant, Operand, Register

if TYPE_CHECKING:
    from dslc.codegen.aarch64.emission import Emission

_PAIR = VectorType(dtypes.F64, 2)


class _Builder(LegalBuilder):
    """Of rare parts, too, the instructions stand where they are asked for."""

    def apart(
        self, name: str, build: Part, x: Operand, results: Sequence[VectorType]
    ) -> list[Operand]:
        """What `build` gives of x."""
        return list(build(self, x))


def unary(e: Emission, op: str, x: Lanes) -> Lanes:
    """A function of f64."""
    return _legal(e, lambda b, a: b.unary(op, a), x)


def power(e: Emission, x: Lanes, y: Lanes) -> Lanes:
    """x to the y in f64."""
    return _legal(e, lambda b, *xs: b.binary("pow", *xs), x, y)


def _legal(e: Emission, operation: Callable[..., Operand], *xs: Lanes) -> Lanes:
    builder = _Builder("chunk", Capabilities(), REGISTER_RULES, exported=False)
    params = [Register(_PAIR, "x") for _ in xs]
    result = operation(builder, *params)
    (body,) = builder.bodies

    def made(*own: Reg) -> Reg:
        known = _Registers(e, dict(zip(params, own, strict=True)))
        known.emit(body)
        return known.read(result)

    registers = list(zip(*(x.regs for x in xs), strict=True))
    branches = any(isinstance(stmt, If) for stmt in body)
    if branches and len(registers) > 1:
        return Lanes(_in_a_loop(e, made, registers), F64, xs[0].count)
    return Lanes(tuple(made(*own) for own in registers), F64, xs[0].count)


def _in_a_loop(
    e: Emission, made: Callable[..., Reg], registers: Sequence[tuple[Reg, ...]]
) -> tuple[Reg, ...]:
    """The same for each register in turn, by way of the stack's frame."""
    (xs,) = zip(*registers, strict=True)
    s, at = e.s, e.s.frame(16 * len(xs))
    alias = ("frame", at)

    def moved(op: str, where: str, *operands: Reg) -> Reg:
        effect = Effect.LOAD if op == "ldr" else Effect.STORE
        s.put(
            Inst(f"{op} {{0:q}}, {where}", operands, int(op == "ldr"), effect=effect, alias=alias)
        )
        return operands[0]

    for i, x in enumerate(xs):
        moved("str", f"[sp, #{at + 16 * i}]", x)
    with e.loop("r", ex.index(0), ex.index(len(xs)), ex.index(1), movable=False) as var:
        place = s.x("add {0}, sp, {1}, lsl #4", e.integer(var))
        x = moved("ldr", f"[{{1}}, #{at}]", s.vector(), place)
        moved("str", f"[{{1}}, #{at}]", made(x), place)
    return tuple(moved("ldr", f"[sp, #{at + 16 * i}]", s.vector()) for i in range(len(xs)))


_FLOATS = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
_INTEGERS = {"add": "add", "sub": "sub"}
_BITS = {"and": "and", "or": "orr", "xor": "eor"}
_COMPARED = {"eq": "cmeq", "gt": "cmgt", "ge": "cmge"}
_SWAPPED = {"lt": "gt", "le": "ge"}
_UNARY = {"neg": "fneg", "abs": "fabs", "sqrt": "fsqrt", "trunc": "frintz", "round": "frintn"}


class _Registers:
    """The registers of the vector unit that stand for those of Vector IR."""

    def __init__(self, e: Emission, known: dict[Register, Reg]) -> None:
        self.e, self.known = e, known

    def read(self, x: Operand) -> Reg:
        """An operand; a number in every lane where it is known."""
        if isinstance(x, Register):
            return self.known[x]
        return self.e.s.literal(_lane(x) * 2)

    def emit(self, body: Iterable[Stmt]) -> None:
        """Instructions, each of which defines its register, and branches."""
        for stmt in body:
            if isinstance(stmt, If):
                self._branch(stmt)
            else:
                self.known[stmt.out] = self._made(stmt)  # type: ignore[union-attr]

    def _branch(self, i: If) -> None:
        s, homes = self.e.s, [self.e.s.vector() for _ in i.outs]
        otherwise, end = s.label("else"), s.label("end")
        s.branch("cbz {0}, @", otherwise, self.read(i.condition))
        self._block(i.then, homes)
        s.jump(end)
        s.put(otherwise)
        self._block(i.otherwise, homes)
        s.put(end)
        self.known |= zip(i.outs, homes, strict=True)

    def _block(self, block: Block, homes: Sequence[Reg]) -> None:
        with self.e.branch():
            self.emit(block.body)
            for home, value in zip(homes, block.yields, strict=True):
                self.e.s.move(home, self.read(value))

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
            case ins.Reduce(op="or", x=x):  # of a mask: whether any lane is
                return s.x("fmov {0}, {1:d}", s.v("addp {0:d}, {1}.2d", self.read(x)))
            case mem.Table(data=Constant() as data):
                return s.x(f"adr {{0}}, {s.table(b''.join(_lanes(data))).name}")
            case mem.Gather(pointer=pointer, offset=offset, index=index, scale=8):
                return self._gathered(self.read(pointer), offset, self.read(index))
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
        if dtype == dtypes.I64 and op == "mul":
            return self._by_lanes(a, b)
        if dtype == dtypes.I64 and op == "max":
            return s.accumulate("bsl {0}.16b, {1}.16b, {2}.16b", self._binary("gt", x, y), a, b)
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

    def _by_lanes(self, a: Reg, b: Reg) -> Reg:
        s = self.e.s
        lanes = [
            s.x("mul {0}, {1}, {2}", *(s.x(f"umov {{0}}, {{1}}.d[{i}]", r) for r in (a, b)))
            for i in range(2)
        ]
        return s.onto("ins {0}.d[1], {1}", s.v("fmov {0:d}, {1}", lanes[0]), lanes[1])

    def _gathered(self, table: Reg, offset: Operand, index: Reg) -> Reg:
        assert isinstance(offset, Constant)
        s = self.e.s
        base = s.x(f"add {{0}}, {{1}}, #{offset.values[0]}", table)
        low, high = (s.x(f"umov {{0}}, {{1}}.d[{i}]", index) for i in range(2))
        out = s.v("ldr {0:d}, [{1}, {2}, lsl #3]", base, low)
        place = s.x("add {0}, {1}, {2}, lsl #3", base, high)
        return s.onto("ld1 { {0}.d }[1], [{1}]", out, place)


def _lane(x: Constant) -> bytes:
    """The 8 bytes of a number that stands in both lanes."""
    (data,) = _lanes(x)
    return data


def _lanes(x: Constant) -> list[bytes]:
    """8 bytes for each number."""
    if x.type.dtype == dtypes.BOOL:
        return [(b"\xff" if value else b"\0") * 8 for value in x.values]
    if x.type.dtype == dtypes.F64:
        return [struct.pack("<d", value) for value in x.values]
    return [(int(value) & (1 << 64) - 1).to_bytes(8, "little") for value in x.values]
