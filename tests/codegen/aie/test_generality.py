"""What kernels are made of beyond plain tensors: scalars, codes, branches, ends known to a core alone.

Each runs through the face on the simulated NPU and on the interpreter.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dslc
import ml_dtypes
import numpy as np
import pytest
from dslc.compiler.dtypes import DType, parse_dtype

from support.npu.kernels import EXAMPLES, assert_close

_BF16 = ml_dtypes.bfloat16


def _array(dtype: DType, shape: tuple[int, ...], rng: Any) -> Any:
    """Random elements; those of low-bit dtypes are codes."""
    if dtype.name in ("f32", "bf16"):
        return rng.standard_normal(shape).astype(np.float32 if dtype.name == "f32" else _BF16)
    if dtype.is_float:  # codes of a scale near 1, or of every small float that is finite
        low, high = (120, 130) if dtype.name == "e8m0" else (0, 1 << min(dtype.bits, 6))
        return rng.integers(low, high, shape).astype(np.uint8)
    low, high = dtype.integer_range if dtype.bits <= 8 else (-40, 40)
    names = {8: "int8", 16: "int16", 32: "int32"}
    name = names[max(8, dtype.bits)]
    return rng.integers(low, high + 1, shape).astype(name if dtype.is_signed else f"u{name}")


def _agree(
    source: str | Path, name: str, sizes: dict[str, int], given: dict[str, Any] | None = None,
    define: dict[str, object] | None = None, config: dict[str, int] | None = None,
) -> None:  # fmt: skip
    """Both machines give the same, for random arguments but those that are given."""
    rng, results = np.random.default_rng(5), []
    npu, interp = (
        getattr(dslc.compile(source, target=t, define=define or {}, cache=False), name)
        for t in ("aie:npu2", "interp")
    )
    arguments: dict[str, Any] = {}
    for parameter in npu.origin.signature.parameters:
        dtype = parse_dtype(str(parameter.dtype))
        assert dtype is not None
        if given and parameter.name in given:
            arguments[parameter.name] = given[parameter.name]
        elif not parameter.optional:
            shape = tuple(int(eval(str(d), {}, sizes)) for d in parameter.dims)
            arguments[parameter.name] = _array(dtype, shape, rng)
    written = [
        p.name for p in npu.origin.signature.parameters if p.is_written and p.name in arguments
    ]
    for kernel in (npu, interp):
        own = {n: a.copy() if n in written else a for n, a in arguments.items()}
        kernel(**own, **(config or {}))
        results.append({n: own[n] for n in written})
    assert any(np.abs(x.astype(np.float64)).max() > 0 for x in results[1].values())
    assert_close(results[0], results[1])


_KERNELS: dict[str, tuple[str, dict[str, int], dict[str, Any]]] = {
    "scalars": ("""
kernel k(x: f32[N], by: f32, shift: i32, small: i8, flag: bool, y: out f32[N]):
    for n in parallel(range(0, N, 32)):
        t = x[n : n + 32] * by + cast(shift, f32)
        if flag:
            r = t * cast(small, f32)
        else:
            r = -t
        y[n : n + 32] = r
""", {"N": 100}, {"by": -1.75, "shift": -70000, "small": -3, "flag": True}),
    "unlike": ("""
kernel k(r: f32[M, N], a: bf16[M, K], b: i8[K, N], s: f32[N], c: out bf16[M, N]):
    for m, n in parallel(range(0, M, 16), range(0, N, 16)):
        acc = r[m : m + 16, n : n + 16]
        for k in range(0, K, 32):
            acc += dot(a[m : m + 16, k : k + 32], cast(b[k : k + 32, n : n + 16], bf16))
        c[m : m + 16, n : n + 16] = cast(acc * s[n : n + 16], bf16)
""", {"M": 30, "N": 44, "K": 64}, {}),
    "branch_loads": ("""
