"""Bytes, floors and bars."""

from __future__ import annotations

import math

import pytest
from gpu import limits
from gpu.cases import Case


def weighed(weight: str, m: int, n: int, k: int) -> Case:
    return Case("quantized", weight, {"M": m, "N": n, "K": k})


def test_the_floors_are_those_of_the_published_table() -> None:
    published = {(8192, 8192): 7.6, (8192, 57344): 53.5, (28672, 8192): 26.7}
    for (k, n), us in published.items():  # of u4 and M = 1, at 4.53 TB/s
        assert limits.floor_us(weighed("u4", 1, n, k)) == pytest.approx(us, abs=0.1)


def test_operations_bound_a_product_of_many_rows() -> None:
    case = Case("dense", "gemm", {"M": 8192, "N": 8192, "K": 8192})
    assert limits.floor_us(case) == pytest.approx(2 * 8192**3 / 989e6)


def test_bytes_count_each_operand_once() -> None:
    assert limits.product_bytes(weighed("i6", 2, 256, 128)) == 128 * 256 * 6 / 8 + 2 * (
        256 + 2 * 128 + 2 * 256
    )
    assert limits.product_bytes(Case("dense", "gemm", {"M": 2, "N": 4, "K": 8})) == 2 * (
        8 + 16 + 32
    )


def test_a_causal_mask_halves_the_operations() -> None:
    full = Case("attention", "full", {"S": 4096, "H": 16, "D": 128})
    causal = Case("attention", "causal", full.dims)
    assert limits.attention_operations(full) == 2 * limits.attention_operations(causal)
    assert limits.attention_operations(full) == 4 * 4096**2 * 16 * 128


@pytest.mark.parametrize(
    ("rows", "ours", "rival", "met"),
    [(1, 10.9, 15.4, True), (1, 11.1, 15.4, False), (1, 10.9, 10.8, False), (16, 17.0, 17.5, True),
     (16, 17.6, 17.5, False), (16, 20.8, 30.0, False)],
)  # fmt: skip
def test_decode_is_held_against_humming_tilus_and_a_time(
    rows: int, ours: float, rival: float, met: bool
) -> None:
    assert limits.quantized_verdict(weighed("u4", rows, 8192, 8192), ours, rival).met is met


@pytest.mark.parametrize(("weight", "most"), [("u1", 60), ("u2", 36.7), ("u3", 46.0), ("u4", 60.7)])
def test_decode_of_the_widest_shape_is_held_against_its_floor(weight: str, most: float) -> None:
    case = weighed(weight, 1, 57344, 8192)
    assert limits.quantized_verdict(case, most - 0.3, 100.0).met is True
    assert limits.quantized_verdict(case, most + 0.3, 100.0).met is (weight == "u1")


def test_more_rows_are_held_against_both_rivals() -> None:
    case = weighed("u8", 256, 8192, 8192)
    assert limits.quantized_verdict(case, 50.0, 60.0, 51.0).met is True
    assert limits.quantized_verdict(case, 50.0, 60.0, 49.9).met is False
    assert limits.quantized_verdict(case, 50.0, 49.9).met is False
    assert limits.quantized_verdict(weighed("u8", 4096, 8192, 8192), 50.0, 60.0, 49.9).met is True


def test_what_has_no_bar_has_no_verdict() -> None:
    assert limits.quantized_verdict(weighed("u4", 32, 8192, 8192), 1.0, 1.0).met is None
    assert limits.quantized_verdict(weighed("u7", 1, 8192, 8192), 1.0, 1.0).met is None
    assert limits.quantized_verdict(weighed("u4", 64, 8192, 8192), 1.0, None).met is None
    assert limits.quantized_verdict(weighed("u2", 1, 8192, 8192), 1.0, None).met is None
    small = Case("dense", "gemm", {"M": 4096, "N": 4096, "K": 4096})
    assert limits.dense_verdict(small, 1.0, 1.0).met is None
    assert str(limits.Verdict(None)) == "-"


def test_the_dense_bar() -> None:
    case = Case("dense", "gemm", {"M": 8192, "N": 8192, "K": 8192})
    assert limits.dense_verdict(case, 100.0, 97.0).met is True
    assert limits.dense_verdict(case, 100.0, 96.0).met is False
    small = Case("dense", "gemm", {"M": 4096, "N": 4096, "K": 4096}, "f8e4m3")
    assert limits.dense_verdict(small, 100.0, 92.0).met is True
    assert limits.dense_verdict(small, 100.0, 91.0).met is False


def test_the_bar_of_attention() -> None:
    causal = Case("attention", "causal", {"S": 4096, "H": 16, "D": 128}, "bf16")
    assert limits.attention_verdict(causal, 100.0, 97.0).met is True
    assert limits.attention_verdict(causal, 100.0, 96.0).met is False
    full = Case("attention", "full", causal.dims, "bf16")
    assert limits.attention_verdict(full, 100.0, 10.0).met is None


def test_rows_need_a_copys_rate_and_no_slower_than_inductor() -> None:
    assert limits.rows_verdict(3.5, 4.1, True).met is True
    assert limits.rows_verdict(3.4, 4.1, True).met is False
    assert limits.rows_verdict(3.5, 4.1, False).met is False
    assert limits.rows_verdict(3.5, None, True).met is None


def test_an_error_that_is_no_number_is_over_the_limit() -> None:
    assert limits.error_verdict("i4", math.nan, None).met is False
    assert limits.error_verdict("i4", 2.1e-4, None).met is True
    assert limits.error_verdict("i4", 2.1e-4, 2.05e-4).met is True
    assert limits.error_verdict("i4", 3e-4, 2e-4).met is False
    # Unsigned codes are other numbers there.
    assert limits.error_verdict("u4", 3e-4, 2e-4).met is True
    # A rival that is wrong itself is no measure.
    assert limits.error_verdict("i4", 3e-4, 0.5).met is True


def test_a_launch_is_under_5_us_and_a_third_of_tritons() -> None:
    assert limits.launch_verdict(4.9, 15.0).met is True
    assert limits.launch_verdict(4.9, 12.0).met is False
    assert limits.launch_verdict(5.1, 30.0).met is False


def test_a_missed_bar_says_which() -> None:
    assert str(limits.compile_verdict(0.6)) == "missed: 0.5 s or more"
    assert str(limits.compile_verdict(0.4)) == "met"
