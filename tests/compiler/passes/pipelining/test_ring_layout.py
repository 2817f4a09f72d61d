"""Where the stages of a ring lie: free of bank conflicts by the model of the machine."""

import numpy as np
import pytest
from dslc.compiler.layout import bank_conflicts, local, parse_layout
from dslc.compiler.passes.pipelining.ring_layout import copy_layout, place
from dslc.compiler.targets import find_target
from hypothesis import given
from hypothesis import strategies as st

BANKS = find_target("cuda:sm_90a").banks
A = "column_local(2, 2).spatial(8, 4).local(1, 2)"
B = "local(2, 1).column_spatial(4, 8).local(2, 1)"
A8 = "column_local(2, 2).spatial(8, 4).local(1, 4)"
TF32 = "column_local(2, 2).spatial(8, 4)"


@pytest.mark.parametrize(
    ("tile", "bits", "reader"),
    [
        ((128, 64), 16, f"spatial(4, 1).local(2, 4).{A}"),
        ((64, 32), 16, f"spatial(4, 1).local(1, 2).{A}"),
        ((16, 16), 16, f"replicate(4).{A}"),
        ((16, 128), 16, f"replicate(4).local(1, 8).{A}"),
        ((64, 128), 16, f"spatial(1, 4).local(4, 4).{B}"),
        ((32, 64), 16, f"spatial(1, 4).local(2, 2).{B}"),
        ((32, 40), 16, f"replicate(4).local(2, 5).{B}"),
        ((64, 64), 8, f"spatial(4, 1).local(1, 2).{A8}"),
        ((64, 32), 32, f"spatial(4, 1).local(1, 4).{TF32}"),
        ((4096,), 8, "local(2).spatial(128).local(16)"),
        ((2, 64, 32), 16, "local(2, 2, 1).spatial(1, 32, 4).local(1, 1, 8)"),
    ],
)
def test_operands_of_matrix_units_meet_in_no_bank(tile, bits, reader):
    reader = parse_layout(reader)
    found = place(tile, bits, 128 // bits, reader, BANKS)
    assert found.explain() == "free of conflicts"
    shape, layout = found.ring(3)
    ring = layout if layout is not None else local(*shape)
    for slot in range(3):
        start = (slot, *(0,) * len(tile))
        reads = bank_conflicts(reader, ring, bits, BANKS, start)
        assert reads.cycles == reads.phases
        if found.copy is not None:
            writes = bank_conflicts(found.copy, ring, bits, BANKS, start, store=True)
            assert writes.cycles == writes.phases
            assert writes.access_bits == 128


def test_conflicts_that_stay_are_told():
    # 32 lanes read one column, but the 16-byte chunks of a row stay whole: 4 lanes meet in each bank.
    reader = parse_layout("column_local(2, 32).column_spatial(32, 1)")
    found = place((64, 32), 32, 4, reader, BANKS)
    assert found.explain() == "extra cycles: reads 192"
    assert place((16, 16), 16, 8, None, BANKS).explain().startswith("not proved")


@pytest.mark.parametrize(("bits", "reader"), [(16, A), (8, A8), (8, f"{A}.local(1, 1)")])
def test_what_matrices_could_read_counts(bits, reader):
    """Chunks of eight rows, where a lane's elements side by side are as long as a matrix has them."""
    wide = reader != f"{A}.local(1, 1)"
    found = place((16, 128), bits, 128 // bits, parse_layout(f"local(1, 4).{reader}"), BANKS)
    assert ("matrices" in dict(found.conflicts)) == wide


def test_threads_copy_what_they_read_where_that_is_as_wide():
    reader = parse_layout("local(2).spatial(128).local(16)")
    found = place((4096,), 8, 16, reader, BANKS)
    assert found.private
    assert found.copy == reader
    for other in ("spatial(128).local(8)", "replicate(2).spatial(64).local(16)"):
        assert not place((1024,), 8, 16, parse_layout(other), BANKS).private


@given(
    st.sampled_from([1, 2, 3, 8, 16, 48]),
    st.sampled_from([1, 2, 4, 5, 8, 12]),
    st.sampled_from([32, 64, 128, 256]),
    st.sampled_from([1, 4, 8]),
)
def test_a_copy_covers_the_tile_in_whole_chunks(rows, chunks, threads, width):
    layout = copy_layout((rows, chunks * width), width, threads)
    if layout is None:
        return
    assert layout.shape == (rows, chunks * width)
    assert layout.threads == threads
    table = layout.table().reshape(threads, -1, width, 2)
    assert (table[:, :, :, 1] - table[:, :, :1, 1] == np.arange(width)).all()
    assert (table[:, :, 0, 1] % width == 0).all()
    assert layout.replication <= max(1, 2 * threads // (rows * chunks))


@pytest.mark.parametrize("threads", [32, 128])
def test_neighbours_copy_neighbouring_chunks(threads):
    layout = copy_layout((64, 64), 8, threads)
    assert layout is not None
    table = layout.table()[:, 0]
    assert [tuple(row) for row in table[:9]] == [(i // 8, i % 8 * 8) for i in range(9)]
