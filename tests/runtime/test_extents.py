"""Dims from extents."""

from __future__ import annotations

import pytest
from dslc.runtime.extents import dim_of


@pytest.mark.parametrize(
    ("extent", "size", "dim"),
    [
        ("K", 7, 7),
        ("K // 2", 64, 128),
        ("K // 2", 0, 0),
        ("(K + 31) // 32", 3, 96),
        ("K // 2 + 1", 65, 128),
        ("K // 128", 32, 4096),
        ("2 * K", 10, 5),
        ("2 * K", 11, None),
        ("K - 1", 4, 5),
        ("N // 2", 64, None),
        ("K // G", 64, None),
        ("4", 4, None),
        ("min(K, 64)", 64, None),
    ],
)
def test_the_dim_of_an_extent(extent: str, size: int, dim: int | None) -> None:
    assert dim_of(extent, "K", size) == dim
