"""Placements in the algebra of layouts: each is one, and is found again."""

from __future__ import annotations

import pytest
from dslc.compiler.layout import parse_layout
from dslc.compiler.passes.trainium.alternatives import candidates
from dslc.compiler.passes.trainium.placement import (
    EVERYWHERE,
    PARTITIONS,
    Placement,
    chunks,
    counts,
    layout_of,
    normal,
    placement_of,
    rows,
    spread,
)
from hypothesis import given
from hypothesis import strategies as st

SHAPES = st.lists(st.integers(1, 300), min_size=1, max_size=3).map(tuple)


@given(SHAPES)
def test_every_candidate_is_found_again_from_its_layout(shape: tuple[int, ...]) -> None:
    for place in candidates(shape):
        assert placement_of(layout_of(place, shape)) == place


@given(SHAPES)
def test_candidates_are_different_functions(shape: tuple[int, ...]) -> None:
    layouts = [layout_of(place, shape) for place in candidates(shape)]
    assert len(set(layouts)) == len(layouts)


@given(SHAPES, st.data())
def test_rows_times_elements_are_the_tile(shape: tuple[int, ...], data: st.DataObject) -> None:
    place = normal(rows(data.draw(st.integers(0, len(shape) - 1))), shape)
    along, each = counts(place, shape)
    layout = layout_of(place, shape)
    assert (along, each) == (layout.threads, layout.locals)
    assert chunks(place, shape) == -(-along // PARTITIONS)


@pytest.mark.parametrize(
    ("place", "shape", "text"),
    [
        (rows(0), (256, 512), "spatial(256, 1).local(1, 512)"),
        (rows(1), (256, 512), "spatial(1, 512).local(256, 1)"),
        (EVERYWHERE, (512,), "replicate(128).local(512)"),
        (Placement(0, 8), (1024,), "spatial(128).local(8)"),
    ],
)
def test_the_layouts_of_the_docstring(place: Placement, shape: tuple[int, ...], text: str) -> None:
    assert layout_of(place, shape) == parse_layout(text)


def test_a_vector_is_spread_over_as_many_partitions_as_divide_it() -> None:
    assert spread(1024) == Placement(0, 8)
    assert spread(1000) == Placement(0, 8)
    assert spread(100) is None
    assert spread(131) is None  # a prime
