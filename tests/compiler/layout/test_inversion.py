"""Inverse and locate."""

import numpy as np
import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.layout import Layout, inverse, local, locate, locations, replicate, swizzle
from hypothesis import assume, given
from hypothesis import strategies as st

LAYOUT = st.from_type(Layout)


def attempt(make):
    """What `make` gives, or the code of the diagnostic that it ends with."""
    try:
        return make()
    except DiagnosticError as found:
        return found.diagnostics[0].code


@given(LAYOUT)
def test_inverse_undoes_the_layout(f):
    assume(f.is_injective)
    g = attempt(lambda: inverse(f))
    if not isinstance(g, Layout):
        assert f.swizzles
        assert g == "DSL0307"
        return
    assert (g.shape, g.threads) == ((f.threads, f.locals), 1)
    for t in range(f.threads):
        for i in range(f.locals):
            number = int(np.ravel_multi_index(f.index(t, i), f.shape))
            assert g.index(0, number) == (t, i)


@given(LAYOUT)
def test_locate_finds_every_holder(f):
    holders: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    for t in range(f.threads):
        for i in range(f.locals):
            holders.setdefault(f.index(t, i), []).append((t, i))
    first = locations(f)
    for index, held in holders.items():
        threads, number = locate(f, index)
        assert [(t, number) for t in threads] == held
        assert tuple(first[index]) == held[0]


@given(st.integers(0, 4), st.integers(0, 4), st.integers(0, 3))
def test_a_swizzled_memory_of_powers_of_two_has_an_inverse(rows, columns, log_step):
    f = swizzle(local(1 << rows, 1 << columns), 1, log_step)
    g = inverse(f)
    for i in range(f.locals):
        number = int(np.ravel_multi_index(f.index(0, i), f.shape))
        assert g.index(0, number) == (0, i)


def test_what_replicates_has_no_inverse():
    with pytest.raises(DiagnosticError, match="DSL0307"):
        inverse(replicate(2))
    with pytest.raises(IndexError):
        locate(local(2), (2,))
