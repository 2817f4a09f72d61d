"""Casts of low-bit codes (int4 to f16 and its kin, the lop3 trick): a word of results at a time.

To a 16-bit float, whose mantissa has Y bits (10 in f16, 7 in bf16):

- an integer code c of B <= Y bits becomes the mantissa of a power of two, 2^(Y-t) + c with c at bit t
  (wherever it lies already, if that is low enough), and one subtraction leaves c: exact, since all
  three are on the grid. The sign bit of two's complement is inverted on the way, which adds 2^(B-1).
- a wider integer (8 bits to bf16) becomes f16 first;
- a float's exponent and mantissa are moved to the place of the result's, its sign to the top, and a
  multiplication by a power of two mends the bias: exact, subnormals included. Codes of infinity and
  NaN have their exponent filled with ones.

To an integer of 8 bits, codes are spread over bytes and their signs extended. To a float of 8 bits
those of 4 bits go by a table (`table_rules`).

Each step is one LOP3, shift, byte permutation or packed 16-bit instruction for a word of results.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from dslc.codegen.c_family.casts.bits import Positions
from dslc.codegen.c_family.casts.byte_rules import byte_cast
from dslc.codegen.c_family.casts.extraction import Piece, Words, hexadecimal, pieces
from dslc.codegen.c_family.casts.table_rules import has_table, table_word
from dslc.compiler.dtypes import F16, DType, Kind, limits
from dslc.compiler.dtypes.formats import has_infinity, magnitudes

# The C of a word of results from the bits of its elements [lanes, bits].
Rule = Callable[[Words, Positions], str]

# The same of numbers that are too great, and by how much.
Biased = Callable[[Words, Positions], tuple[str, float]]


def rule_for(dtype: DType, to: DType) -> Rule | None:
    """How a word of a target dtype is made, or None where there is no way by words."""
    if dtype.kind is Kind.SCALE:
        return _from_scale if to.name == "bf16" else None
    if dtype.bits > 8 or dtype.kind is Kind.BOOL:
        return None
    if to.name in ("f16", "bf16"):
        if dtype.is_integer:
            return _from_integer(dtype, to)
        return _from_float(dtype, to) if fits(dtype, to) else None
    if has_table(dtype, to):
        return lambda words, at: table_word(words, at, dtype, to)
    if to.name in ("i8", "u8") and dtype.is_integer and dtype.bits < 8:
        return _to_bytes(dtype)
    return None


def holds(dtype: DType, to: DType) -> bool:
    """Whether a float's numbers all are numbers of a wider one with as many exponent bits or more."""
    fits = limits(dtype).greatest <= limits(to).greatest
    return fits and dtype.exponent <= to.exponent and dtype.mantissa <= to.mantissa


def fits(dtype: DType, to: DType) -> bool:
    """Whether casts only move bits: `holds`, or only what is infinity there is past it."""
    return holds(dtype, to) or (dtype.exponent == to.exponent and dtype.mantissa == 0)


# Integers


def _from_integer(dtype: DType, to: DType) -> Rule:
    biased = biased_rule(dtype, to)
    if biased is None:
        through = _from_integer(dtype, F16)
        return lambda words, at: f"bf16x2_of_f16x2({through(words, at)})"

    def rule(words: Words, at: Positions) -> str:
        text, offset = biased(words, at)
        return f"sub_{to.name}x2({text}, {pair(offset, to)})"

    return rule


def biased_rule(dtype: DType, to: DType) -> Biased | None:
    """Words of integers that are too great by a number of 2^B to 2^(Y+1) that is given with them.

    None where a code has more bits than the mantissa.
    """
    bits, signed = dtype.bits, dtype.kind is Kind.INT
    if not dtype.is_integer or bits > 8 or to.name not in ("f16", "bf16") or bits > to.mantissa:
        return None

    def rule(words: Words, at: Positions) -> tuple[str, float]:
        if bits == 8 and _in_bytes(at):
            return _by_bytes(words, at, to, signed), 2.0**to.mantissa + 128 * signed
        halves = pieces(at, 16)
        place = words.place(halves, range(to.mantissa - bits + 1))
        text = _with_power(words, halves, place, to, bits if signed else 0)
        return text, 2.0 ** (to.mantissa - place) + (2 ** (bits - 1) if signed else 0)

    return rule


def _with_power(words: Words, found: tuple[Piece, ...], place: int, to: DType, signed: int) -> str:
    """2^(Y - place) plus the field at `place`, whose bit number `signed` - 1 is inverted."""
    power = number(2.0 ** (to.mantissa - place), to)
    sign = 1 << (place + signed - 1) if signed else 0
    return words.field(found, place, 16, hexadecimal((power | sign) * 0x10001))


