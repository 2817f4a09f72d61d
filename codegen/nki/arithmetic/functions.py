"""Functions of one tile: the scalar engine's tables, and what is built from them."""

from __future__ import annotations

from dataclasses import replace
from math import inf, log, nan, pi

from dslc.codegen.nki.arithmetic.combining import combine, widened, wrap
from dslc.codegen.nki.arithmetic.composed import Steps
from dslc.codegen.nki.arithmetic.reciprocals import power
from dslc.codegen.nki.arithmetic.rounding import rounded
from dslc.codegen.nki.emission import Emission, Emit, refuse
from dslc.codegen.nki.movement.copying import copy
from dslc.codegen.nki.tile_values import TileValue
from dslc.compiler.dtypes import F32, I32
from dslc.compiler.ir import Value
from dslc.compiler.ir import instructions as ins

_TABLES = {
    "exp": "nl.exp",
    "tanh": "nl.tanh",
    "sigmoid": "nl.sigmoid",
    "erf": "nl.erf",
    "abs": "nl.abs",
}
# GpSimd's power has no limits of range, as the scalar engine's roots have.
_POWERS = {"sqrt": 0.5, "rsqrt": -0.5}
_PI = 3.1415925025939941  # the greatest f32 below pi
# A turn in parts of 8, 11 and 24 bits.
_TURN = (6.28125, 0.0019350051879882812, 2 * pi - 6.28125 - 0.0019350051879882812)


def unary(e: Emission, stmt: ins.Unary) -> None:
    """out = op(x)."""
    x, dtype, op = e.held(stmt.x), stmt.x.type.dtype, stmt.op
    if op in ("not", "invert"):
        _inverted(e, stmt, x)
    elif dtype.is_integer:
        _integer(e, stmt, x)
    elif op in _TABLES:
        _activation(e, e.result(stmt.out), _TABLES[op], x)
    elif op == "exp2":
        _activation(e, e.result(stmt.out), "nl.exp", x, scale=log(2))
    elif op in ("log", "log2"):
        _logarithm(e, stmt)
    elif op in _POWERS:
        exponent = replace(x, name="exponent", dtype=F32, constant=repr(_POWERS[op]), psum=False)
        power(e, e.result(stmt.out), x, exponent)
    elif op == "neg":
        _scaled(e, e.result(stmt.out), x, "nl.multiply", -1.0)
    elif op in ("sin", "cos"):
        _periodic(e, stmt, x)
    elif op in ("round", "floor", "ceil"):
        copy(e, e.result(stmt.out), rounded(e, x, op))
        e.whole.add(stmt.out)
    else:
        raise refuse(stmt, f"{op} of {dtype} has no instruction on a NeuronCore")


def _activation(
    e: Emission, made: TileValue, op: str, x: TileValue, scale: float | None = None
) -> None:
    x = e.tensors(x) if x.constant is not None else x
    with e.filled(made) as at:
        e.call("activation", dst=e.text(made, at), op=op, data=e.text(x, at), scale=scale)


def _scaled(e: Emission, made: TileValue, x: TileValue, op: str, by: float) -> None:
    x = e.tensors(x) if x.constant is not None else x
    with e.filled(made) as at:
        e.call("tensor_scalar", dst=e.text(made, at), data=e.text(x, at), op0=op, operand0=repr(by))


def _inverted(e: Emission, stmt: ins.Unary, x: TileValue) -> None:
    """All bits turned round: of a bool the lowest."""
    dtype = stmt.x.type.dtype
    mask = 1 if not dtype.is_integer else -1 if dtype.is_signed else (1 << dtype.bits) - 1
    x = e.tensors(x)
    out = e.result(stmt.out)
    with e.filled(out) as at:
        e.call(
            "tensor_scalar",
            dst=e.text(out, at),
            data=e.text(x, at),
            op0="nl.bitwise_xor",
            operand0=mask,
        )


