"""Elementwise instructions by words: pairs of halves, four bytes; run on the host against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from dslc.codegen.cuda.generate import emit
from dslc.compiler.dtypes import DType, all_dtypes, cast, decode, encode, storage_dtype
from dslc.compiler.ir import Kernel
from dslc.compiler.ir.text.parser import parse_program
from dslc.compiler.targets import find_target
from dslc.runtime.cuda_emulator import compiler, emulate

NAMES = {d.name: d for d in all_dtypes()}
COUNT = 256
LAYOUT = f"spatial(32).local({COUNT // 32})"


FUNCTIONS: dict[str, Any] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "min": np.minimum, "max": np.maximum,
}  # fmt: skip
BYTES = [
    ("f32", "i8"),
    ("f32", "u8"),
    ("i32", "u8"),
    ("f16", "i8"),
    ("f32", "f8e4m3"),
    ("f32", "f8e5m2"),
]


@pytest.fixture(scope="module", autouse=True)
def needs_a_host_compiler() -> None:
    if compiler() is None:
        pytest.skip("needs a host compiler")


def values(dtype: DType, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    if not dtype.is_float:
        low, high = dtype.integer_range
        return rng.integers(low, high, COUNT, endpoint=True).astype(storage_dtype(dtype))
    found = rng.standard_normal(COUNT) * 10.0 ** rng.integers(-3, 5, COUNT)
    found[:8] = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 2.5]
    return encode(rng.permutation(found).astype(np.float64), dtype)


def run(body: str, dtype: DType, to: DType, *inputs: Any) -> tuple[str, Any]:
    params = ", ".join(f"@x{i}: in {dtype}[{COUNT}]" for i in range(len(inputs)))
    loads = "".join(
        f"  %a{i} = load @x{i}[0 : +{COUNT}!] : {dtype}[{COUNT}] `{LAYOUT}`\n"
        for i in range(len(inputs))
    )
    text = (
        f"kernel k[]({params}, @y: out {to}[{COUNT}]) {{\n  threads(32)\n{loads}"
        f"  {body.format(d=dtype, t=to, n=COUNT, L=f'`{LAYOUT}`')}\n  store @y[0 : +{COUNT}!], %r\n}}\n"
    )
    kernel = parse_program(text)
    assert isinstance(kernel, Kernel)
    emitted, shared = emit(kernel, find_target("cuda:sm_90a"))
    out = np.zeros(COUNT, storage_dtype(to))
    raw = [np.ascontiguousarray(x).view(np.uint8) for x in (*inputs, out)]
    emulate(emitted, "k_kernel", raw, 1, 32, shared)
    return emitted, out


def same(found: Any, want: Any, dtype: DType) -> None:
    a, b = (np.asarray(decode(x, dtype)).astype(np.float64) for x in (found, want))
    assert ((a == b) | (np.isnan(a) & np.isnan(b))).all()


@pytest.mark.parametrize("name", ["f16", "bf16"])
@pytest.mark.parametrize("op", ["add", "sub", "mul", "min", "max"])
def test_pairs_of_two(name: str, op: str) -> None:
    dtype = NAMES[name]
    x, y = values(dtype, 1), values(dtype, 2)
    text, found = run(f"%r = {op} %a0, %a1 : {{d}}[{{n}}] {{L}}", dtype, dtype, x, y)
    function = {
        "add": np.add,
        "sub": np.subtract,
        "mul": np.multiply,
        "min": np.minimum,
        "max": np.maximum,
    }[op]
    with np.errstate(all="ignore"):
        want = function(*(np.asarray(decode(v, dtype)).astype(np.float32) for v in (x, y)))
        same(found, encode(want, dtype), dtype)
    assert f"{op}_{name}x2(" in text


@pytest.mark.parametrize("name", ["f16", "bf16"])
@pytest.mark.parametrize(("op", "function"), [("neg", np.negative), ("abs", np.abs)])
def test_pairs_of_one(name: str, op: str, function: Any) -> None:
    dtype = NAMES[name]
    x = values(dtype, 3)
    _, found = run(f"%r = {op} %a0 : {{d}}[{{n}}] {{L}}", dtype, dtype, x)
    same(found, encode(function(np.asarray(decode(x, dtype))), dtype), dtype)
    assert (
        np.signbit(found.astype(np.float32)) == np.signbit(function(x.astype(np.float32)))
    ).all()


@pytest.mark.parametrize("name", ["f16", "bf16", "i16"])
def test_halves_are_selected(name: str) -> None:
    dtype = NAMES[name]
    x, y = values(dtype, 4), values(dtype, 5)
    body = "%c = lt %a0, %a1 : bool[{n}] {L}\n  %r = where %c, %a0, %a1 : {d}[{n}] {L}"
    text, found = run(body, dtype, dtype, x, y)
    a, b = (np.asarray(decode(v, dtype)).astype(np.float64) for v in (x, y))
    same(found, np.where(a < b, x, y), dtype)
    assert "select_halves(" in text


@pytest.mark.parametrize("saturate", [False, True])
@pytest.mark.parametrize(("source", "to"), BYTES)
def test_bytes_are_joined(source: str, to: str, saturate: bool) -> None:
    dtype, narrow = NAMES[source], NAMES[to]
    x = values(dtype, 6)
    if dtype.name == "i32":
        x //= 1 << 22
    option = ", saturate=1" if saturate else ""
    text, found = run(f"%r = cast %a0{option} : {{t}}[{{n}}] {{L}}", dtype, narrow, x)
    want = encode(cast(np.asarray(decode(x, dtype)), dtype, narrow, saturate), narrow)
    same(found, want, narrow)
    assert "join_bytes(" in text