def _in_bytes(at: Positions) -> bool:
    """Whether every code is a byte of one word."""
    return len({int(b) // 32 for b in at[:, 0]}) == 1 and not (at[:, 0] % 8).any()


def _by_bytes(words: Words, at: Positions, to: DType, signed: bool) -> str:
    """Whole bytes to the mantissa's low byte, below the power's: one byte permutation."""
    number_of = int(at[0, 0]) // 32
    word = words.inverted(number_of, 0x80808080) if signed else words.names[number_of]
    power = 2.0**to.mantissa
    high = hexadecimal((number(power, to) >> 8) * 0x01010101)
    first, second = (int(b) % 32 // 8 for b in at[:, 0])
    return f"bytes({word}, {high}, 0x4{second}4{first}u)"


def _to_bytes(dtype: DType) -> Rule:
    bits = dtype.bits

    def rule(words: Words, at: Positions) -> str:
        field = words.field(pieces(at, 8), 0, 8)
        if dtype.kind is Kind.UINT:
            return field
        name = words.out.name("c")
        words.out.line(f"const unsigned {name} = {field};")
        # The sign bit times 2^(9-B) - 2 is that bit in all places above it: 2^8 - 2^B.
        sign = hexadecimal((1 << (bits - 1)) * 0x01010101)
        return f"{name} + ({name} & {sign}) * {hexadecimal((1 << (9 - bits)) - 2)}"

    return rule


# Floats


def _from_float(dtype: DType, to: DType) -> Rule:
    exponent, mantissa = dtype.exponent, dtype.mantissa
    place = to.mantissa - mantissa
    factor = 2.0 ** ((1 << (to.exponent - 1)) - (1 << (exponent - 1)))
    special = None if exponent == to.exponent else first_special(dtype)
    through = byte_cast(dtype, to)

    def rule(words: Words, at: Positions) -> str:
        if through is not None and (exact := through.word(words, at)) is not None:
            if through.factor == 1:
                return exact
            return f"mul_{to.name}x2({exact}, {pair(through.factor, to)})"
        magnitude = pieces(at[:, :-1], 16)
        sign = pieces(at[:, -1:], 16)
        if exponent == to.exponent:
            return words.field(pieces(at, 16), place, 16)
        text = words.field(sign, 15, 16, words.field(magnitude, place, 16))
        result = f"mul_{to.name}x2({text}, {pair(factor, to)})"
        if special is None:
            return result
        return _filled(words, at, result, special, dtype, to)

    return rule


def _from_scale(words: Words, at: Positions) -> str:
    """e8m0 to bf16: the exponent alone; codes 0 and 255 (2^-127 and NaN) get the next bit too."""
    name = words.out.name("c")
    words.out.line(f"const unsigned {name} = {words.field(pieces(at, 16), 7, 16)};")
    other = f"(({name} + 0x00800080u) & 0x7f007f00u)"  # 0 for these two
    return f"{name} | ((0x80008000u - {other}) & 0x80008000u) >> 9"


def first_special(dtype: DType) -> int | None:
    """The least code without sign that is no finite number."""
    count = len(magnitudes(dtype))
    return None if count == 1 << (dtype.bits - 1) else count


def _filled(words: Words, at: Positions, result: str, first: int, dtype: DType, to: DType) -> str:
    """The result, its exponent full of ones where the code's magnitude is at least `first`.

    Of 8-bit codes in a word, four are compared at once: the sum reaches bit 7 of their bytes, which is
    then copied to all bits of the halves. Of NaN alone all bits may be ones.
    """
    number_of = int(at[0, 0]) // 32
    assert _in_bytes(at), "floats with infinities or NaN have 8 bits and lie in words"
    source, reach = words.names[number_of], hexadecimal((0x80 - first) * 0x01010101)
    text = f"({source} & 0x7f7f7f7fu) + {reach}"
    carry = words.once(("special", number_of), "c", lambda: text)
    low, high = (8 | int(b) % 32 // 8 for b in at[:, 0])
    spread = f"signs({carry}, 0x{high:x}{high:x}{low:x}{low:x}u)"
    if has_infinity(dtype):
        ones = ((1 << to.exponent) - 1) << to.mantissa
        spread = f"({spread} & {hexadecimal(ones * 0x10001)})"
    return f"{result} | {spread}"


# Constants


def number(x: float, to: DType) -> int:
    """The code of a number that the 16-bit float has."""
    if to.name == "f16":
        code, back = int(np.float16(x).view(np.uint16)), float(np.float16(x))
    else:
        code = int(np.float32(x).view(np.uint32)) >> 16
        back = float(np.uint32(code << 16).view(np.float32))
    assert back == x, f"{to} has no {x}"
    return code


def pair(x: float, to: DType) -> str:
    """The number in both halves of a word."""
    return hexadecimal(number(x, to) * 0x10001)
