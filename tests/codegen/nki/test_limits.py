"""Banks, partitions and their starts are proved as a kernel is written out, by tile and limit."""

from __future__ import annotations

from typing import Any

import dslc
import ml_dtypes
import numpy as np
import pytest
from dslc.codegen.nki.limits import Banks, check_start, check_tile
from dslc.codegen.nki.products import emit_products
from dslc.compiler.diagnostics import DiagnosticError

BF16 = ml_dtypes.bfloat16
SOURCE = """
kernel three(a: bf16[M, K], b: bf16[K, N], c: bf16[K, N], d: bf16[K, N], y: out f32[M, N]):
    const BM = 512
    const BN = 512
    const BK = 128
    for m, n in parallel(range(0, M, BM), range(0, N, BN)):
        p = zeros(f32, [BM, BN])
        q = zeros(f32, [BM, BN])
        r = zeros(f32, [BM, BN])
        for k in range(0, K, BK):
            x = a[m : m + BM, k : k + BK]
            p += dot(x, b[k : k + BK, n : n + BN])
            q += dot(x, c[k : k + BK, n : n + BN])
            r += dot(x, d[k : k + BK, n : n + BN])
        y[m : m + BM, n : n + BN] = p * q + r


kernel chain(a: bf16[M, K], b: bf16[K, L], c: bf16[L, N], y: out f32[M, N]):
    const BM = 256
    const BL = 512
    const BN = 512
    for m, n in parallel(range(0, M, BM), range(0, N, BN)):
        p = zeros(f32, [BM, BN])
        for k in range(0, L, BL):
            s = dot(a[m : m + BM, 0:512], b[0:512, k : k + BL])
            p += dot(cast(s, bf16), c[k : k + BL, n : n + BN])
        twice = dot(a[m : m + BM, 0:512], b[0:512, n : n + BN])
        y[m : m + BM, n : n + BN] = p + twice
"""


def library(target: str) -> Any:
    return dslc.compile(source=SOURCE, target=target, cache=False)


def numbers(*shape: int) -> Any:
    return np.random.default_rng(0).integers(-2, 3, shape).astype(BF16)


@pytest.mark.parametrize("target", ["nki:trn1", "nki:trn2", "nki:trn3"])
def test_sums_that_do_not_all_fit_into_psum(target: str) -> None:
    a, b = numbers(512, 256), numbers(256, 512)
    y = np.zeros((512, 512), np.float32)
    library(target).three(a, b, b, b, y)
    product = a.astype(np.float32) @ b.astype(np.float32)
    np.testing.assert_array_equal(y, product * product + product)


@pytest.mark.parametrize("target", ["nki:trn1", "nki:trn2", "nki:trn3"])
def test_products_beside_and_behind_sums_that_stay_in_psum(target: str) -> None:
    a, b, c = numbers(256, 512), numbers(512, 1024), numbers(1024, 512)
    y = np.zeros((256, 512), np.float32)
    library(target).chain(a, b, c, y)
    low = (a.astype(np.float32) @ b.astype(np.float32)).astype(BF16)
    wanted = low.astype(np.float32) @ c.astype(np.float32)
    wanted += a.astype(np.float32) @ b[:, :512].astype(np.float32)
    np.testing.assert_array_equal(y, wanted)


def test_a_generator_that_takes_too_many_banks_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    made = emit_products.Pieces.__init__

    def greedy(self: emit_products.Pieces, *given: Any) -> None:
        made(self, *given)
        self.group = 16

    monkeypatch.setattr(emit_products.Pieces, "__init__", greedy)
    source = SOURCE.replace("const BM = 512", "const BM = 2048")
    found = dslc.compile(source=source, target="nki:trn2", cache=False)
    with pytest.raises(
        DiagnosticError, match=r"DSL0541.*sums needs 16 banks of PSUM, 8 of 8 are left"
    ):
        found.three.specialize(M=2048, K=128, N=512).source("nki")


def test_banks_are_counted_by_name() -> None:
    banks = Banks()
    banks.take("acc", 6)
    with pytest.raises(
        DiagnosticError, match=r"low needs 3 banks of PSUM, 2 of 8 are left \(acc 6\)"
    ):
        banks.take("low", 3)
    banks.release("acc")
    assert banks.free == 8


def test_tiles_keep_to_partitions_and_banks() -> None:
    check_tile("t", 128, (512,), "nl.float32", psum=True)
    check_tile("t", 128, (1024,), "nl.bfloat16", psum=True)
    check_tile("t", "rows", (4096,), "nl.float32", psum=False)
    with pytest.raises(DiagnosticError, match=r"t would have 129 partitions"):
        check_tile("t", 129, (1,), "nl.float32", psum=False)
    with pytest.raises(DiagnosticError, match=r"t would have 2052 bytes .* a bank has 2048"):
        check_tile("t", 128, (513,), "nl.float32", psum=True)


@pytest.mark.parametrize(("first", "count"), [(0, 128), (64, 64), (32, 32), (96, 20), (0, 65)])
def test_starts_that_the_machine_has(first: int, count: int) -> None:
    check_start("t", first, count)


@pytest.mark.parametrize(("first", "count"), [(16, 8), (32, 64), (64, 65), (64, 128), (128, 1)])
def test_starts_that_it_has_not(first: int, count: int) -> None:
    with pytest.raises(DiagnosticError, match=f"t would be {count} partitions from {first} on"):
        check_start("t", first, count)
