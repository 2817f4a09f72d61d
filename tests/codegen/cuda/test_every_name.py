"""Whatever the emitters can write, the CUDA compiler knows: every operation and cast of every dtype."""

from __future__ import annotations

from collections.abc import Iterator

import ml_dtypes
import numpy as np
import pytest
from dslc.codegen.cuda.generate import emit
from dslc.codegen.cuda.locate import find_library
from dslc.codegen.cuda.toolchain import compile_ptx
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.dtypes import INDEX, DType, all_dtypes, parse_dtype
from dslc.compiler.interpreter import run
from dslc.compiler.ir import Kernel
from dslc.compiler.ir.expr import BINARY_OPS, UNARY_OPS
from dslc.compiler.ir.parser import parse_program
from dslc.compiler.ir.verify import verify
from dslc.compiler.targets import find_target
from dslc.runtime.cuda_emulator import compiler, emulate

DTYPES = [d for d in all_dtypes() if d != INDEX]
# Narrow types share their ways: some of each kind and width.
SOME = (
    "bool",
    "e8m0",
    "u1",
    "i3",
    "u4",
    "i8",
    "u8",
    "f4e2m1",
    "f6e3m2",
    "f8e4m3",
    "f8e5m2",
    "f8e3m4",
)
TRIED = [d for d in DTYPES if d.bits > 8 or d.name in SOME]
LAYOUT = "`spatial(32).local(8)`"

needs_nvrtc = pytest.mark.skipif(find_library("nvrtc") is None, reason="needs NVRTC")


def is_sound(text: str) -> bool:
    """Whether the language has the program."""
    try:
        verify(parse_program(text))
    except DiagnosticError:
        return False
    return True


def program(params: list[str], lines: list[str]) -> str:
    body = "".join(f"  {line}\n" for line in lines)
    return f"kernel k[]({', '.join(params)}) {{\n  threads(32)\n{body}}}\n"


def loads(dtype: DType) -> tuple[list[str], list[str]]:
    """Two tiles %x and %y of a dtype; those of few bits are viewed from bytes."""
    if dtype.bits >= 8:
        params = [f"@{n}: in {dtype}[256]" for n in "xy"]
        return params, [f"%{n} = load @{n}[0 : +256!] : {dtype}[256] {LAYOUT}" for n in "xy"]
    size = 32 * dtype.bits
    lines = []
    for n in "xy":
        at = f"`spatial(32).local({size // 32})`"
        lines.append(f"%{n}b = load @{n}[0 : +{size}!] : u8[{size}] {at}")
        lines.append(f"%{n} = view %{n}b : {dtype}[256] {LAYOUT}")
    return [f"@{n}: in u8[{size}]" for n in "xy"], lines


def operations(dtype: DType) -> Iterator[str]:
    """Every operation and every cast that the language has for a dtype, as IR."""
    params, start = loads(dtype)
    for op in (*UNARY_OPS, *BINARY_OPS, "fma"):
        operands = "%x" if op in UNARY_OPS else "%x, %y, %y" if op == "fma" else "%x, %y"
        for to in dict.fromkeys((dtype.name, "bool")):
            lines = [*start, f"%z = {op} {operands} : {to}[256] {LAYOUT}"]
            if is_sound(text := program(params, lines)):
                yield text
    for other in DTYPES:
        for how in ("", ", saturate"):
            text = program(params, [*start, f"%z = cast %x{how} : {other}[256] {LAYOUT}"])
            if is_sound(text):
                yield text


def joined(dtype: DType) -> Kernel:
    """All of them in one kernel, each stored."""
    params, lines = loads(dtype)
    for i, text in enumerate(operations(dtype)):
        last = next(line for line in text.split("\n") if "%z" in line).strip()
        out = parse_dtype(last.split(" : ")[1].split("[")[0])
        assert out is not None
        if out.bits >= 8:
            params.append(f"@o{i}: out {out}[256]")
            lines += [last.replace("%z", f"%z{i}"), f"store @o{i}[0 : +256!], %z{i}"]
        else:  # what has few bits is looked at through bytes
            size = 32 * out.bits
            params.append(f"@o{i}: out u8[{size}]")
            at = f"`spatial(32).local({size // 32})`"
            lines += [
                last.replace("%z", f"%z{i}"),
                f"%v{i} = view %z{i} : u8[{size}] {at}",
                f"store @o{i}[0 : +{size}!], %v{i}",
            ]
    found = parse_program(program(params, lines))
    assert isinstance(found, Kernel)
    return found


