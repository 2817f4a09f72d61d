"""Kernels are compiled for the dims by which machines gain, and for no others."""

from __future__ import annotations

import dslc

SOURCE = """
kernel plain(a: f16[M, K], b: f16[K, N], c: out f16[M, N]):
    for m, n in parallel(range(0, M, 64), range(0, N, 64)):
        acc = zeros(f32, [64, 64])
        for k in range(0, K, 64):
            acc += dot(a[m : m + 64, k : k + 64], b[k : k + 64, n : n + 64])
        c[m : m + 64, n : n + 64] = cast(acc, f16)


kernel exponential(a: f16[M, K], b: f16[K, N], c: out f16[M, N]):
    for m, n in parallel(range(0, M, 64), range(0, N, 64)):
        acc = zeros(f32, [64, 64])
        for k in range(0, K, 64):
            x = cast(a[m : m + 64, k : k + 64], f32)
            acc += dot(cast(exp(x) / (exp(x) + 1.0), f16), b[k : k + 64, n : n + 64])
        c[m : m + 64, n : n + 64] = cast(acc, f16)
"""


def dims(name: str, sizes: dict[str, int]) -> dict[str, int]:
    """What a call of these sizes on Hopper has compiled in."""
    kernel = dslc.compile(SOURCE, "cuda:sm_90a", cache=False)[name]
    return kernel.origin.elaborated({}, {}, sizes.get).dims


def test_n_says_how_often_a_computed_operand_is_used_and_m_only_counts_rows() -> None:
    sizes = {"M": 64, "K": 256, "N": 4096}
    assert dims("exponential", sizes) == {"N": 4096}
    assert dims("plain", sizes) == {}


def test_rows_that_no_copy_can_move_ahead_are_an_operand_that_is_computed() -> None:
    sizes = {"M": 64, "K": 255, "N": 4096}
    large = SOURCE.replace("64", "128")
    kernel = dslc.compile(large, "cuda:sm_90a", cache=False)["plain"]
    assert kernel.origin.elaborated({}, {}, sizes.get).dims == {"N": 4096}
    assert kernel.origin.elaborated({}, {}, {**sizes, "K": 256}.get).dims == {"N": 4096}, (
        "what was learnt of one call holds for those after it"
    )
