"""The rank of a compression ratio, in whole blocks."""

from __future__ import annotations

import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compress import aligned_rank, compression_ratio
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(("k", "n"), [(2048, 8192), (8192, 2048)])
def test_the_ranks_of_the_papers_table_6(k: int, n: int) -> None:
    assert aligned_rank(k, n, 0.2) == 1280


sizes = st.integers(128, 20000)
ratios = st.floats(0, 0.95)


@given(k=sizes, n=sizes, ratio=ratios, block=st.sampled_from([16, 32, 64, 128]))
def test_a_rank_is_whole_blocks_and_within_half_a_block_of_the_ratio(
    k: int, n: int, ratio: float, block: int
) -> None:
    rank = aligned_rank(k, n, ratio, block)
    assert rank % block == 0
    assert block <= rank <= min(k, n)
    exact = k * n * (1 - ratio) / (k + n)
    if block <= exact <= min(k, n) - block:
        assert abs(rank - exact) <= block / 2 * (1 + 1e-9)


@given(k=sizes, n=sizes, ratio=ratios)
def test_rounding_down_saves_at_least_the_ratio(k: int, n: int, ratio: float) -> None:
    rank = aligned_rank(k, n, ratio, alpha=0)
    assert rank == 128 or compression_ratio(k, n, rank) >= ratio - 1e-12


@pytest.mark.parametrize(("k", "ratio", "block"), [(100, 0.2, 128), (512, 1.0, 128), (512, 0.2, 0)])
def test_what_has_no_rank(k: int, ratio: float, block: int) -> None:
    with pytest.raises(DiagnosticError, match="DSL0797"):
        aligned_rank(k, 4096, ratio, block)