@needs_nvrtc
@pytest.mark.parametrize("dtype", TRIED, ids=str)
def test_every_operation_of_a_dtype_compiles(dtype: DType) -> None:
    kernel = joined(dtype)
    assert len(kernel.params) > 40
    compile_ptx(emit(kernel, find_target("cuda:sm_80"))[0], "sm_80")


@pytest.mark.skipif(compiler() is None, reason="needs a host compiler")
@pytest.mark.parametrize("how", ["", ", saturate"])
def test_scales_are_cast_as_the_interpreter_does(how: str) -> None:
    """0, negative numbers, infinities and NaN, ties, what lies between the least two, all exponents."""
    special = [
        0.0,
        -0.0,
        np.inf,
        -np.inf,
        np.nan,
        -1.0,
        1.5,
        3.0,
        2.0**-127,
        2.0**-149,
        3e38,
        2.6e38,
    ]
    special += [2.0**-126 * 1.5, 2.0**-127 * 1.5, 1.9e38, -1e-30]
    x = np.exp2(np.random.default_rng(0).uniform(-149, 128, 256)).astype(np.float32)
    x[: len(special)] = special
    lines = [
        f"%x = load @x[0 : +256!] : f32[256] {LAYOUT}",
        f"%y = cast %x{how} : e8m0[256] {LAYOUT}",
        f"%b = cast %y : bf16[256] {LAYOUT}",
        "store @y[0 : +256!], %y",
        "store @b[0 : +256!], %b",
    ]
    kernel = parse_program(
        program(["@x: in f32[256]", "@y: out e8m0[256]", "@b: out bf16[256]"], lines)
    )
    assert isinstance(kernel, Kernel)
    y, z = np.zeros(256, np.uint8), np.zeros(256, np.uint8)
    b, c = np.zeros(256, ml_dtypes.bfloat16), np.zeros(256, np.uint16)
    run(kernel, {"x": x, "y": y, "b": b})
    code, shared = emit(kernel, find_target("cuda:sm_90a"))
    emulate(code, "k", [x, z, c], 1, 32, shared)
    np.testing.assert_array_equal(y, z)
    np.testing.assert_array_equal(
        b.astype(np.float32), c.view(ml_dtypes.bfloat16).astype(np.float32)
    )
    wanted = (0, 254) if how else (255, 255)
    assert (y[0], y[2]) == wanted
    assert list(y[[3, 4, 5]]) == [255, 255, 255]


@pytest.mark.skipif(compiler() is None, reason="needs a host compiler")
@pytest.mark.parametrize("name", ["f32", "f64"])
def test_remainders_and_sigmoids_are_numpys(name: str) -> None:
    dtype = np.dtype({"f32": "float32", "f64": "float64"}[name])
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=256).astype(dtype) * 9 for _ in range(2))
    x[:4], y[:4] = [1, -1, 0, -7], [np.inf, np.inf, 3, 7]
    params = [
        f"@{n}: {way} {name}[256]"
        for n, way in zip("xymn", ("in", "in", "out", "out"), strict=True)
    ]
    text = program(
        params,
        [
            *(f"%{n} = load @{n}[0 : +256!] : {name}[256] {LAYOUT}" for n in "xy"),
            f"%m = mod %x, %y : {name}[256] {LAYOUT}",
            f"%n = sigmoid %x : {name}[256] {LAYOUT}",
            "store @m[0 : +256!], %m",
            "store @n[0 : +256!], %n",
        ],
    )
    found = parse_program(text)
    assert isinstance(found, Kernel)
    m, n = np.zeros_like(x), np.zeros_like(x)
    code, shared = emit(found, find_target("cuda:sm_90a"))
    emulate(code, "k", [x, y, m, n], 1, 32, shared)
    np.testing.assert_array_equal(m, np.mod(x, y))
    np.testing.assert_allclose(n, 1 / (1 + np.exp(-x.astype(np.float64))), rtol=1e-6)
