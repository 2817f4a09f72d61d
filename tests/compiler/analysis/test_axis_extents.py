"""Axes of two shapes that match: every axis is in one group, and groups have as many elements."""

from __future__ import annotations

import itertools
from math import prod

import pytest
from dslc.compiler.analysis.axis_extents import matching_axes

SHAPES = [
    (),
    (1,),
    (1, 1),
    (24,),
    (1, 24),
    (24, 1),
    (4, 6),
    (6, 4),
    (2, 3, 4),
    (4, 1, 6),
    (1, 2, 12, 1),
]


@pytest.mark.parametrize(
    ("a", "b"), [(a, b) for a, b in itertools.product(SHAPES, repeat=2) if prod(a) == prod(b)]
)
def test_matching_axes_are_all_axes(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    groups = matching_axes(a, b)
    assert [i for mine, _ in groups for i in mine] == list(range(len(a)))
    assert [j for _, theirs in groups for j in theirs] == list(range(len(b)))
    for mine, theirs in groups:
        assert prod(a[i] for i in mine) == prod(b[j] for j in theirs)
