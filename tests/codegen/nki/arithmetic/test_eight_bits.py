"""Products of floats of 8 bits: as they are, in pairs of rows, or as bf16 where the type is missing."""

from __future__ import annotations

from typing import Any

import dslc
import numpy as np
import pytest
from dslc.compiler.dtypes import parse_dtype, to_ml_dtypes
from dslc.runtime.nki_simulator import simulate

SOURCE = """
kernel product(a: {a}[M, K], b: {b}[K, N], c: out f32[M, N]):
    const BM = 128
    const BN = 256
    const BK = {depth}
    for m, n in parallel(range(0, M, BM), range(0, N, BN)):
        acc = zeros(f32, [BM, BN])
        for k in range(0, K, BK):
            acc += dot(a[m : m + BM, k : k + BK], b[k : k + BK, n : n + BN])
        c[m : m + BM, n : n + BN] = acc
"""
DOUBLE = "nisa.matmul_perf_mode.double_row"


def library(target: str, a: str, b: str, depth: int = 256) -> Any:
    source = SOURCE.format(a=a, b=b, depth=depth)
    return dslc.compile(source=source, target=target, cache=False)


@pytest.mark.parametrize("target", ["nki:trn1", "nki:trn2", "nki:trn3"])
@pytest.mark.parametrize(
    ("a", "b"), [("f8e5m2", "f8e5m2"), ("f8e4m3", "f8e4m3"), ("f8e5m2", "f8e4m3")]
)
@pytest.mark.parametrize("sizes", [(128, 512, 256), (70, 333, 90)])
def test_every_type_is_multiplied_exactly(
    target: str, a: str, b: str, sizes: tuple[int, int, int]
) -> None:
    m, k, n = sizes
    random = np.random.default_rng(3)
    # Up to 448 where f8e4m3 ends: the machine's float8_e4m3 has no such number.
    greatest = 448 if "f8e4m3" in (a, b) else 512
    x = random.choice([0, 0.5, -1, 3, greatest], (m, k)).astype(to_ml_dtypes(parse_dtype(a)))
    y = random.choice([0, 0.25, 1, -2, -greatest], (k, n)).astype(to_ml_dtypes(parse_dtype(b)))
    c = np.zeros((m, n), np.float32)
    library(target, a, b).product(x, y, c)
    wanted = x.astype(np.float64) @ y.astype(np.float64)
    np.testing.assert_allclose(c, wanted, rtol=1e-6, atol=1e-6 * greatest**2 * k)


def text(target: str, a: str, b: str, depth: int = 256) -> str:
    return str(library(target, a, b, depth).product.specialize(M=128, K=1024, N=256).source("nki"))


def test_rows_are_taken_in_pairs_where_both_operands_can() -> None:
    assert DOUBLE in text("nki:trn2", "f8e5m2", "f8e5m2")
    assert DOUBLE not in text("nki:trn2", "f8e5m2", "f8e4m3")
    assert DOUBLE not in text("nki:trn2", "f8e5m2", "f8e5m2", depth=128)
    assert DOUBLE not in text("nki:trn1", "f8e5m2", "f8e5m2")


def test_pairs_take_half_the_time() -> None:
    def busy(target_text: str) -> float:
        blank = np.broadcast_to(np.uint8(0), (1024, 256))
        run = simulate(
            target_text,
            "product",
            [np.broadcast_to(np.uint8(0), (128, 1024)), blank],
            "nki:trn2",
            values=False,
        )
        return sum(s.busy for s in run.trace.steps if s.name == "nc_matmul")

    pairs, single = (text("nki:trn2", "f8e5m2", "f8e5m2", depth) for depth in (256, 128))
    assert busy(pairs) == pytest.approx(busy(single) / 2)


def test_bytes_are_transposed_on_the_tensor_engine_where_it_copies_bits() -> None:
    assert "nc_transpose" in text("nki:trn2", "f8e5m2", "f8e5m2")
    assert "nc_transpose" not in text("nki:trn1", "f8e5m2", "f8e5m2")
