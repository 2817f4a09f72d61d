"""What multiplies: how many neighbours along k a lane of sums takes at once, and in which dtypes.

    fma         1 of k    f32 (f64)      a scalar of a in all lanes, a row of b
    vdpbf16ps   2 of k    bf16           a lane is a column, its neighbours along k lie in it
    vpdpwssd    2 of k    i16
    vpdpbusd    4 of k    u8 by i8       the unsigned operand may be either
    vpmaddubsw  4 of k    7 bits by i8   the same in two steps, by sums of 16 bits
    tdpb...     2, 4      bf16, bytes    of any signs, matrices of 16 rows at once (matrices.py)

So b comes in words: a lane's `depth` elements along k, one lane a column, and a in words that are
the same in all lanes. Bytes of signs that a unit does not take are moved by 128, or by the number that
the program adds to codes (a zero point): the moved operand is unsigned, and what it gives too much is
the sum of the other one times that number, with which sums begin.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dslc.codegen.chunks.intervals import interval
from dslc.codegen.cpu.bits import as_word
from dslc.compiler.dtypes import BF16, F32, F64, I32, U8, DType, parse_dtype
from dslc.compiler.ir import Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import constant
from dslc.compiler.targets.cpu import Processor
from dslc.compiler.vector.building.registers import vector_type
from dslc.compiler.vector.types import VectorType
from dslc.compiler.vector.values import Operand

if TYPE_CHECKING:
    from dslc.codegen.cpu.emission import Emission

_I8, _I16 = parse_dtype("i8"), parse_dtype("i16")
assert _I8 is not None
assert _I16 is not None
I8, I16 = _I8, _I16


@dataclass(frozen=True, slots=True)
class Unit:
    """A multiply-add of `lanes` sums: operands have the dtypes `a` and `b`, `depth` of k a lane.

    `atom` is its instruction, or "" for an fma. `swapped` says that b is the atom's first operand.
    Sums begin at `less` times the sums of a's rows. `moved` is what is added to b before. Products of
    so many words as `narrow` says are added in 16 bits, which hold them, before sums of 32 take them.
    """

    atom: str
    a: DType
    b: DType
    sums: DType
    depth: int
    lanes: int
    swapped: bool = False
    moved: int = 0
    less: int = 0
    narrow: int = 0

    def step(self, e: Emission, acc: Operand, a: Operand, b: Operand) -> Operand:
        """acc plus the products of two words a lane."""
        if not self.atom:
            return e.b.fma(a, b, acc)
        x, y = (b, a) if self.swapped else (a, b)
        if self.atom == "vpmaddwd":
            return e.b.add(acc, e.b.dot(self.atom, x, y))
        return e.b.dot(self.atom, x, y, acc)

    @property
    def words_at_once(self) -> int:
        """How many words along k `part` may add up."""
        return self.narrow or 1

    def part(self, e: Emission, part: Operand | None, a: Operand, b: Operand) -> Operand:
        """The narrow sums plus the products of two words a lane; of the first words these alone."""
        x, y = (b, a) if self.swapped else (a, b)
        products = e.b.dot(self.atom, x, y)
        return products if part is None else e.b.add(part, products)

    def widened(self, e: Emission, acc: Operand, part: Operand) -> Operand:
        """acc plus narrow sums."""
        ones = e.b.operand(1, vector_type(part))
        return e.b.add(acc, e.b.dot("vpmaddwd", part, ones))

    def of_a(self, e: Emission, x: Operand) -> Operand:
        """A chunk of a in its dtype."""
        return e.b.convert(x, self.a)

    def of_b(self, e: Emission, x: Operand) -> Operand:
        """A chunk of b in its dtype, moved."""
        if not self.moved:
            return e.b.convert(x, self.b)
        byte = as_word(e, e.b.convert(x, I8)) if vector_type(x).dtype.is_signed else x
        flipped = e.b.binary("xor", e.b.convert(byte, U8), 0x80)
        return e.b.bitcast(flipped, vector_type(flipped).of(self.b))

    @property
    def word(self) -> DType:
        """A lane's elements as one: i32, or for an fma the dtype itself."""
        return I32 if self.atom else self.a

    def words(self, e: Emission, x: Operand, lanes: int) -> Operand:
        """A vector of elements of a (b) of words."""
        return e.b.bitcast(x, VectorType(self.word, lanes)) if self.atom else x

    def elements(self, e: Emission, x: Operand, dtype: DType) -> Operand:
        """The elements of a vector of words."""
        lanes = vector_type(x).count * self.depth
        return e.b.bitcast(x, VectorType(dtype, lanes)) if self.atom else x


@dataclass(frozen=True, slots=True)
class Chosen:
    """The unit of a product, and the tile that it takes for b."""

    unit: Unit
    b: Value