kernel k(x: f32[M, N], z: f32[N], y: out f32[M, N]):
    for m in parallel(range(0, M, 2)):
        if m % 4 == 0:
            r = x[m : m + 2, :] + z[:]
        else:
            r = x[m : m + 2, :] * 2.0
        y[m : m + 2, :] = r
""", {"M": 11, "N": 24}, {}),
    "codes": ("""
kernel k(x: i6[M, N], y: u3[M, N], z: out i32[M, N], w: out u3[M, N]):
    for m in parallel(range(0, M, 4)):
        t = cast(x[m : m + 4, :], i32) * 3 + cast(y[m : m + 4, :], i32)
        z[m : m + 4, :] = t
        w[m : m + 4, :] = cast(t, u3)
""", {"M": 8, "N": 40}, {}),
    "one_code": ("""
kernel k(x: i5[N, M], y: out i32[M, N]):
    for n in parallel(range(0, N, 2)):
        y[:, n : n + 2] = transpose(cast(x[n : n + 2, :], i32))
""", {"M": 16, "N": 6}, {}),
    "places": ("""
kernel k(x: f32[M, N], y: out i32[M], z: out i32[N]):
    for m in parallel(range(0, M, 8)):
        y[m : m + 8] = argmax(x[m : m + 8, :], 1) + argmin(x[m : m + 8, :], 1) * 100
        z[:] = argmin(x[m : m + 8, :], 0)
""", {"M": 8, "N": 40}, {}),
    "prefixes": ("""
kernel k(x: bf16[M, N], y: out f32[M, N], z: out f32[M, N]):
    for m in parallel(range(0, M, 8)):
        t = cast(x[m : m + 8, :], f32)
        y[m : m + 8, :] = cumsum(t, 1)
        z[m : m + 8, :] = cumsum(t, 0)
""", {"M": 16, "N": 24}, {}),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(_KERNELS))
def test_kernels(name: str) -> None:
    source, sizes, given = _KERNELS[name]
    _agree(source, "k", sizes, given)


@pytest.mark.parametrize("past", [0, 5, 31])
def test_attention_by_the_position_of_a_call(past: int) -> None:
    sizes = {"B": 1, "S": 1, "L": 32, "HQ": 4, "HK": 2, "D": 32}
    given = {"past": np.array([past], np.int32), "scale": 0.21}
    define = {"T": "bf16"}
    config = {"BS": 16, "BL": 16} if past == 5 else {"BS": 16, "BL": 32}
    library = EXAMPLES.parent / "dsl" / "std" / "attention.tile"
    source = library.read_text().replace("64 | 32 | 128", "32 | 16")
    _agree(source, "attention", sizes, given, define, config)


@pytest.mark.parametrize("weights", ["u4", "i3", "f6e2m3"])
def test_weights_of_few_bits(weights: str) -> None:
    sizes = {"M": 16, "K": 128, "N": 64, "G": 128}
    config = {"BM": 16, "BN": 32, "BK": 128, "SPLIT": 1}
    define = {"T": "bf16", "W": weights}
    _agree(EXAMPLES / "gemm_quantized.tile", "gemm_quantized", sizes, {}, define, config)


def test_every_code_of_small_floats() -> None:
    for name in ("f4e2m1", "f5e3m1", "f6e3m2", "f8e4m3", "f8e5m2", "f7e2m4", "e8m0"):
        dtype = parse_dtype(name)
        assert dtype is not None
        source = f"""
kernel k(x: {name}[1, N], y: out f32[1, N]):
    for n in parallel(range(0, N, 256)):
        y[:, n : n + 256] = cast(x[:, n : n + 256], f32)
"""
        codes = np.arange(256, dtype=np.uint8)[None] & ((1 << dtype.bits) - 1)
        found = []
        for target in ("aie:npu2", "interp"):
            y = np.zeros((1, 256), np.float32)
            dslc.compile(source, target=target, cache=False).k(codes, y)
            found.append(y)
        np.testing.assert_array_equal(found[0], found[1], err_msg=name)
