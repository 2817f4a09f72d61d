"""Kernels of every kind through plan, text and simulator, against the interpreter."""

from __future__ import annotations

from typing import Any

import pytest
from dslc.runtime.aie_simulator import simulate

from support.npu.kernels import EXAMPLES, assert_close, case

_EXAMPLES: list[tuple[str, str, dict[str, Any]]] = [
    ("vector_add", "vector_add", {"N": 5000}),
    ("rmsnorm", "rmsnorm", {"T": "bf16", "M": 37, "H": 100}),
    ("layernorm", "layernorm", {"T": "bf16", "M": 40, "H": 64}),
    ("softmax", "softmax", {"T": "bf16", "M": 12, "N": 1500}),
    ("softmax", "softmax_rows", {"T": "bf16", "M": 9, "N": 96}),
    ("swiglu", "swiglu", {"T": "bf16", "M": 24, "F": 700}),
    ("rope", "rope", {"T": "bf16", "S": 40, "Q": 128, "D": 32}),
    ("rope", "rope_interleaved", {"T": "bf16", "S": 16, "Q": 64, "D": 32}),
    ("gemm", "gemm", {"T": "bf16", "M": 200, "N": 136, "K": 72, "BN": 64}),
    ("mlp", "gemm_residual", {"T": "bf16", "M": 70, "N": 64, "K": 128, "BN": 64}),
    ("lowrank", "lowrank", {"T": "bf16", "M": 40, "N": 128, "K": 128, "R": 32, "BN": 64, "BM": 16}),
    ("gemm", "gemm_i8", {"M": 64, "N": 128, "K": 128, "BN": 64}),
]


@pytest.mark.parametrize(("file", "name", "sizes"), _EXAMPLES)
def test_examples(file: str, name: str, sizes: dict[str, Any]) -> None:
    made = case(EXAMPLES / f"{file}.tile", name, **sizes)
    padded = made.padded
    simulate(made.text, padded)
    assert_close(made.written(padded), made.expected())


_KERNELS = {
    "gemv": """
kernel gemv(w: bf16[N, K], x: bf16[K], y: out bf16[N]):
    for n in parallel(range(0, N, 16)):
        acc = zeros(f32, [16])
        for k in range(0, K, 64):
            acc += sum(cast(w[n : n + 16, k : k + 64], f32) * cast(x[k : k + 64], f32), 1)
        y[n : n + 16] = cast(acc, bf16)
""",
    "row_times_matrix": """
kernel row_times_matrix(x: bf16[1, K], w: bf16[K, N], y: out f32[1, N]):
    for n in parallel(range(0, N, 64)):
        acc = zeros(f32, [1, 64])
        for k in range(0, K, 32):
            acc += dot(x[:, k : k + 32], w[k : k + 32, n : n + 64])
        y[:, n : n + 64] = acc
""",
    "scaled_weights": """
kernel scaled_weights(a: bf16[M, K], w: i8[K, N], c: out bf16[M, N]):
    for m, n in parallel(range(0, M, 16), range(0, N, 32)):
        acc = zeros(f32, [16, 32])
        for k in range(0, K, 32):
            b = cast(w[k : k + 32, n : n + 32], bf16) * 0.25
            acc += dot(a[m : m + 16, k : k + 32], b)
        c[m : m + 16, n : n + 32] = cast(maximum(acc, 0.0), bf16)
""",
    "triangle": """
kernel triangle(x: f32[M, N], y: out f32[M]):
    for m in parallel(range(0, M, 8)):
        total = zeros(f32, [8])
        for n in range(0, m + 8, 8):
            total += sum(x[m : m + 8, n : n + 8], 1)
        y[m : m + 8] = total
""",
    "integers": """
kernel integers(x: i32[N], y: i16[N], z: out i32[N]):
    for n in parallel(range(0, N, 64)):
        a = x[n : n + 64]
        b = cast(y[n : n + 64], i32)
        z[n : n + 64] = where(a % 3 == 0, (a // 2) ^ b, maximum(a << 2, b - 5))
""",
    "columns": """
kernel columns(x: f32[M, N], y: out f32[N], z: out f32[N]):
    for n in parallel(range(0, N, 32)):
        t = x[:, n : n + 32]
        y[n : n + 32] = max(t, 0)
        z[n : n + 32] = sum(t * t, 0)
""",
    "turned": """
kernel turned(x: f32[M, N], y: out f32[N, M]):
    for m, n in parallel(range(0, M, 8), range(0, N, 16)):
        y[n : n + 16, m : m + 8] = transpose(x[m : m + 8, n : n + 16])
""",
    "attention": """
kernel attention(q: bf16[S, Q], k: bf16[L, E], v: bf16[L, E], o: out bf16[S, Q]):
    const D = 32
    for h, s in parallel(range(Q // D), range(0, S, 16)):
        g = h // (Q // E) * D
        queries = q[s : s + 16, h * D : h * D + D]
        position = arange(16) + s
        top = full(f32, [16], -inf)
        total = zeros(f32, [16])
        acc = zeros(f32, [16, D])
        for l in range(0, s + 16, 16):
            scores = dot(queries, k[l : l + 16, g : g + D], transposed="b") * 0.17
            scores = where(arange(16) + l <= position[:, None], scores, -inf)
            higher = maximum(top, max(scores, 1))
            shrink = exp(top - higher)
            p = exp(scores - higher[:, None])
            total = total * shrink + sum(p, 1)
            acc = acc * shrink[:, None] + dot(cast(p, bf16), v[l : l + 16, g : g + D])
            top = higher
        o[s : s + 16, h * D : h * D + D] = cast(acc * (1 / total)[:, None], bf16)
""",
    "branches": """
kernel branches(x: f32[M, N], y: out f32[M, N]):
    for m in parallel(range(0, M, 4)):
        t = x[m : m + 4, :]
        if m % 8 == 0:
            r = t * 2.0
        else:
            r = exp(-t)
        y[m : m + 4, :] = r
""",
}
_SIZES = {
    "attention": {"S": 64, "L": 64, "Q": 128, "E": 64},
    "gemv": {"N": 100, "K": 256},
    "row_times_matrix": {"N": 192, "K": 96},
    "scaled_weights": {"M": 40, "N": 64, "K": 64},
    "triangle": {"M": 64, "N": 64},
    "integers": {"N": 1000},
    "columns": {"M": 24, "N": 128},
    "turned": {"M": 24, "N": 48},
    "branches": {"M": 32, "N": 20},
}


