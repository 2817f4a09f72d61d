"""Every operation and cast on tiles: the interpreter's numbers, or an error that says so."""

from __future__ import annotations

import numpy as np
import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.dtypes import parse_dtype, storage_dtype
from dslc.compiler.ir.expr import ARITHMETIC_OPS, COMPARE_OPS, UNARY_OPS
from dslc.compiler.ir.parser import parse_program
from dslc.compiler.ir.verify import verify

from support.trainium import both

TYPES = ("bool", "i8", "u8", "i16", "u16", "i32", "u32", "f16", "bf16", "f32")
SHAPE = "[5, 40]"
# Whole quotients of floats, and powers of integers, have no instruction.
NONE = {
    *((op, d) for op in ("floordiv", "mod") for d in ("f16", "bf16", "f32", "u32")),
    *(("pow", d) for d in TYPES if d[0] in "iu"),
}


def is_sound(text: str) -> bool:
    try:
        verify(parse_program(text))
    except DiagnosticError:
        return False
    return True


def values(dtype: str, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    found = parse_dtype(dtype)
    assert found is not None
    kind = storage_dtype(found)
    if dtype == "bool":
        return rng.integers(0, 2, (5, 40)).astype(np.bool_)
    if found.is_integer:
        low, high = found.integer_range
        return rng.integers(low, high, (5, 40), endpoint=True).astype(kind)
    return (rng.standard_normal((5, 40)) * 3).astype(kind)


def kernel(dtype: str, out: str, line: str) -> str:
    return (
        f"kernel k[](@x: in {dtype}{SHAPE}, @y: in {dtype}{SHAPE}, @z: out {out}{SHAPE}) {{\n"
        f"  %x = load @x[0 : +5!, 0 : +40!] : {dtype}{SHAPE}\n"
        f"  %y = load @y[0 : +5!, 0 : +40!] : {dtype}{SHAPE}\n"
        f"  {line}\n"
        "  store @z[0 : +5!, 0 : +40!], %z\n}\n"
    )


def compare(text: str, dtype: str, out: str, x: np.ndarray, y: np.ndarray, rtol: float) -> None:
    found = parse_dtype(out)
    assert found is not None
    kind = np.bool_ if out == "bool" else storage_dtype(found)
    wanted, got = both(text, {"x": x, "y": y, "z": np.zeros((5, 40), kind)})
    a, b = (np.asarray(w["z"]).astype(np.float64) for w in (wanted, got))
    np.testing.assert_allclose(b, a, rtol=rtol, atol=rtol, equal_nan=True)


RTOL = {"f32": 2e-6, "f16": 2e-3, "bf16": 2e-2}


def check(text: str, op: str, dtype: str, out: str, x: np.ndarray, y: np.ndarray) -> None:
    if not is_sound(text):
        pytest.skip("the language has no such operation")
    if (op, dtype) in NONE:
        with pytest.raises(DiagnosticError, match="NeuronCore"):
            both(text, {"x": x, "y": y, "z": np.zeros((5, 40), x.dtype)})
        return
    compare(text, dtype, out, x, y, RTOL.get(dtype, 0.0))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("op", ARITHMETIC_OPS)
def test_arithmetic(op: str, dtype: str) -> None:
    x, y = values(dtype, 1), values(dtype, 2)
    if op in ("shl", "shr"):
        y = (np.abs(y.astype(np.int64)) % 7).astype(y.dtype)
    if op == "pow":
        x = np.abs(x)
    if op in ("floordiv", "mod"):
        y = np.where(y == 0, 1, y).astype(y.dtype)
    if op == "div":
        y = np.where(np.abs(y.astype(np.float64)) < 0.1, 1, y).astype(y.dtype)
    text = kernel(dtype, dtype, f"%z = {op} %x, %y : {dtype}{SHAPE}")
    check(text, op, dtype, dtype, x, y)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("op", COMPARE_OPS)
def test_comparisons(op: str, dtype: str) -> None:
    x, y = values(dtype, 3), values(dtype, 4)
    y[:, ::3] = x[:, ::3]
    text = kernel(dtype, "bool", f"%z = {op} %x, %y : bool{SHAPE}")
    check(text, op, dtype, "bool", x, y)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("op", UNARY_OPS)
def test_functions(op: str, dtype: str) -> None:
    x = values(dtype, 5)
    if op in ("log", "log2", "sqrt", "rsqrt"):
        x = np.abs(x) + np.asarray(0.01, x.dtype)
    if op in ("floor", "ceil", "round") and dtype == "f32":
        x[0, :6] = [0.5, -0.5, 2.5, 1e9, -np.inf, np.nan]
    text = kernel(dtype, dtype, f"%z = {op} %x : {dtype}{SHAPE}")
    if parse_dtype(dtype).is_integer and op in ("floor", "ceil", "round"):  # type: ignore[union-attr]
        pytest.skip("an integer is whole")
    check(text, op, dtype, dtype, x, x)


@pytest.mark.parametrize("there", TYPES)
@pytest.mark.parametrize("here", TYPES)
def test_casts(here: str, there: str) -> None:
    x = values(here, 6)
    if here in RTOL:
        x[0, :4] = np.asarray([0.5, -1.75, 300.0, -40000.0], x.dtype)
    for saturate in ("", ", saturate"):
        text = kernel(here, there, f"%z = cast %x{saturate} : {there}{SHAPE}")
        if is_sound(text):
            compare(text, here, there, x, x, RTOL.get(there, 0.0))


@pytest.mark.parametrize("dtype", ["i32", "f16", "f32"])
def test_choosing(dtype: str) -> None:
    line = f"%c = lt %x, %y : bool{SHAPE}\n  %z = where %c, %x, %y : {dtype}{SHAPE}"
    compare(kernel(dtype, dtype, line), dtype, dtype, values(dtype, 7), values(dtype, 8), 0.0)


@pytest.mark.parametrize("dtype", ["f16", "f32"])
def test_fma(dtype: str) -> None:
    text = kernel(dtype, dtype, f"%z = fma %x, %y, %x : {dtype}{SHAPE}")
    compare(text, dtype, dtype, values(dtype, 9), values(dtype, 10), 1e-5 + RTOL[dtype])
