"""Whatever the emitters can write, the CUDA compiler knows: every operation and cast of every dtype."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from dslc.codegen.cuda.generate import emit
from dslc.codegen.cuda.tools.locate import find_library
from dslc.codegen.cuda.tools.nvrtc import load_nvrtc
from dslc.codegen.cuda.tools.toolchain import DEFAULT
from dslc.compiler.dtypes import DType
from dslc.compiler.interpreter import run
from dslc.compiler.ir import Kernel
from dslc.compiler.ir.text.parser import parse_program
from dslc.compiler.targets import find_target
from dslc.runtime.cuda_emulator import compiler, emulate

from support.generated.every_operation import LAYOUT, TRIED, joined, program

needs_nvrtc = pytest.mark.skipif(find_library("nvrtc") is None, reason="needs NVRTC")


@needs_nvrtc
@pytest.mark.parametrize("dtype", TRIED, ids=str)
@pytest.mark.sampled(6)
def test_every_operation_of_a_dtype_compiles(dtype: DType) -> None:
    kernel = joined(dtype)
    assert len(kernel.params) > 40
    text, nvrtc = emit(kernel, find_target("cuda:sm_80"))[0], load_nvrtc()
    flags = DEFAULT.flags("sm_80")
    # Machine code of little optimisation takes a tenth of the time: names are what is tested.
    done = nvrtc.compile(text, "k.cu", (*flags, "--Ofast-compile=max"))
    if done.options_refused:  # by a version that does not have this option
        done = nvrtc.compile(text, "k.cu", flags)
    assert done.succeeded, done.log


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
    emulate(code, "k_kernel", [x, z, c], 1, 32, shared)
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
    emulate(code, "k_kernel", [x, y, m, n], 1, 32, shared)
    np.testing.assert_array_equal(m, np.mod(x, y))
    np.testing.assert_allclose(n, 1 / (1 + np.exp(-x.astype(np.float64))), rtol=1e-6)
