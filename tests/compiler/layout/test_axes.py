"""Permute, reshape, squeeze, unsqueeze, reduce, slice and broadcast, against enumeration."""

import numpy as np
import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.layout import (
    Layout,
    broadcast,
    column_local,
    local,
    permute,
    reduce,
    replicate,
    reshape,
    slice_tile,
    spatial,
    squeeze,
    swizzle,
    unsqueeze,
)
from hypothesis import assume, given
from hypothesis import strategies as st

LAYOUT = st.from_type(Layout)


def attempt(make):
    """What `make` gives, or the code of the diagnostic that it ends with."""
    try:
        return make()
    except DiagnosticError as found:
        return found.diagnostics[0].code


def code(raised) -> str:
    return raised.value.diagnostics[0].code


@given(LAYOUT, st.integers(0, 2))
def test_broadcast_prepends_zeros(f, more):
    g = broadcast(f, f.rank + more)
    assert g.shape == (1,) * more + f.shape
    np.testing.assert_array_equal(g.table()[..., more:], f.table())
    assert not g.table()[..., :more].any()


def test_broadcast_to_a_lower_rank_is_an_error():
    with pytest.raises(DiagnosticError) as raised:
        broadcast(local(2, 2), 1)
    assert code(raised) == "DSL0302"


@given(LAYOUT, st.data())
def test_permute_permutes_the_index(f, data):
    axes = data.draw(st.permutations(range(f.rank)))
    g = permute(f, axes)
    assert g.shape == tuple(f.shape[a] for a in axes)
    np.testing.assert_array_equal(g.table(), f.table()[..., axes])
    back = [axes.index(d) for d in range(f.rank)]
    assert permute(g, back) == f


@given(LAYOUT, st.data())
def test_reshape_keeps_the_row_major_number(f, data):
    divisors = [d for d in range(1, f.elements + 1) if f.elements % d == 0]
    first = data.draw(st.sampled_from(divisors))
    rest = f.elements // first
    second = data.draw(st.sampled_from([d for d in divisors if rest % d == 0]))
    shape = (first, second, rest // second)
    g = attempt(lambda: reshape(f, shape))
    if not isinstance(g, Layout):
        assert g == "DSL0304"
        return
    assert g.shape == shape
    numbers = np.ravel_multi_index(np.moveaxis(g.table(), -1, 0), shape)
    expected = np.ravel_multi_index(np.moveaxis(f.table(), -1, 0), f.shape)
    np.testing.assert_array_equal(numbers, expected)
    assert reshape(g, f.shape) == f


@given(LAYOUT)
def test_flattening_always_works(f):
    g = reshape(f, [f.elements])
    expected = np.ravel_multi_index(np.moveaxis(f.table(), -1, 0), f.shape)
    np.testing.assert_array_equal(g.table()[..., 0], expected)


@pytest.mark.parametrize(
    ("f", "shape"),
    [
        (local(2, 2), [3, 2]),
        (column_local(2, 3), [3, 2]),
        (swizzle(local(3, 4)), [2, 6]),
        (local(2, 2), []),
    ],
)
def test_reshape_across_digits_is_an_error(f, shape):
    with pytest.raises(DiagnosticError) as raised:
        reshape(f, shape)
    assert code(raised) in ("DSL0304", "DSL0300")


@given(LAYOUT, st.data())
def test_squeeze_inverts_unsqueeze(f, data):
    dims = data.draw(st.sets(st.integers(0, f.rank + 1), min_size=2, max_size=2))
    g = unsqueeze(f, sorted(dims))
    assert all(g.shape[d] == 1 for d in dims)
    assert squeeze(g, sorted(dims)) == f


def test_squeeze_and_unsqueeze_name_what_they_cannot_do():
    with pytest.raises(DiagnosticError, match="DSL0304"):
        squeeze(local(2, 1), [0])
    with pytest.raises(DiagnosticError, match="DSL0302"):
        unsqueeze(local(2), [0, 0])
    assert squeeze(local(1, 1), [0, 1]) == local(1)


@given(LAYOUT, st.data())
def test_reduce_keeps_one_copy_in_each_thread(f, data):
    dims = data.draw(st.sets(st.integers(0, f.rank - 1), max_size=f.rank))
    g = attempt(lambda: reduce(f, sorted(dims), keepdims=True))
    if not isinstance(g, Layout):
        assert g == "DSL0306"
        assert any(s.source in dims and s.dim not in dims for s in f.swizzles)
        return
    assert g.shape == tuple(1 if d in dims else n for d, n in enumerate(f.shape))
    assert g.threads == f.threads
    kept = f.table()
    kept[..., sorted(dims)] = 0
    for t in range(f.threads):
        held = [tuple(index) for index in kept[t].tolist()]
        once = list(dict.fromkeys(held))
        assert [g.index(t, i) for i in range(g.locals)] == once
    dropped = reduce(f, sorted(dims))
    assert dropped.rank == max(1, f.rank - len(dims))


def test_the_papers_reduce():
    f = reduce(spatial(1, 1, 4), dims=[2])
    assert (f.shape, f.threads, f.locals) == ((1, 1), 4, 1)
    assert [f.index(t, 0) for t in range(4)] == [(0, 0)] * 4
    assert f == replicate(4, rank=2)


@given(LAYOUT, st.data())
def test_slice_is_a_tile_of_what_each_thread_holds(f, data):
    axis = data.draw(st.integers(0, f.rank - 1))
    start = data.draw(st.integers(0, f.shape[axis] - 1))
    size = data.draw(st.integers(1, f.shape[axis] - start))
    inside = f.table()[..., axis]
    inside = (inside >= start) & (inside < start + size)
    g = attempt(lambda: slice_tile(f, axis, start, size))
    if not isinstance(g, Layout):
        assert g == "DSL0305"
        return
    assert g.shape[axis] == size
    table = f.table()
    table[..., axis] -= start
    for t in range(f.threads):
        expected = [tuple(x) for x in table[t][inside[t]].tolist()]
        assert [g.index(t, i) for i in range(g.locals)] == expected


@given(LAYOUT, st.data())
def test_slice_fails_only_where_there_is_no_layout(f, data):
    assume(not f.swizzles)
    axis = data.draw(st.integers(0, f.rank - 1))
    start = data.draw(st.integers(0, f.shape[axis] - 1))
    size = data.draw(st.integers(1, f.shape[axis] - start))
    table = f.table()[..., axis]
    counts = ((table >= start) & (table < start + size)).sum(axis=1)
    if counts.min() == 0 or counts.min() != counts.max():
        with pytest.raises(DiagnosticError, match="DSL0305"):
            slice_tile(f, axis, start, size)


def test_a_stage_of_a_ring_is_a_slice():
    ring = local(3, 1, 1).swizzle(local(16, 32), dim=1).local(1, 8)
    stage = swizzle(local(16, 32), dim=1).local(1, 8)
    assert squeeze(slice_tile(ring, 0, 2, 1), [0]) == stage
    with pytest.raises(DiagnosticError, match="some of the threads"):
        slice_tile(spatial(4, 2), 0, 0, 2)
    with pytest.raises(DiagnosticError, match="moved by a swizzle"):
        slice_tile(stage, 1, 0, 16)
    with pytest.raises(DiagnosticError, match="not within"):
        slice_tile(local(4), 0, 2, 3)


def test_an_axis_that_is_not_there_is_an_error():
    for bad in (lambda: reduce(local(2), [1]), lambda: permute(local(2, 2), [0, 0])):
        with pytest.raises(DiagnosticError) as raised:
            bad()
        assert code(raised) == "DSL0302"
