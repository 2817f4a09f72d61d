from __future__ import annotations

from dslc.runtime.aarch64.slices import slices
from hypothesis import given
from hypothesis import strategies as st


@given(st.integers(1, 10_000), st.integers(1, 100))
def test_slices_cover_every_turn_once_and_differ_by_one(turns: int, parts: int) -> None:
    made = slices(turns, parts)
    assert [t for begin, end in made for t in range(begin, end)] == list(range(turns))
    sizes = {end - begin for begin, end in made}
    assert max(sizes) - min(sizes) <= 1
    assert len(made) == min(turns, parts)
