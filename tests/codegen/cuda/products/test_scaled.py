"""Products of low-bit weights: emitted, run on the host, compared with NumPy's element by element."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from dslc.checker import check_module
from dslc.codegen.cuda.generate import emit
from dslc.compiler.dtypes import DType, Kind, all_dtypes, decode, storage_dtype
from dslc.compiler.ir import Kernel
from dslc.compiler.passes.pass_lists.gpu import gpu_passes
from dslc.compiler.passes.pass_manager import run_passes
from dslc.compiler.targets import find_target
from dslc.frontend import parse_tile
from dslc.runtime import packing
from dslc.runtime.cuda_emulator import compiler, emulate

NAMES = {d.name: d for d in all_dtypes()}
N, K = 128, 256
SCALED = ["i1", "u1", "u2", "u3", "u4", "u5", "u6", "u7", "f3e1m1", "f4e2m1", "f6e3m2", "f7e4m2"]
LOOP = """
kernel product(a: {T}[{M}, {K}], w: {W}[{K}, {N}], c: out f32[{M}, {N}]):
    acc = zeros(f32, [{M}, {N}])
    for k in range(0, {K}, {BK}):
        acc += dot(a[0:{M}, k : k + {BK}], cast(w[k : k + {BK}, 0:{N}], {T}))
    c[0:{M}, 0:{N}] = acc
"""
AFTER = """
kernel product(a: {T}[{M}, {K}], w: {W}[{K}, {N}], c: out f32[{M}, {N}]):
    acc = zeros(f32, [{M}, {N}])
    for k in range(0, {K}, {BK}):
        acc += dot(a[0:{M}, k : k + {BK}], cast(w[k : k + {BK}, 0:{N}], {T})) * 0.5
    c[0:{M}, 0:{N}] = acc
