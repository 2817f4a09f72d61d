"""The laws of composition, division, product and equality, against enumeration."""

import numpy as np
import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.layout import (
    Layout,
    Mode,
    broadcast,
    column_local,
    column_spatial,
    complement,
    compose,
    concat,
    divide,
    divisible,
    left_divide,
    local,
    modes,
    product,
    replicate,
    spatial,
    swizzle,
)
from hypothesis import assume, given
from hypothesis import strategies as st

LAYOUT = st.from_type(Layout)


def by_definition(f: Layout, g: Layout) -> np.ndarray:
    """The table of f * g by Definition 4, for equal ranks."""
    table = np.zeros((f.threads * g.threads, f.locals * g.locals, f.rank), dtype=np.int64)
    for t in range(table.shape[0]):
        for i in range(table.shape[1]):
            high = np.array(f.index(t // g.threads, i // g.locals))
            low = np.array(g.index(t % g.threads, i % g.locals))
            table[t, i] = high * np.array(g.shape) + low
    return table


@given(st.lists(st.integers(1, 4), min_size=1, max_size=3))
def test_primitives_are_their_definitions(shape):
    n = int(np.prod(shape))
    for k in range(n):
        row = tuple(int(x) for x in np.unravel_index(k, shape))
        column = tuple(int(x) for x in np.unravel_index(k, shape, order="F"))
        assert local(*shape).index(0, k) == row
        assert spatial(*shape).index(k, 0) == row
        assert column_local(*shape).index(0, k) == column
        assert column_spatial(*shape).index(k, 0) == column


@given(LAYOUT, LAYOUT)
def test_composition_is_its_definition(f, g):
    rank = max(f.rank, g.rank)
    wide_f, wide_g = broadcast(f, rank), broadcast(g, rank)
    assume(f.elements * g.elements * f.replication * g.replication <= 5000)
    h = f * g
    assert h.shape == tuple(a * b for a, b in zip(wide_f.shape, wide_g.shape, strict=True))
    assert (h.threads, h.locals) == (f.threads * g.threads, f.locals * g.locals)
    np.testing.assert_array_equal(h.table(), by_definition(wide_f, wide_g))


@given(LAYOUT)
def test_table_is_index(f):
    table = f.table()
    for t in range(f.threads):
        for i in range(f.locals):
            assert tuple(table[t, i]) == f.index(t, i)
    with pytest.raises(IndexError):
        f.index(f.threads, 0)


@given(LAYOUT)
def test_every_element_is_held_replication_times(f):
    flat = f.table().reshape(-1, f.rank)
    counts = np.zeros(f.shape, dtype=int)
    np.add.at(counts, tuple(flat.T), 1)
    assert (counts == f.replication).all()
    assert f.is_injective == (f.threads * f.locals == f.elements)


@given(LAYOUT, LAYOUT, LAYOUT)
def test_composition_is_associative(f, g, h):
    assert (f * g) * h == f * (g * h)
    assert hash((f * g) * h) == hash(f * (g * h))
    assert compose(f, g, h) == f.compose(g, h)


@given(LAYOUT)
def test_local_1_is_the_identity(f):
    assert f * local(1) == f == local(1) * f
    assert f * spatial(1) == f


@given(LAYOUT, LAYOUT)
def test_division_inverts_composition_on_the_right(f, g):
    rank = max(f.rank, g.rank)
    h = f * g
    assert h / g == divide(h, g) == broadcast(f, rank)
    assert divisible(h, g)


@given(LAYOUT, LAYOUT)
def test_division_inverts_composition_on_the_left(f, g):
    rank = max(f.rank, g.rank)
    assert left_divide(f * g, f) == broadcast(g, rank)


@given(LAYOUT, LAYOUT)
def test_a_quotient_composes_to_the_dividend(h, g):
    if divisible(h, g):
        assert (h / g) * g == broadcast(h, max(h.rank, g.rank))
    else:
        with pytest.raises(DiagnosticError) as raised:
            divide(h, g)
        assert raised.value.diagnostics[0].code == "DSL0303"
        assert str(g) in str(raised.value)


def test_division_finds_a_quotient_whenever_there_is_one():
    parts = [local(2, 1), local(1, 2), spatial(2, 1), spatial(1, 2), replicate(2, 2)]
    pairs = [(f, g, f * g) for f in parts for g in parts]
    for h in {p[2] for p in pairs}:
        for g in parts:
            exists = any(f * g == h for f in parts)
            assert divisible(h, g) == exists


def test_the_papers_division():
    assert local(2, 4) / local(1, 2) == local(2, 2)


@given(LAYOUT, LAYOUT)
def test_product_is_direct(f, g):
    assume(f.elements * g.elements <= 600)
    h = product(f, g)
    assert h.shape == f.shape + g.shape
    for t in range(h.threads):
        for i in range(h.locals):
            expected = f.index(t // g.threads, i // g.locals)
            assert h.index(t, i) == expected + g.index(t % g.threads, i % g.locals)


@given(LAYOUT, st.integers(1, 3), st.integers(-3, 2))
def test_concat_puts_copies_side_by_side(f, count, axis):
    assume(-f.rank <= axis < f.rank)
    h = concat([f] * count, axis)
    for t in range(h.threads):
        for i in range(h.locals):
            expected = list(f.index(t, i % f.locals))
            expected[axis] += i // f.locals * f.shape[axis]
            assert h.index(t, i) == tuple(expected)


def test_concat_of_different_layouts_is_an_error():
    with pytest.raises(DiagnosticError, match="DSL0308"):
        concat([local(2, 2), spatial(2, 2)], 0)


@given(LAYOUT)
def test_complement_exchanges_the_sides(f):
    assume(f.is_injective)
    c = complement(f)
    assert complement(c) == f
    np.testing.assert_array_equal(c.table(), f.table().transpose(1, 0, 2))


def test_complement_in_a_tile_repeats_the_layout():
    c = complement(spatial(8, 4), [16, 8])
    assert c == complement(local(2, 2).spatial(8, 4)) == spatial(2, 2).local(8, 4)
    with pytest.raises(DiagnosticError, match="DSL0307"):
        complement(replicate(2))


@given(LAYOUT, LAYOUT)
def test_equal_functions_are_equal_and_hash_equally(f, g):
    same = f.table().shape == g.table().shape and f.shape == g.shape
    same = same and bool((f.table() == g.table()).all())
    assert (f == g) == same
    if same:
        assert hash(f) == hash(g)


@given(LAYOUT, st.data())
def test_coalescing_keeps_the_function(f, data):
    def shatter(side):
        out = []
        for m in side:
            low = data.draw(st.sampled_from([d for d in range(1, m.size + 1) if m.size % d == 0]))
            out += [Mode(m.size // low, m.axis, m.stride * low), Mode(low, m.axis, m.stride)]
        return tuple(out)

    g = Layout(f.shape, shatter(f.spatial_modes), shatter(f.local_modes), f.swizzles)
    assert g == f
    assert hash(g) == hash(f)
    assert (g.spatial_modes, g.local_modes) == (f.spatial_modes, f.local_modes)
    np.testing.assert_array_equal(g.table(), f.table())


def test_equality_is_exact_over_all_small_mode_structures():
    """Every way to write a tile of 8 elements in three binary digits, with and without copies."""
    seen: dict[bytes, Layout] = {}
    digits = [[2, 0, 4], [2, 0, 2], [2, 0, 1]]
    from itertools import permutations, product

    for order in permutations(digits):
        for sides in product([True, False], repeat=3):
            spatial_side = [d for d, s in zip(order, sides, strict=True) if s]
            local_side = [d for d, s in zip(order, sides, strict=True) if not s]
            for copies in range(len(spatial_side) + 1):
                side = [*spatial_side[:copies], [2], *spatial_side[copies:]]
                f = modes([8], side, local_side)
                key = repr((f.threads, f.locals, f.table().tolist())).encode()
                other = seen.setdefault(key, f)
                assert other == f
                assert hash(other) == hash(f)
    assert len(set(seen.values())) == len(seen)


def test_swizzles_with_different_modes_may_be_one_function():
    # Three xors exchange two binary digits: the same function as the exchanged modes.
    pair = swizzle(swizzle(swizzle(local(2, 2), 1), 0), 1)
    assert pair == modes([2, 2], local=[[2, 1, 1], [2, 0, 1]]) == column_local(2, 2)
    assert hash(pair) == hash(column_local(2, 2))


@pytest.mark.parametrize(
    "bad",
    [
        local,
        lambda: local(0),
        lambda: spatial(2, -1),
        lambda: local(True),
        lambda: replicate(2, 0),
        lambda: modes([4], [[2, 0, 1]]),
        lambda: modes([4], [[2, 0, 1], [2, 0, 1]]),
        lambda: modes([2], [[2, 0, 1]], [[2]]),
        lambda: modes([2], [[2, 5, 1]]),
        lambda: modes([2], [[2, 0]]),
        lambda: modes([4, 2], [[2, 1, 1], [4, 0, 1]], swizzles=[[1, 1, 4, 0, 1, 4]]),
        lambda: local(1 << 30, 1 << 30),
    ],
)
def test_what_is_no_layout_is_an_error(bad):
    with pytest.raises(DiagnosticError, match="DSL030"):
        bad()


@pytest.mark.parametrize("name", ["local", "spatial", "column_local", "column_spatial"])
def test_chains_are_compositions(name):
    import dslc.compiler.layout as algebra

    part = getattr(algebra, name)(2, 3)
    assert getattr(local(2, 1), name)(2, 3) == local(2, 1) * part
    assert local(2).replicate(3) == local(2) * replicate(3)
    assert local(3, 1, 1).swizzle(local(4, 4), dim=1) == local(3, 1, 1) * swizzle(local(4, 4), 1)
    assert local(2).reduce(spatial(2, 3), dims=[1]) == local(2) * spatial(2).replicate(3)
