"""One row times 4-bit weights, without taking the upper codes out of their bytes.

A byte is low + 16 high. Summed against the same activations, the bytes as they are give
sum(low) + 16 sum(high), the lower codes sum(low): a difference and a shift at the end leave sum(high),
exactly, for every k at once. The number that a zero point takes from each weight leaves the sum as that
number times the sum of the activations, which one more accumulator gives.

    and  low, bytes, 15        usdot a0, low, x      usdot a2, bytes, x       32 weights
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dslc.codegen.aarch64.bits import raw_bytes
from dslc.codegen.aarch64.machine import Reg
from dslc.codegen.aarch64.ranges import interval
from dslc.codegen.aarch64.units import Unit
from dslc.compiler.dtypes import Kind
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.affine import constant

if TYPE_CHECKING:
    from dslc.codegen.aarch64.emission import Emission
    from dslc.codegen.aarch64.places import At

_MOST = 1 << 31  # what sums of bytes stay below


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
    if not unit.folded or any(x != 1 for x in dot.out.type.shape[:-1]):
        return None
    value, zero = dot.b, 0
    while value not in e.homes:
        stmt = e.lazy.get(value)
        if isinstance(stmt, ins.View):
            fits = dot.a.type.shape[-1] * 255 * 128 < _MOST
            made = stmt.out.type.dtype.name == "u4" and fits
            return Nibbles(stmt, zero) if made else None
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


def separated(
    e: Emission, pairs: list[tuple[Reg, Reg]], activations: Reg | None, zero: int
) -> list[Reg]:
    """From pairs of accumulators, of codes and of bytes, the sums of four columns each."""
    s = e.s
    out = []
    nothing = s.splat(0, 8)
    by = s.literal(b"\0" * 8 + b"\xfc\xff\xff\xff" * 2)  # the upper lanes to the right by 4
    taken = None
    if activations is not None and zero:
        total = s.v("addp {0}.4s, {1}.4s, {1}.4s", activations)
        taken = s.v("mul {0}.4s, {1}.4s, {2}.4s", total, s.splat(zero, 32))
    for low, raw in pairs:
        both = s.v("addp {0}.4s, {1}.4s, {2}.4s", low, raw)
        under = s.v("ext {0}.16b, {1}.16b, {2}.16b, #8", nothing, both)
        apart = s.v("sub {0}.4s, {1}.4s, {2}.4s", both, under)
        found = s.v("sshl {0}.4s, {1}.4s, {2}.4s", apart, by)
        out.append(found if taken is None else s.v("sub {0}.4s, {1}.4s, {2}.4s", found, taken))
    return out