@pytest.mark.parametrize("name", sorted(_KERNELS))
def test_kernels(name: str) -> None:
    made = case(_KERNELS[name], name, **_SIZES[name])
    padded = made.padded
    simulate(made.text, padded)
    assert_close(made.written(padded), made.expected())


def test_rows_of_cores_share_a_memory_tile_and_columns_share_operands() -> None:
    made = case(EXAMPLES / "gemm.tile", "gemm", T="bf16", M=256, N=256, K=64, BN=64)
    plan = made.planned.plan
    assert (plan.herd.rows, plan.herd.columns) == (4, 4)
    shared = [f for f in plan.fifos if len(f.consumers) == 4]
    assert {f.streams[0].memory.name for f in shared} == {"a", "b"}
    assert all(f.dims for f in shared), "operands come in blocks"
    assert sum(len(link.inputs) == 4 for link in plan.links) == 4


def test_a_turn_without_reductions_takes_no_buffer() -> None:
    made = case(EXAMPLES / "swiglu.tile", "swiglu", T="bf16", M=4, F=512)
    assert all(not p.buffers for p in made.planned.programs.values())


def test_tensors_of_different_scopes_take_turns_on_a_channel() -> None:
    made = case(EXAMPLES / "mlp.tile", "gemm_residual", T="bf16", M=64, N=64, K=192, BN=64)
    plan = made.planned.plan
    outer, shared = (f for f in plan.fifos if len(f.streams) == 2)  # to the memory tile and on
    assert [s.memory.name for s in shared.streams] == ["r", "a"]
    (residual,) = (s for s in shared.streams if s.memory.name == "r")
    assert shared.is_passed_on(residual), "r is held while blocks of a come"
    order = [t.tensor.memory.name for t in plan.phases[0] if t.fifo is outer]
    assert order == ["r", "a"]


def test_block_floating_products_are_near_those_of_bf16() -> None:
    """Mean relative L1 of about 9e-3 is what AIE2P's emulated bf16 gives."""
    made = case(
        EXAMPLES / "gemm.tile", "gemm", {"BM": 16, "BN": 64, "BK": 64}, T="bf16", M=64, N=64, K=256
    )
    results = []
    for bfp16 in (False, True):
        padded = made.padded
        simulate(made.text, padded, bfp16=bfp16)
        results.append(made.written(padded)["c"].astype("f4"))
    exact, rounded = results
    error = abs(exact - rounded).sum() / abs(exact).sum()
    assert 1e-3 < error < 1.6e-2
