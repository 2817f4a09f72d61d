"""A tune without values: every machine's first choice runs, and means the same."""

# ruff: noqa: F821 - kernels in Python

from __future__ import annotations

import dslc
import numpy as np
import pytest

from support.machines import MACHINES, call, target_of

SOURCE = """
kernel gemm(a: f16[M, K], b: f16[K, N], c: out f16[M, N]):
    tune BM
    tune BN
    tune BK

    for m, n in parallel(range(0, M, BM), range(0, N, BN)):
        acc = zeros(f32, [BM, BN])
        for k in range(0, K, BK):
            acc += dot(a[m : m + BM, k : k + BK], b[k : k + BK, n : n + BN])
        c[m : m + BM, n : n + BN] = cast(acc, f16)


kernel lengths(x: f32[M, H], y: out f32[M]):
    tune BM
    tune BH

    for m in parallel(range(0, M, BM)):
        total = zeros(f32, [BM])
        for h in range(0, H, BH):
            total += sum(x[m : m + BM, h : h + BH] ** 2, 1)
        y[m : m + BM] = sqrt(total)


kernel twice(x: f32[N], y: out f32[N]):
    tune BN

    for n in parallel(range(0, N, BN)):
        y[n : n + BN] = x[n : n + BN] * 2
"""
RNG = np.random.default_rng(4)


@pytest.mark.parametrize("target", ["interp", *MACHINES])
def test_a_product(target: str) -> None:
    a, b = (RNG.standard_normal(s).astype(np.float16) for s in ((70, 90), (90, 130)))
    c = np.zeros((70, 130), np.float16)
    call(target, SOURCE, {"a": a, "b": b, "c": c}, kernel="gemm")
    wanted = a.astype(np.float64) @ b
    np.testing.assert_allclose(c, wanted, rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("target", ["interp", *MACHINES])
def test_rows_and_elements(target: str) -> None:
    x = RNG.standard_normal((7, 300)).astype(np.float32)
    y, z = np.zeros(7, np.float32), np.zeros(300, np.float32)
    call(target, SOURCE, {"x": x, "y": y}, kernel="lengths")
    np.testing.assert_allclose(y, np.linalg.norm(x.astype(np.float64), axis=1), rtol=1e-5)
    call(target, SOURCE, {"x": x[0].copy(), "y": z}, kernel="twice")
    np.testing.assert_array_equal(z, x[0] * 2)


def tunes(target: str, kernel: str) -> dict[str, tuple[int, ...]]:
    library = dslc.compile(SOURCE, target=target, cache=False)
    return {n: tuple(v) for n, v in library[kernel].origin.signature.tunes.items()}


def test_the_machine_says_which() -> None:
    hopper, ampere = tunes("cuda:sm_90a", "gemm"), tunes("cuda:sm_80", "gemm")
    # Units that take any multiple of 8 columns have widths between the powers of two.
    assert {80, 112, 224} <= set(hopper["BN"])
    assert not {80, 112, 224} & set(ampere["BN"])
    assert tunes("nki:trn2", "gemm")["BM"][0] == 128
    assert tunes("nki:trn2", "gemm")["BN"][0] == 512
    assert tunes("aarch64:bf16", "gemm")["BM"] == (16, 1, 64)


def test_what_its_name_is_the_step_of_says_what_it_is() -> None:
    rows, elements = tunes("cuda:sm_90a", "lengths"), tunes("cuda:sm_90a", "twice")
    assert rows["BM"] == (4, 1, 16)
    assert rows["BH"] == elements["BN"] == (1024, 256, 4096)
    library = dslc.compile(SOURCE, target=target_of("interp"), cache=False)
    x, y = np.ones((3, 20), np.float32), np.zeros(3, np.float32)
    library.lengths(x, y, BM=16, BH=256)
    with pytest.raises(dslc.DiagnosticError, match="DSL0218"):
        library.lengths(x, y, BM=5)


def test_requirements_take_values_away() -> None:
    text = SOURCE.replace("    tune BK\n", "    tune BK\n    require BK % 128 == 0\n")
    a, b = np.ones((3, 256), np.float16), np.ones((256, 5), np.float16)
    c = np.zeros((3, 5), np.float16)
    dslc.compile(text, target="interp", cache=False).gemm(a, b, c)
    np.testing.assert_array_equal(c, 256)


@dslc.kernel(BN=[])
def doubled(x: f32[N], y: out[f32[N]]):
    for n in parallel(range(0, N, BN)):
        y[n : n + BN] = x[n : n + BN] * 2


def test_in_python_it_is_an_empty_list() -> None:
    x, y = np.ones(20, np.float32), np.zeros(20, np.float32)
    doubled(x, y)
    np.testing.assert_array_equal(y, 2)
