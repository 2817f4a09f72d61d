"""Functions of f32 in vectors.

exp2 splits off the whole part and adds it to the exponent of a polynomial on [-1/2, 1/2]; the others
come from exp2, from log2 by the same splitting, or from polynomials after range reduction (Muller,
Elementary Functions, 3rd edition, chapters 3, 11; coefficients of S. Moshier's Cephes library for erf,
log, sin, cos and tanh).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from dslc.codegen.aarch64.chunks import legalised
from dslc.codegen.aarch64.chunks.formats import F32, F64, Lanes, select
from dslc.codegen.aarch64.chunks.lane_formats import change_format, mapped
from dslc.codegen.aarch64.chunks.remainders import divided
from dslc.compiler.diagnostics import error

if TYPE_CHECKING:
    from dslc.codegen.aarch64.emission import Emission


def missing(e: Emission, what: str, hint: str | None = None) -> Exception:
    """DSL0590 for what has no code."""
    return error("DSL0590", f"AArch64 code has no {what}", e.kernel.loc, hint=hint)


class Chunk:
    """f32 arithmetic written as it is read."""

    def __init__(self, e: Emission, lanes: Lanes) -> None:
        self.e, self.lanes = e, lanes

    def _with(self, lanes: Lanes) -> Chunk:
        return Chunk(self.e, lanes)

    def apply(self, op: str, *others: Chunk | float) -> Chunk:
        """An instruction on vectors; numbers become constants."""
        chunks = [o if isinstance(o, Chunk) else self.constant(o) for o in others]
        xs = [self.lanes, *(c.lanes for c in chunks)]
        holes = ", ".join(f"{{{i}}}.@" for i in range(len(xs) + 1))
        return self._with(mapped(self.e, f"{op} {holes}", F32, *xs))

    def constant(self, value: float) -> Chunk:
        """The number in every lane."""
        reg = self.e.s.splat_float(value)
        return self._with(Lanes((reg,) * len(self.lanes.regs), F32, self.lanes.count))

    def bits(self, word: int) -> Chunk:
        """The word in every lane."""
        reg = self.e.s.splat(word, 32)
        return self._with(Lanes((reg,) * len(self.lanes.regs), F32, self.lanes.count))

    def __add__(self, other: Chunk | float) -> Chunk:
        return self.apply("fadd", other)

    def __sub__(self, other: Chunk | float) -> Chunk:
        return self.apply("fsub", other)

    def __mul__(self, other: Chunk | float) -> Chunk:
        return self.apply("fmul", other)

    def __truediv__(self, other: Chunk | float) -> Chunk:
        return self.apply("fdiv", other)

    def fma(self, x: Chunk, y: Chunk | float, *, minus: bool = False) -> Chunk:
        """self + x * y (or - x * y), rounded once."""
        y = y if isinstance(y, Chunk) else x.constant(y)
        text = f"{'fmls' if minus else 'fmla'} {{0}}.4s, {{1}}.4s, {{2}}.4s"
        rows = zip(self.lanes.regs, x.lanes.regs, y.lanes.regs, strict=True)
        regs = tuple(self.e.s.accumulate(text, a, b, c) for a, b, c in rows)
        return self._with(Lanes(regs, F32, self.lanes.count))

    def shift(self, text: str) -> Chunk:
        """A shift of the words by a constant, such as `shl ... #23`."""
        op, by = text.split()
        return self._with(mapped(self.e, f"{op} {{0}}.@, {{1}}.@, #{by}", F32, self.lanes))

    def logic(self, op: str, other: Chunk) -> Chunk:
        """A bitwise operation."""
        rows = zip(self.lanes.regs, other.lanes.regs, strict=True)
        text = f"{op} {{0}}.16b, {{1}}.16b, {{2}}.16b"
        regs = tuple(self.e.s.v(text, a, b) for a, b in rows)
        return self._with(Lanes(regs, F32, self.lanes.count))

    def choose(self, x: Chunk, y: Chunk) -> Chunk:
        """x where this mask is set, else y."""
        return self._with(select(self.e, self.lanes, x.lanes, y.lanes))


def _polynomial(x: Chunk, coefficients: list[float]) -> Chunk:
    """Horner's rule, the highest power's coefficient first."""
    total = x.constant(coefficients[0])
    for c in coefficients[1:]:
        total = x.constant(c).fma(total, x)
    return total


# 2^x on [-1/2, 1/2].
_EXP2 = [
    1.5403530393381609954e-4,
    1.3333558146428443423e-3,
    9.6181291076284771619e-3,
    5.5504108664821579953e-2,
    2.4022650695910071233e-1,
    6.9314718055994530942e-1,
    1.0,
]


def _exp2(x: Chunk) -> Chunk:
    # Past these ends the result is infinite or 0, whatever the argument is; NaN stays.
    x = x.apply("fmin", 129.0).apply("fmax", -152.0)
    whole = x.apply("frintn")
    return _scaled(_polynomial(x - whole, _EXP2), whole)


def _scaled(value: Chunk, whole: Chunk) -> Chunk:
    """value * 2^whole by two products: for 2^-252 and more, subnormals rounded, to infinity."""
    power = whole.apply("fcvtzs")
    half = power.shift("sshr 1")
    other = power.apply("sub", half)
    one = power.bits(0x3F800000)
    first = half.shift("shl 23").apply("add", one)
    second = other.shift("shl 23").apply("add", one)
    return (value * first) * second


_LOG2_E = 1.4426950408889634
_LN2_HIGH = 0.693359375  # of few digits, so that its products with whole numbers are exact
_LN2_LOW = -2.12194440054690583e-4
# e^x on [-ln 2 / 2, ln 2 / 2].
_EXP = [1 / 5040, 1 / 720, 1 / 120, 1 / 24, 1 / 6, 0.5, 1.0, 1.0]


def _exp(x: Chunk) -> Chunk:
    bounded = x.apply("fmin", 89.0).apply("fmax", -105.0)
    whole = (bounded * _LOG2_E).apply("frintn")
    rest = bounded.fma(whole, _LN2_HIGH, minus=True).fma(whole, _LN2_LOW, minus=True)
    return _scaled(_polynomial(rest, _EXP), whole)


def _parts(x: Chunk) -> tuple[Chunk, Chunk]:
    """x = m * 2^k with m in [sqrt(1/2), sqrt(2)); of subnormals too."""
    tiny = x.constant(2.0**-126).apply("fcmgt", x)
    scaled = tiny.choose(x * 2.0**24, x)
    moved = scaled.apply("sub", x.bits(0x3F3504F3))  # the word of sqrt(1/2)
    exponent = moved.shift("sshr 23")
    mantissa = scaled.apply("sub", exponent.shift("shl 23"))
    k = exponent.apply("scvtf") - tiny.logic("and", x.constant(24.0))
    return k, mantissa


# log(1 + f) = f - f^2/2 + f^3 P(f) on [sqrt(1/2) - 1, sqrt(2) - 1] (Cephes' logf).
_LOG = [
    7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
    -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
]  # fmt: skip


def _log_of_mantissa(mantissa: Chunk) -> tuple[Chunk, Chunk]:
    """log(m) as f and what is added to it."""
    f = mantissa - 1.0
    square = f * f
    tail = _polynomial(f, _LOG) * f * square
    return f, tail.fma(square, 0.5, minus=True)


def _log_ends(x: Chunk, result: Chunk) -> Chunk:
    """Infinity of infinity, minus infinity of 0, NaN below."""
    infinity = x.constant(math.inf)
    result = x.apply("fcmeq", infinity).choose(infinity, result)
    result = x.apply("fcmeq", 0.0).choose(x.constant(-math.inf), result)
    # Neither above nor equal to 0: negative, or NaN itself.
    legal = x.apply("fcmge", 0.0)
    return legal.choose(result, x.bits(0x7FC00000))


def _log(x: Chunk) -> Chunk:
    k, mantissa = _parts(x)
    f, tail = _log_of_mantissa(mantissa)
    low = tail.fma(k, _LN2_LOW)
    return _log_ends(x, (low + f).fma(k, _LN2_HIGH))


def _log2(x: Chunk) -> Chunk:
    k, mantissa = _parts(x)
    f, tail = _log_of_mantissa(mantissa)
    # log2(e) - 1 apart: the product with f would round more than the result may.
    spread = (tail * (_LOG2_E - 1)).fma(f, _LOG2_E - 1)
    return _log_ends(x, ((spread + tail) + f) + k)


def _sigmoid(x: Chunk) -> Chunk:
    one = x.constant(1.0)
    return one / (_exp(x.apply("fneg")) + 1.0)


def _tanh(x: Chunk) -> Chunk:
    """By e^2x, near 0 by a polynomial."""
    small = _polynomial(x * x, [
        -5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1,
    ])  # fmt: skip
    near = x.fma(small * (x * x), x)
    size = x.apply("fabs")
    far = x.constant(1.0) - x.constant(2.0) / (_exp(size + size) + 1.0)
    sign = x.bits(0x80000000)
    far = sign.choose(x, far)
    return x.constant(0.625).apply("fcmgt", size).choose(near, far)


def _erf(x: Chunk) -> Chunk:
    """x P(x^2) near 0, 1 - erfc beyond."""
    size = x.apply("fabs")
    square = x * x
    near = x * _polynomial(square, [
        7.853861353153693e-5, -8.010193625184903e-4, 5.188327685732524e-3, -2.685381193529856e-2,
        1.128358514861418e-1, -3.761262582423300e-1, 1.128379165726710,
    ])  # fmt: skip
    far = x.constant(1.0) - _erfc(size)
    far = x.bits(0x80000000).choose(x, far)
    return x.constant(1.0).apply("fcmgt", size).choose(near, far)


def _erfc(x: Chunk) -> Chunk:
    """For x >= 1: e^(-x^2) P(1/x^2) / x."""
    x = x.apply("fmin", 10.0)
    q = x.constant(1.0) / x
    y = q * q
    low = _polynomial(y, [
        2.326819970068386e-2, -1.387039388740657e-1, 3.687424674597105e-1, -5.824733027278666e-1,
        6.210004621745983e-1, -4.944515323274145e-1, 3.404879937665872e-1, -2.741127028184656e-1,
        5.638259427386472e-1,
    ])  # fmt: skip
    high = _polynomial(y, [
        -1.047766399936249e1, 1.297719955372516e1, -7.495518717768503, 2.921019019210786,
        -1.015265279202700, 4.218463358204948e-1, -2.820767439740514e-1, 5.641895067754075e-1,
    ])  # fmt: skip
    tail = x.constant(2.0).apply("fcmgt", x).choose(low, high)
    return _exp((x * x).apply("fneg")) * q * tail


_PI_PARTS = (1.5703125, 4.837512969970703e-4, 7.549789948768648e-8)
_NEAR = 1e5  # up to where three parts do


def _sine(x: Chunk, op: str) -> Chunk:
    """sin or cos; where a lane is far from 0, by that of f64, which takes any number."""
    e, s, near = x.e, x.e.s, _quadrants(x, int(op == "cos"))
    homes = tuple(s.copy(r) for r in near.lanes.regs)
    far = x.apply("facge", _NEAR)
    anywhere, *others = far.lanes.regs
    for other in others:
        anywhere = s.v("orr {0}.16b, {1}.16b, {2}.16b", anywhere, other)
    end = s.label("near")
    s.branch("cbz {0}, @", end, s.x("fmov {0:w}, {1:s}", s.v("umaxv {0:s}, {1}.4s", anywhere)))
    with e.branch():
        exact = legalised.unary(e, op, change_format(e, x.lanes, F64))
        rows = zip(homes, change_format(e, exact, F32).regs, far.lanes.regs, strict=True)
        for home, value, mask in rows:
            s.onto("bit {0}.16b, {1}.16b, {2}.16b", home, value, mask)
    s.put(end)
    return Chunk(e, Lanes(homes, F32, x.lanes.count))


def _quadrants(x: Chunk, quarter: int) -> Chunk:
    """By quadrants (Cody and Waite's reduction)."""
    k = (x * (2 / math.pi)).apply("frintn")
    rest = x
    for part in _PI_PARTS:
        rest = rest.fma(k, part, minus=True)
    square = rest * rest
    sine = rest.fma(
        _polynomial(square, [-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1]) * square, rest
    )
    cosine = (rest.constant(1.0).fma(square, 0.5, minus=True)).fma(
        _polynomial(square, [2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2]),
        square * square,
    )
    number_ = k.apply("fcvtzs")
    turned = number_.apply("add", number_.bits(quarter))
    odd = turned.logic("and", turned.bits(1)).apply("cmeq", turned.bits(1))
    value = odd.choose(cosine, sine)
    flip = turned.logic("and", turned.bits(2)).shift("shl 30")
    return value.logic("eor", flip)


_FUNCTIONS: dict[str, Callable[[Chunk], Chunk]] = {
    "exp": _exp, "exp2": _exp2, "log": _log, "log2": _log2, "sigmoid": _sigmoid, "tanh": _tanh,
    "erf": _erf, "sin": lambda x: _sine(x, "sin"), "cos": lambda x: _sine(x, "cos"),
    "sqrt": lambda x: x.apply("fsqrt"),
    "rsqrt": lambda x: x.constant(1.0) / x.apply("fsqrt"),
}  # fmt: skip


def function(e: Emission, op: str, x: Lanes) -> Lanes:
    """A function of f32 or f64 numbers."""
    if op not in _FUNCTIONS:
        raise missing(e, f"{op} of floats")
    if x.format == F64:
        return legalised.unary(e, op, x)
    return _FUNCTIONS[op](Chunk(e, x)).lanes


def binary(e: Emission, op: str, x: Lanes, y: Lanes) -> Lanes:
    """Whole quotients, remainders of the divisor's sign, and powers."""
    if op in ("floordiv", "mod"):
        return divided(e, op, x, y)
    if op != "pow":
        raise missing(e, f"{op} of floats")
    if x.format == F64:
        return legalised.power(e, x, y)
    return _power(Chunk(e, x), Chunk(e, y)).lanes


def _power(x: Chunk, y: Chunk) -> Chunk:
    """2^(y log2 |x|); a negative base with a whole exponent has its sign, else it is NaN."""
    size = x.apply("fabs")
    value = _exp2(_log2(size) * y)
    value = y.apply("fcmeq", 0.0).choose(y.constant(1.0), value)
    whole = y.apply("fcmeq", y.apply("frintz"))
    half = y * 0.5
    odd = whole.logic("bic", half.apply("fcmeq", half.apply("frintz")))
    sign = odd.logic("and", x.logic("and", x.bits(0x80000000)))
    signed = value.logic("orr", sign)
    illegal = x.constant(0.0).apply("fcmgt", x).logic("bic", whole)
    return illegal.choose(x.bits(0x7FC00000), signed)