"""

# Sums side by side, as those of groups are.
BESIDE = """
kernel product(a: {T}[{M}, {K}], w: {W}[{K}, {N}], c: out f32[{M}, {N}]):
    acc = zeros(f32, [4, {M}, {N}])
    for k in range(0, {K}, {BK}):
        x = transpose(reshape(a[0:{M}, k : k + {BK}], [{M}, 4, {BK} // 4]), [1, 0, 2])
        q = reshape(cast(w[k : k + {BK}, 0:{N}], {T}), [4, {BK} // 4, {N}])
        acc += dot(x, q) * 0.5
    c[0:{M}, 0:{N}] = sum(acc, 0)
"""

SHIFTED = """
kernel product(a: {T}[{M}, {K}], w: {W}[{K}, {N}], c: out f32[{M}, {N}]):
    acc = zeros(f32, [{M}, {N}])
    for k in range(0, {K}, {BK}):
        b = cast(w[k : k + {BK}, 0:{N}], {T}) - {Z}
        acc += dot(a[0:{M}, k : k + {BK}], b)
    c[0:{M}, 0:{N}] = acc
"""


def lowered(text: str, **values: object) -> Kernel:
    found = (
        check_module(parse_tile(text.format(**values), "p.tile")).templates["product"].elaborate()
    )
    assert isinstance(found, Kernel)
    after = run_passes(found, gpu_passes(find_target("cuda:sm_90a")))
    assert isinstance(after, Kernel)
    return after


def run(kernel: Kernel, dtype: DType, to: DType, m: int, n: int, k: int) -> tuple[str, Any, Any]:
    text, shared = emit(kernel, find_target("cuda:sm_90a"))
    rng = np.random.default_rng(1)
    a = rng.integers(-3, 4, (m, k)).astype(storage_dtype(to))
    codes = rng.integers(0, 1 << dtype.bits, (k, n)).astype(np.uint8)
    if dtype.kind is Kind.INT:
        codes = (codes << (8 - dtype.bits)).astype(np.uint8).view(np.int8) >> (8 - dtype.bits)
    stored = packing.pack(codes, kernel.packed[0].storage.to_data()) if kernel.packed else codes
    c = np.zeros((m, n), np.float32)
    emulate(text, "product_kernel", [a, stored, c], 1, kernel.threads or 32, shared)
    want = a.astype(np.float64) @ np.asarray(decode(codes, dtype)).astype(np.float64)
    return text, c, want


@pytest.fixture(scope="module", autouse=True)
def needs_a_host_compiler() -> None:
    if compiler() is None:
        pytest.skip("needs a host compiler")


@pytest.mark.parametrize("name", SCALED)
@pytest.mark.parametrize("m", [8, 16])
@pytest.mark.sampled(3)
def test_factors_are_made_up_for_after_the_loop(name: str, m: int) -> None:
    kernel = lowered(LOOP, T="f16", W=name, M=m, N=N, K=K, BK=128)
    text, found, want = run(kernel, NAMES[name], NAMES["f16"], m, N, K)
    assert (found == want).all()
    assert "fmaf(" in text
    assert "sub_f16x2" not in text
    assert "mul_f16x2" not in text


@pytest.mark.parametrize("name", ["u1", "u2", "u4", "f6e3m2"])
def test_factors_are_made_up_for_where_the_sums_are_used(name: str) -> None:
    kernel = lowered(AFTER, T="f16", W=name, M=8, N=64, K=K, BK=256)
    text, found, want = run(kernel, NAMES[name], NAMES["f16"], 8, 64, K)
    assert (found == want * 0.5).all()
    assert "part" in text


@pytest.mark.parametrize(("name", "m", "k"), [("i4", 8, 512), ("i2", 8, 512), ("i4", 16, 256)])
def test_what_signed_codes_are_too_great_by_is_taken_from_sums(name: str, m: int, k: int) -> None:
    kernel = lowered(BESIDE, T="f16", W=name, M=m, N=64, K=k, BK=k)
    text, found, want = run(kernel, NAMES[name], NAMES["f16"], m, 64, k)
    assert (found == want * 0.5).all()
    assert "_offset" in text
    assert "sub_f16x2" not in text


@pytest.mark.parametrize("name", ["i1", "i2", "i3", "i4", "i5", "i6", "i7", "u4", "f5e2m2"])
@pytest.mark.parametrize("to", ["f16", "bf16"])
@pytest.mark.sampled(3)
def test_exact_operands(name: str, to: str) -> None:
    kernel = lowered(LOOP, T=to, W=name, M=16, N=64, K=128, BK=64)
    _, found, want = run(kernel, NAMES[name], NAMES[to], 16, 64, 128)
    assert (found == want).all()


@pytest.mark.parametrize("name", ["u1", "u4", "u7", "i2", "i6"])
@pytest.mark.parametrize("to", ["f16", "bf16"])
@pytest.mark.sampled(2)
def test_differences_of_whole_numbers_are_exact(name: str, to: str) -> None:
    """At the ends of the codes' range, past it, and of what is no whole number."""
    dtype = NAMES[name]
    low, high = dtype.integer_range
    for z, whole in ((low, True), (high, True), (high + 1, False), (0.5, False)):
        kernel = lowered(SHIFTED, T=to, W=name, M=8, N=16, K=64, BK=64, Z=z)
        text, found, want = run(kernel, dtype, NAMES[to], 8, 16, 64)
        assert ("add_" in text) == whole
        if z != 0.5 or high < 64:
            a = np.random.default_rng(1).integers(-3, 4, (8, 64))
            assert (found == want - z * a.sum(1, keepdims=True)).all(), z


@pytest.mark.parametrize("name", ["u3", "u4", "u8", "i5", "i8"])
@pytest.mark.sampled(2)
def test_zero_points_are_taken_from_every_code(name: str) -> None:
    """All differences of two codes, each exact in f16."""
    dtype = NAMES[name]
    text = """
kernel product(a: f16[16, 256], w: {W}[256, 256], z: {W}[1, 256], c: out f32[16, 256]):
    acc = zeros(f32, [16, 256])
    for k in range(0, 256, 64):
        zero = repeat(z[0:1, 0:256], 64, 0)
        b = cast(w[k : k + 64, 0:256], f16) - cast(zero, f16)
        acc += dot(a[0:16, k : k + 64], b)
    c[0:16, 0:256] = acc
"""
    kernel = lowered(text, W=name)
    emitted, shared = emit(kernel, find_target("cuda:sm_90a"))
    every = np.arange(256).astype(np.uint8)
    signed = dtype.kind is Kind.INT
    values = (every << (8 - dtype.bits)).astype(np.uint8).view(np.int8 if signed else np.uint8)
    values = values >> (8 - dtype.bits)
    w, z = np.ascontiguousarray(np.repeat(values[:, None], 256, 1)), values[None, :].copy()
    a = np.zeros((16, 256), np.float16)
    a[np.arange(16), np.arange(16) * 16 + 5] = 1
    c = np.zeros((16, 256), np.float32)
    storages = {p.name: p.storage.to_data() for p in kernel.packed}
    given = [packing.pack(x, storages[n]) if n in storages else x for n, x in (("w", w), ("z", z))]
    emulate(emitted, "product_kernel", [a, *given, c], 1, kernel.threads or 32, shared)
    want = w[np.arange(16) * 16 + 5].astype(np.float32) - z.astype(np.float32)
    assert (c == want).all()
    assert "add_f16x2" in emitted