def _integer(e: Emission, stmt: ins.Unary, x: TileValue) -> None:
    """neg and abs: 0 - x, and the greater of both."""
    dtype = stmt.x.type.dtype
    if stmt.op == "abs" and not dtype.is_signed:
        e.rename(stmt.out, x)
        return
    if stmt.op not in ("neg", "abs"):
        raise refuse(stmt, f"{stmt.op} of {dtype} has no instruction on a NeuronCore")
    wide = dtype if dtype.bits == 32 else I32
    x = widened(e, x, wide)
    zero, result = e.like(x, "zero"), e.like(x, "negated")
    with e.filled(zero) as at:
        e.call("memset", dst=e.text(zero, at), value=0)
    combine(e, result, "nl.subtract", zero, x, "nisa.engine.gpsimd")
    if stmt.op == "abs":
        larger = e.like(x, "larger")
        combine(e, larger, "nl.maximum", result, x, "nisa.engine.gpsimd")
        result = larger
    e.rename(stmt.out, result if wide == dtype else wrap(e, result, dtype))


def _logarithm(e: Emission, stmt: ins.Unary) -> None:
    """log of any number: others than 2^-64 to 2^64, which the table has, are brought there."""
    s = Steps(e, stmt.out)
    x = s.cast(stmt.x, F32)
    small, large = (s.binary(op, x, s.number(n, F32)) for op, n in (("lt", 2**-40), ("gt", 2**40)))

    def chosen(of_small: float, of_large: float, of_others: float) -> Value:
        numbers = [s.number(n, F32) for n in (of_small, of_large, of_others)]
        return s.where(small, numbers[0], s.where(large, *numbers[1:]))

    near = s.binary("mul", x, chosen(2.0**96, 2.0**-96, 1.0))
    near = s.binary("max", near, s.number(2.0**-64, F32))
    near = s.binary("min", near, s.number(2.0**64, F32))
    log_of = s.tile(F32)
    _activation(e, e.result(log_of), "nl.log", e.held(near))
    log_of = s.binary("add", log_of, chosen(-96 * log(2), 96 * log(2), 0.0))
    if stmt.op == "log2":
        log_of = s.binary("mul", log_of, s.number(1 / log(2), F32))
    zero = s.number(0.0, F32)
    of_others = s.where(s.binary("eq", x, zero), s.number(-inf, F32), s.number(nan, F32))
    log_of = s.where(s.binary("gt", x, zero), log_of, of_others)
    log_of = s.where(s.binary("lt", x, s.number(inf, F32)), log_of, x)
    e.rename(stmt.out, e.held(s.cast(log_of, stmt.out.type.dtype)))


def _periodic(e: Emission, stmt: ins.Unary, x: TileValue) -> None:
    """sin and cos: brought to [-pi, pi], where the scalar engine's table is.

    Whole turns are taken off in three parts (Cody and Waite 1980), of which the first two times a
    number of turns up to 2^13 are exact.
    """
    x = e.tensors(x)
    turns = e.like(x, "turns", F32)
    quarter = 0.25 if stmt.op == "cos" else 0.0
    with e.filled(turns) as at:
        e.call(
            "tensor_scalar",
            dst=e.text(turns, at),
            data=e.text(x, at),
            op0="nl.multiply",
            operand0=repr(1 / (2 * pi)),
            op1="nl.add",
            operand1=quarter,
        )
    whole = rounded(e, turns, "round")
    rest = x
    for part in _TURN:
        less = e.like(x, "rest", F32)
        with e.filled(less) as at:
            e.call(
                "scalar_tensor_tensor",
                dst=e.text(less, at),
                data=e.text(whole, at),
                op0="nl.multiply",
                operand0=-part,
                op1="nl.add",
                operand1=e.text(rest, at),
            )
        rest = less
    if quarter:
        moved = e.like(x, "rest", F32)
        _scaled(e, moved, rest, "nl.add", pi / 2)
        rest = moved
    within = e.like(x, "within", F32)
    with e.filled(within) as at:
        e.call(
            "tensor_scalar",
            dst=e.text(within, at),
            data=e.text(rest, at),
            op0="nl.maximum",
            operand0=-_PI,
            op1="nl.minimum",
            operand1=_PI,
        )
    _activation(e, e.result(stmt.out), "nl.sin", within)


EMITTERS: dict[type, Emit] = {ins.Unary: unary}
