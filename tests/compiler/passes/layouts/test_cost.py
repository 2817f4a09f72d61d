"""The orders that the costs must keep, whatever their numbers."""

from __future__ import annotations

from dslc.compiler.layout import Layout, parse_layout
from dslc.compiler.passes.layouts import cost
from dslc.compiler.passes.layouts.blocked import blocked, vector_of

ROWS = blocked((64, 64), 128, 8)
C = parse_layout("spatial(4, 1).local(1, 8).local(2, 1).spatial(8, 4).local(1, 2)")


def test_conversions_by_registers_then_shuffles_then_shared_memory() -> None:
    one = parse_layout("spatial(4, 1).spatial(8, 4).local(2, 16)")
    renamed = parse_layout("spatial(4, 1).spatial(8, 4).column_local(2, 16)")
    turned = parse_layout("spatial(4, 1).column_spatial(8, 4).local(2, 16)")
    prices = [cost.converted(one, to, 16, 32) for to in (one, renamed, turned, ROWS)]
    assert prices == sorted(prices)
    assert len(set(prices)) == 4


def test_coalesced_accesses_are_cheaper() -> None:
    scattered = parse_layout("spatial(128, 1).local(1, 32)")
    across = blocked((128, 32), 128, 1, axis=0)
    along = blocked((128, 32), 128, 8)
    for price in (
        lambda layout: cost.loaded(layout, 16, 1, 32, staged=False),
        lambda layout: cost.stored(layout, 16, 1, 32),
    ):
        assert price(along) < price(scattered)
        assert price(along) < price(across)


def test_a_staged_load_takes_any_layout() -> None:
    scattered = parse_layout("spatial(128, 1).local(1, 32)")
    prices = [cost.loaded(scattered, 16, 0, 32, staged=staged) for staged in (True, False)]
    assert prices[0] <= prices[1]
    assert cost.loaded(scattered, 8, 1, 32, staged=True) < cost.loaded(
        scattered, 8, 0, 32, staged=False
    )


def test_copies_cost() -> None:
    copies = parse_layout("replicate(4).spatial(8, 4).local(8, 16)")
    assert cost.arithmetic(copies, 32) > cost.arithmetic(ROWS, 32)
    assert cost.loaded(copies, 16, 1, 32, staged=True) > cost.loaded(ROWS, 16, 1, 32, staged=True)
    assert cost.packed_load(copies, 4, 32) > cost.packed_load(C, 4, 32)


def test_stored_copies_are_written_once() -> None:
    copies = parse_layout("replicate(4).spatial(1, 32).local(64, 2)")
    once = Layout(copies.shape, copies.spatial_modes[1:], copies.local_modes)
    assert cost.stored(copies, 16, 1, 32) == cost.stored(once, 16, 1, 32)


def test_a_reduction_within_threads_is_cheapest_then_within_warps() -> None:
    threads = parse_layout("spatial(128, 1).local(1, 64)")
    lanes = parse_layout("spatial(8, 1).local(16, 1).spatial(1, 32).local(1, 2)")
    warps = parse_layout("local(128, 1).spatial(1, 64).replicate(4)")
    out = [parse_layout("spatial(128).local(1)"), parse_layout("spatial(8).local(16).replicate(32)"),
           parse_layout("local(128).replicate(256)")]  # fmt: skip
    prices = [
        cost.reduction(x, y, y, 1, 32) for x, y in zip((threads, lanes, warps), out, strict=True)
    ]
    assert prices == sorted(prices)


def test_a_run_of_elements_is_a_power_of_two() -> None:
    """Of any extent, and of bits that do not divide 128: halves of it divide the extent as well."""
    for bits in range(1, 65):
        for extent in range(1, 66):
            run = vector_of(extent, bits)
            assert run.bit_count() == 1
            assert extent % run == 0
            assert run * bits <= 128
            blocked((extent,), 32, run)


def test_fragments_in_shared_memory_are_read_by_matrices_in_either_order() -> None:
    """`ldmatrix` gives a lane 16 bytes, whether the contiguous axis is that of its pairs or not."""
    rows, columns = (
        parse_layout(text)
        for text in (
            "local(8, 8).spatial(8, 4).local(1, 2)",
            "local(8, 8).column_spatial(4, 8).local(2, 1)",
        )
    )
    across = parse_layout("spatial(1, 8).local(64, 8).spatial(4, 1).local(1, 1)")
    assert cost.is_fragments(rows, 16)
    assert cost.is_fragments(columns, 16)
    assert not cost.is_fragments(columns, 8)
    prices = [cost.loaded(x, 16, 1, 32, staged=True) for x in (rows, columns)]
    assert prices[0] == prices[1] < cost.loaded(across, 16, 0, 32, staged=True)
