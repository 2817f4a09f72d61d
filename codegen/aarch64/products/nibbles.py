"""One row times 4-bit weights, without taking the upper codes out of their bytes.

A byte is low + 16 high. Summed against the same activations, the bytes as they are give
sum(low) + 16 sum(high), the lower codes sum(low): a difference at the end leaves 16 sum(high), exactly,
for every k at once. The number that a zero point takes from each weight leaves the sum as that number
times the sum of the activations, which one more accumulator gives.

    and  low, bytes, 15     usdot a0, low, x[i]     usdot a1, bytes, x[i]      32 weights

Read as floats, 16 sum(high) needs no shift: added to the bits of 1.5 * 2^19, numbers whose unit in the
last place is 1/16, it is 1.5 * 2^19 + sum(high).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dslc.codegen.aarch64.chunks.bits import raw_bytes
from dslc.codegen.aarch64.chunks.ranges import BIASED, LIMIT, SIXTEENTHS
from dslc.codegen.aarch64.machine_code.blocks import Reg
from dslc.codegen.aarch64.products.units import QUADS, Unit
from dslc.codegen.chunks.at import At
from dslc.codegen.chunks.intervals import interval
from dslc.compiler.dtypes import Kind
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import constant

if TYPE_CHECKING:
    from dslc.codegen.aarch64.emission import Emission

DEEPEST = 1 << 16
"""Elements of K after which sums of bytes are still below 2^31: 255 * 128 * 2^16 is."""
_SIXTEEN = 16 * 128  # times the greatest activation


@dataclass(frozen=True, slots=True)
class Nibbles:
    """An operand that is `view` of bytes as u4, less `zero`."""

    view: ins.View
    zero: int

    def registers(self, e: Emission, low: At, high: At) -> tuple[Reg, Reg] | None:
        """The codes of one chunk, and the bytes that have another chunk's codes above them."""
        raw = raw_bytes(e, self.view, low, high)
        if raw is None:
            return None
        mask = e.s.splat(15, 8)
        return e.s.v("and {0}.16b, {1}.16b, {2}.16b", raw, mask), raw


def nibbles_of(e: Emission, dot: ins.Dot, unit: Unit) -> Nibbles | None:
    """What the second operand of a product of one row is made of, if it is that."""
    mixed = "i8mm" in e.features or unit.a_format.kind == "u"
    if not mixed or unit.b != QUADS or any(x != 1 for x in dot.out.type.shape[:-1]):
        return None
    value, zero = dot.b, 0
    while value not in e.homes:
        stmt = e.lazy.get(value)
        if isinstance(stmt, ins.View):
            fits = dot.a.type.shape[-1] <= DEEPEST
            return Nibbles(stmt, zero) if stmt.out.type.dtype.name == "u4" and fits else None
        if isinstance(stmt, ins.Cast) and stmt.x.type.dtype.kind is Kind.UINT:
            value = stmt.x
        elif isinstance(stmt, ins.Binary) and stmt.op == "sub" and not zero:
            taken = e.lazy.get(stmt.y)
            number = constant(taken.value) if isinstance(taken, ins.Full) else None
            low, high = interval(stmt.x, e.lazy)
            least, most = stmt.out.type.dtype.integer_range
            if number is None or low - number < least or high - number > most:
                return None
            value, zero = stmt.x, int(number)
        else:
            return None
    return None


def reads_as_floats(k: int, zero: int) -> bool:
    """Whether 16 times sums over k, of codes and of `zero`, stay where biased sums are exact."""
    return k * _SIXTEEN * max(15, abs(zero)) < LIMIT


def starts(biased: bool) -> tuple[int, int]:
    """The words that accumulators of lower codes and of bytes begin with."""
    return (BIASED, (BIASED + SIXTEENTHS) & 0xFFFFFFFF) if biased else (0, 0)


def separated(e: Emission, low: Reg, raw: Reg, zeros: tuple[Reg, Reg] | None) -> tuple[Reg, Reg]:
    """The sums of the lower and of the upper codes, as integers."""
    s = e.s
    upper = s.v("sub {0}.4s, {1}.4s, {2}.4s", raw, low)
    upper = s.v("sshr {0}.4s, {1}.4s, #4", upper)
    if zeros is None:
        return low, upper
    text = "sub {0}.4s, {1}.4s, {2}.4s"
    return s.v(text, low, zeros[0]), s.v(text, upper, zeros[1])


def separated_floats(e: Emission, low: Reg, raw: Reg, zeros: tuple[Reg, Reg]) -> tuple[Reg, Reg]:
    """The same as f32, of accumulators that began with `starts`."""
    s = e.s
    upper = s.v("sub {0}.4s, {1}.4s, {2}.4s", raw, low)
    first = s.v("fsub {0}.4s, {1}.4s, {2}.4s", low, zeros[0])
    return first, s.v("fsub {0}.4s, {1}.4s, {2}.4s", upper, zeros[1])


def taken(
    e: Emission, activations: Reg | None, zero: int, *, biased: bool
) -> tuple[Reg, Reg] | None:
    """What is subtracted from sums of lower and of upper codes; `activations` is summed by lanes."""
    s = e.s
    if not biased and (activations is None or not zero):
        return None
    if activations is None:
        return s.splat(BIASED, 32), s.splat(SIXTEENTHS, 32)
    total = s.v("addv {0:s}, {1}.4s", activations)
    every = s.v("dup {0}.4s, {1}.s[0]", total)
    if not biased:
        less = s.v("mul {0}.4s, {1}.4s, {2}.4s", every, s.splat(zero, 32))
        return less, less
    by = s.splat(zero, 32), s.splat(16 * zero, 32)
    low, high = (
        s.onto("mla {0}.4s, {1}.4s, {2}.4s", s.fresh(word), every, factor)
        for word, factor in zip((BIASED, SIXTEENTHS), by, strict=True)
    )
    return low, high
