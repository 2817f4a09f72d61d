"""Every operation and cast on tiles: the interpreter's numbers, or an error that says so."""

from __future__ import annotations

import numpy as np
import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.dtypes import parse_dtype, storage_dtype
from dslc.compiler.ir.expr import ARITHMETIC_OPS, COMPARE_OPS, UNARY_OPS
from dslc.compiler.ir.text.parser import parse_program
from dslc.compiler.ir.verify import verify

from support.nki.trainium import both

TYPES = ("bool", "i3", "u5", "i8", "u8", "i16", "u16", "i32", "u32", "f16", "bf16", "f32")
SHAPE = "[5, 40]"


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
    """Integers of few bits come and go as bytes: as parameters they are packed."""
    given, back = (_byte(d) for d in (dtype, out))
    lines = []
    for name in "xy":
        lines.append(f"%{name}_0 = load @{name}[0 : +5!, 0 : +40!] : {given}{SHAPE}")
        lines.append(f"%{name} = cast %{name}_0 : {dtype}{SHAPE}")
    lines += [line, f"%z_0 = cast %z : {back}{SHAPE}", "store @z[0 : +5!, 0 : +40!], %z_0"]
    params = f"@x: in {given}{SHAPE}, @y: in {given}{SHAPE}, @z: out {back}{SHAPE}"
    return f"kernel k[]({params}) {{\n" + "".join(f"  {x}\n" for x in lines) + "}\n"


def _byte(dtype: str) -> str:
    return {"i3": "i8", "u5": "u8"}.get(dtype, dtype)


def compare(text: str, dtype: str, out: str, x: np.ndarray, y: np.ndarray, rtol: float) -> None:
    found = parse_dtype(out)
    assert found is not None
    kind = np.bool_ if out == "bool" else storage_dtype(found)
    wanted, got = both(text, {"x": x, "y": y, "z": np.zeros((5, 40), kind)})
    a, b = (np.asarray(w["z"]).astype(np.float64) for w in (wanted, got))
    np.testing.assert_allclose(b, a, rtol=rtol, atol=rtol, equal_nan=True)


RTOL = {"f32": 2e-6, "f16": 2e-3, "bf16": 2e-2}


def check(text: str, dtype: str, out: str, x: np.ndarray, y: np.ndarray) -> None:
    if not is_sound(text):
        pytest.skip("the language has no such operation")
    compare(text, dtype, out, x, y, RTOL.get(dtype, 0.0))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("op", ARITHMETIC_OPS)
@pytest.mark.sampled(2)
def test_arithmetic(op: str, dtype: str) -> None:
    x, y = values(dtype, 1), values(dtype, 2)
    if op in ("shl", "shr"):
        y = (np.abs(y.astype(np.int64)) % 36).astype(y.dtype)
    if op == "pow" and dtype in RTOL:
        x = np.abs(x)
    if op in ("floordiv", "mod") and dtype in RTOL:
        y = np.where(y == 0, 1, y).astype(y.dtype)
    elif op in ("floordiv", "mod"):
        y[0, :4] = 0  # gives 0
    if op == "div":
        y = np.where(np.abs(y.astype(np.float64)) < 0.1, 1, y).astype(y.dtype)
    text = kernel(dtype, dtype, f"%z = {op} %x, %y : {dtype}{SHAPE}")
    check(text, dtype, dtype, x, y)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("op", COMPARE_OPS)
def test_comparisons(op: str, dtype: str) -> None:
    x, y = values(dtype, 3), values(dtype, 4)
    y[:, ::3] = x[:, ::3]
    text = kernel(dtype, "bool", f"%z = {op} %x, %y : bool{SHAPE}")
    check(text, dtype, "bool", x, y)


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
    check(text, dtype, dtype, x, x)


@pytest.mark.parametrize("there", TYPES)
@pytest.mark.parametrize("here", TYPES)
@pytest.mark.sampled(2)
def test_casts(here: str, there: str) -> None:
    x = values(here, 6)
    if here in RTOL:
        x[0, :4] = np.asarray([0.5, -1.75, 300.0, -40000.0], x.dtype)
        x[1, :3] = np.asarray([np.inf, -np.inf, np.nan], x.dtype)
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


def test_a_shift_by_constants_past_the_width() -> None:
    line = f"%n = full i8(9) : i8{SHAPE}\n  %z = shr %x, %n : i8{SHAPE}"
    compare(kernel("i8", "i8", line), "i8", "i8", values("i8", 11), values("i8", 12), 0.0)


@pytest.mark.parametrize("target", ["nki:trn1", "nki:trn3"])
@pytest.mark.parametrize("saturate", ["", ", saturate"])
@pytest.mark.parametrize(
    "name", ["f8e4m3", "f8e5m2", "f8e3m4", "f6e3m2", "f4e2m1", "f4e3m0", "e8m0"]
)
def test_rounding_to_codes(name: str, saturate: str, target: str) -> None:
    dtype = parse_dtype(name)
    assert dtype is not None
    rng = np.random.default_rng(13)
    x = rng.integers(0, 1 << 32, (128, 16), np.uint32).view(np.float32)
    x[:90] = rng.standard_normal((90, 16)) * np.exp2(rng.integers(-12, 12, (90, 16)))
    x[90:120] = rng.integers(-64, 65, (30, 16)) * np.exp2(rng.integers(-10, 10, (30, 16)))  # ties
    x[127] = [0, -0.0, np.inf, -np.inf, np.nan, 448, 464, 465, 57344, 61440, 61441, 1e-45,
              2.0**-126, 2.0**-127, 1.5 * 2.0**-127, 1e38]  # fmt: skip
    shape = "[128, 16]"
    text = (
        f"kernel k[](@x: in f32{shape}, @z: out {name}{shape}) {{\n"
        f"  %x = load @x[0 : +128!, 0 : +16!] : f32{shape}\n"
        f"  %z = cast %x{saturate} : {name}{shape}\n"
        "  store @z[0 : +128!, 0 : +16!], %z\n}\n"
    )
    wanted, got = both(text, {"x": x, "z": np.zeros((128, 16), storage_dtype(dtype))}, target)
    np.testing.assert_array_equal(got["z"].view(np.uint8), wanted["z"].view(np.uint8))