def choose(i: ins.Dot, machine: Processor, made: Mapping[Value, ins.Stmt]) -> Chosen:
    """The fastest unit for a product's operands; `made` says what those are made of."""
    a, b = i.a.type.dtype, i.b.type.dtype
    lanes = machine.vector_bits // 32
    if a.is_float:
        if a.bits == 64:
            return Chosen(Unit("", F64, F64, F64, 1, lanes // 2), i.b)
        if "vdpbf16ps" in machine.atoms and in_bf16(i) and i.out.type.shape[-2] > 1:
            return Chosen(Unit("vdpbf16ps", BF16, BF16, F32, 2, lanes), i.b)
        return Chosen(Unit("", F32, F32, F32, 1, lanes), i.b)
    if max(a.bits, b.bits) <= 8:
        found = _of_bytes(i, machine, made, lanes)
        if found is not None:
            return found
    if max(_width(a), _width(b)) <= 16:
        atom = next((x for x in ("vpdpwssd", "vpmaddwd") if x in machine.atoms), None)
        if atom is not None:
            return Chosen(Unit(atom, I16, I16, I32, 2, lanes), i.b)
    return Chosen(Unit("", I32, I32, I32, 1, lanes), i.b)


def _width(dtype: DType) -> int:
    """The bits of a signed integer that holds all of a dtype's."""
    return dtype.bits + (not dtype.is_signed)


def in_bf16(i: ins.Dot) -> bool:
    """Whether bf16 holds the operands exactly; blocks with scales are multiplied in f32."""
    return not i.is_scaled and all(
        x.type.dtype.mantissa <= 7 and x.type.dtype.exponent <= 8 for x in (i.a, i.b)
    )


def _of_bytes(
    i: ins.Dot, machine: Processor, made: Mapping[Value, ins.Stmt], lanes: int
) -> Chosen | None:
    a, b = interval(i.a, made), interval(i.b, made)
    atoms = machine.atoms
    if "vpdpbusd" in atoms:
        name = "vpdpbusd"
    elif "vpmaddubsw" in atoms:
        return _of_seven_bits(i, made, lanes)
    elif "usdot" in atoms and (a[0] < 0 or a[1] > 127):
        name = "usdot"
    elif "sdot" in atoms and a[1] <= 127:
        if b[1] <= 127:
            return Chosen(Unit("sdot", I8, I8, I32, 4, lanes), i.b)
        return Chosen(Unit("sdot", I8, I8, I32, 4, lanes, moved=-128, less=128), i.b)
    elif "udot" in atoms and a[0] >= 0 and b[0] >= 0:
        return Chosen(Unit("udot", U8, U8, I32, 4, lanes), i.b)
    else:
        return None
    if a[1] > 127:
        if b[1] <= 127:
            return Chosen(Unit(name, U8, I8, I32, 4, lanes), i.b)
        return Chosen(Unit(name, U8, I8, I32, 4, lanes, moved=-128, less=128), i.b)
    if b[0] >= 0:
        return Chosen(Unit(name, I8, U8, I32, 4, lanes, swapped=True), i.b)
    codes, zero = _without_zero(i.b, made)
    if interval(codes, made)[0] >= 0 and interval(codes, made)[1] <= 255:
        return Chosen(Unit(name, I8, U8, I32, 4, lanes, swapped=True, less=zero), codes)
    moved = Unit(name, I8, U8, I32, 4, lanes, swapped=True, moved=128, less=-128)
    return Chosen(moved, i.b)


def _of_seven_bits(i: ins.Dot, made: Mapping[Value, ins.Stmt], lanes: int) -> Chosen | None:
    """Where one operand is unsigned and two of its products with signed bytes fit 16 bits."""
    a = interval(i.a, made)
    b, zero = i.b, 0
    if interval(b, made)[0] < 0:
        b, zero = _without_zero(b, made)
    of_b = interval(b, made)
    if a[1] <= 127 and of_b[0] >= 0 and (narrow := _words_of_16_bits(of_b[1])):
        unit = Unit("vpmaddubsw", I8, U8, I32, 4, lanes, swapped=True, less=zero, narrow=narrow)
        return Chosen(unit, b)
    of_b = interval(i.b, made)
    if a[0] >= 0 and of_b[1] <= 127 and (narrow := _words_of_16_bits(a[1])):
        return Chosen(Unit("vpmaddubsw", U8, I8, I32, 4, lanes, narrow=narrow), i.b)
    return None


def _words_of_16_bits(most: int) -> int:
    """How many pairs of products of numbers up to `most` with -128 add up to no more than 16 bits."""
    return 0x7FFF // (2 * 128 * max(1, most))


def _without_zero(value: Value, made: Mapping[Value, ins.Stmt]) -> tuple[Value, int]:
    """A tile that is another one plus a number, as these; the tile itself plus 0 where it is not."""
    stmt = made.get(value)
    if not isinstance(stmt, ins.Binary) or stmt.op not in ("add", "sub"):
        return value, 0
    by = made.get(stmt.y)
    if isinstance(by, ins.Broadcast):
        by = made.get(by.x)
    number = constant(by.value) if isinstance(by, ins.Full) else None
    if number is None:
        return value, 0
    zero = int(number) if stmt.op == "add" else -int(number)
    low, high = interval(stmt.x, made)
    least, most = value.type.dtype.integer_range
    if low + zero < least or high + zero > most:
        return value, 0  # it may wrap
    return stmt.x, zero
