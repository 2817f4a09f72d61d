"""tanh and erf: polynomials near 0, then 1 less something small."""

from __future__ import annotations

from dslc.compiler.vector.legal.builder import LegalBuilder
from dslc.compiler.vector.legal.floats import with_sign
from dslc.compiler.vector.legal.mathematics.formats import between, fields_of, polynomial
from dslc.compiler.vector.values import Operand

# (tanh(x) / x - 1) / x^2 over x^2, x up to 0.625.
_TANH = {
    True: (
        -0.3333333432674408, 0.13333304226398468, -0.053959257900714874, 0.02176891826093197,
        -0.008343945257365704, 0.002292744815349579,
    ),
    False: (
        -0.3333333333333333, 0.13333333333333322, -0.0539682539682359, 0.021869488535133222,
        -0.008863235499801992, 0.003592127507599252, -0.0014558283998303246, 0.0005899818158388232,
        -0.00023888944636751174, 9.604109157026265e-05, -3.708106921544234e-05, 1.2209921790162781e-05,
        -2.438831631472088e-06,
    ),
}  # fmt: skip
# erf(x) / x - 1 over x^2, x up to 1.
_ERF = {
    True: (
        0.12837916612625122, -0.37612637877464294, 0.11283782124519348, -0.026865430176258087,
        0.005221031606197357, -0.0008484080317430198, 0.00011265958892181516, -9.667044650996104e-06,
    ),
    False: (
        0.1283791670955126, -0.37612638903183754, 0.11283791670955126, -0.026866170645131218,
        0.005223977625441674, -0.0008548327023403001, 0.00012055332978879483, -1.4925650236967501e-05,
        1.6462110782018636e-06, -1.636576864883207e-07, 1.4806027146128752e-08, -1.2277734486795524e-09,
        9.323723518153027e-11, -6.1967364287877e-12, 2.8067128195611264e-13,
    ),
}  # fmt: skip
# log(1 - erf(x)) over x less a middle: f32 from 1 to 4, f64 from 1 to 2.25 and from there to 6.
_LOG_ERFC_SINGLE = (
    -7.806815147399902, -5.352680683135986, -0.9438937306404114, -0.01085854135453701,
    0.0021653035655617714, -0.00042012252379208803, 7.729137723799795e-05, -1.3315014257386792e-05,
    1.6371513993362896e-06,
)  # fmt: skip
_LOG_ERFC_DOUBLE = (
    -3.8370887037779426, -3.7331259590726176, -0.9017850296579215, -0.023008967325751157,
    0.005270029325493583, -0.0011028409211440544, 0.00019549044261483323, -2.3963984666745558e-05,
    -4.966505367727814e-07, 1.500877483430622e-06, -5.827684950959754e-07, 1.508718785572602e-07,
    -2.6979063319690077e-08, 1.8232061046470043e-09, 9.97753618822197e-10, -6.106481698354924e-10,
    1.77482831482697e-10,
)  # fmt: skip
_LOG_ERFC_DOUBLE_FAR = (
    -19.032542764467394, -8.479911403956852, -0.9748141681567245, -0.00351575711070422,
    0.0005284298718157995, -8.109266261893284e-05, 1.2391242919674926e-05, -1.8556617279077399e-06,
    2.686904217133515e-07, -3.703117372854066e-08, 4.743661402471955e-09, -5.39231271961812e-10,
    4.76629955907896e-11, -1.1116953562183738e-12, -7.93409231989439e-13, 2.2465212586779836e-13,
    -5.5040442533971686e-14, 1.649003399522141e-14, -2.5040150078329976e-15,
)  # fmt: skip


def tanh(b: LegalBuilder, x: Operand) -> Operand:
    """Near 0 a polynomial, else 1 - 2 / (e^(2 |x|) + 1)."""
    fields = fields_of(x)
    magnitude = b.unary("abs", x)
    grown = b.add(b.unary("exp", b.add(magnitude, magnitude)), 1.0)
    far = b.binary("div", b.operand(2.0, fields.number), grown)
    far = b.sub(b.operand(1.0, fields.number), far)
    z = b.mul(x, x)
    near = b.fma(b.mul(magnitude, z), polynomial(b, z, _TANH[fields.is_single]), magnitude)
    found = b.select(b.binary("lt", magnitude, 0.625), near, far)
    return with_sign(b, found, x)


def erf(b: LegalBuilder, x: Operand) -> Operand:
    """Near 0 a polynomial, else 1 - e^p(|x|), p a polynomial for the logarithm of what is missing."""
    fields = fields_of(x)
    magnitude = b.unary("abs", x)
    z = b.mul(x, x)
    near = b.fma(magnitude, polynomial(b, z, _ERF[fields.is_single]), magnitude)
    missing = _log_erfc(b, between(b, magnitude, 1.0, 4.0 if fields.is_single else 6.0))
    far = b.sub(b.operand(1.0, fields.number), b.unary("exp", missing))
    return with_sign(b, b.select(b.binary("lt", magnitude, 1.0), near, far), x)


def _log_erfc(b: LegalBuilder, x: Operand) -> Operand:
    """From 1 on."""
    if fields_of(x).is_single:
        return polynomial(b, b.sub(x, 2.5), _LOG_ERFC_SINGLE)
    near = polynomial(b, b.sub(x, 1.625), _LOG_ERFC_DOUBLE)
    far = polynomial(b, b.sub(x, 4.125), _LOG_ERFC_DOUBLE_FAR)
    return b.select(b.binary("lt", x, 2.25), near, far)
