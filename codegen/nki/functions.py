"""Functions of one tile: the scalar engine's tables, and what is built from them."""

from __future__ import annotations

from math import log, pi

from dslc.codegen.nki.elementwise import combine, copy, widened, wrap
from dslc.codegen.nki.emission import Emission, Emit, refuse
from dslc.codegen.nki.held import Held
from dslc.codegen.nki.rounding import rounded
from dslc.compiler.dtypes import F32, I32
from dslc.compiler.ir import instructions as ins

_TABLES = {
    "exp": "nl.exp", "log": "nl.log", "tanh": "nl.tanh", "sigmoid": "nl.sigmoid", "erf": "nl.erf",
    "abs": "nl.abs",
}  # fmt: skip
# The power of the vector engine has no limits of range, as the scalar engine's roots have.
_POWERS = {"sqrt": 0.5, "rsqrt": -0.5}


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
    elif op == "log2":
        natural = e.tile("natural", F32, stmt.out.type.shape, e.place(stmt.out))
        _activation(e, natural, "nl.log", x)
        _scaled(e, e.result(stmt.out), natural, "nl.multiply", 1 / log(2))
    elif op in _POWERS:
        _scaled(e, e.result(stmt.out), x, "nl.power", _POWERS[op])
    elif op == "neg":
        _scaled(e, e.result(stmt.out), x, "nl.multiply", -1.0)
    elif op in ("sin", "cos"):
        _periodic(e, stmt, x)
    elif op in ("round", "floor", "ceil"):
        copy(e, e.result(stmt.out), rounded(e, x, op))
        e.whole.add(stmt.out)
    else:
        raise refuse(stmt, f"{op} of {dtype} has no instruction on a NeuronCore")


def _activation(e: Emission, made: Held, op: str, x: Held, scale: float | None = None) -> None:
    x = e.tensors(x) if x.constant is not None else x
    with e.filled(made) as at:
        e.call("activation", dst=e.text(made, at), op=op, data=e.text(x, at), scale=scale)


def _scaled(e: Emission, made: Held, x: Held, op: str, by: float) -> None:
    x = e.tensors(x) if x.constant is not None else x
    with e.filled(made) as at:
        e.call("tensor_scalar", dst=e.text(made, at), data=e.text(x, at), op0=op, operand0=repr(by))


def _inverted(e: Emission, stmt: ins.Unary, x: Held) -> None:
    """All bits turned round: of a bool the lowest."""
    dtype = stmt.x.type.dtype
    mask = 1 if not dtype.is_integer else -1 if dtype.is_signed else (1 << dtype.bits) - 1
    x = e.tensors(x)
    made = e.result(stmt.out)
    with e.filled(made) as at:
        e.call(
            "tensor_scalar", dst=e.text(made, at), data=e.text(x, at), op0="nl.bitwise_xor",
            operand0=mask,
        )  # fmt: skip


def _integer(e: Emission, stmt: ins.Unary, x: Held) -> None:
    """neg and abs: 0 - x, and the greater of both."""
    dtype = stmt.x.type.dtype
    if stmt.op == "abs" and not dtype.is_signed:
        e.rename(stmt.out, x)
        return
    if stmt.op not in ("neg", "abs"):
        raise refuse(stmt, f"{stmt.op} of {dtype} has no instruction on a NeuronCore")
    wide = dtype if dtype.bits == 32 else I32
    x = widened(e, x, wide)
    zero, found = e.like(x, "zero"), e.like(x, "negated")
    with e.filled(zero) as at:
        e.call("memset", dst=e.text(zero, at), value=0)
    combine(e, found, "nl.subtract", zero, x, "nisa.engine.gpsimd")
    if stmt.op == "abs":
        larger = e.like(x, "larger")
        combine(e, larger, "nl.maximum", found, x, "nisa.engine.gpsimd")
        found = larger
    e.rename(stmt.out, found if wide == dtype else wrap(e, found, dtype))


def _periodic(e: Emission, stmt: ins.Unary, x: Held) -> None:
    """sin and cos: brought to [-pi, pi], where the scalar engine's table is."""
    x = e.tensors(x)
    turns = e.like(x, "turns", F32)
    with e.filled(turns) as at:
        quarter = 0.25 if stmt.op == "cos" else 0.0
        e.call(
            "tensor_scalar", dst=e.text(turns, at), data=e.text(x, at), op0="nl.multiply",
            operand0=repr(1 / (2 * pi)), op1="nl.add", operand1=quarter,
        )  # fmt: skip
    whole = rounded(e, turns, "round")
    rest = e.like(x, "rest", F32)
    combine(e, rest, "nl.subtract", turns, whole)
    # The greatest f32 below pi, doubled: half a turn stays in the table's range.
    _activation(e, e.result(stmt.out), "nl.sin", rest, scale=6.2831850051879883)


EMITTERS: dict[type, Emit] = {ins.Unary: unary}
