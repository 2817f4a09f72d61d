"""Laws of address patterns, by enumeration."""

from __future__ import annotations

import numpy as np
from dslc.codegen.aie.planning.address_patterns import (
    blocked,
    nested,
    task_dims,
    transfers,
    unblocked,
)
from dslc.compiler.targets.aie import NPU2_ARRAY
from dslc.runtime.aie_simulator.descriptors import addresses
from hypothesis import given
from hypothesis import strategies as st

loops = st.lists(st.tuples(st.integers(1, 6), st.integers(0, 40)), min_size=1, max_size=3)


@given(loops)
def test_nested_loops_are_found_again(dims: list[tuple[int, int]]) -> None:
    offsets = addresses(0, tuple(dims))
    found = nested(offsets, 3)
    if found is not None:
        np.testing.assert_array_equal(addresses(0, found), offsets)


@given(loops)
def test_three_loops_suffice_for_three(dims: list[tuple[int, int]]) -> None:
    # Strides that grow outwards leave no doubt where a loop ends.
    grown, stride = [], 1
    for size, step in reversed(dims):
        stride = stride * (size + 1) + step
        grown.insert(0, (size, stride))
    assert nested(addresses(0, tuple(grown)), 3) is not None


@given(st.lists(st.integers(0, 30), min_size=1, max_size=12))
def test_transfers_pass_all_objects_in_order(firsts: list[int]) -> None:
    offsets = np.array(firsts, np.int64) * 64
    made = list(transfers(offsets, ((4, 128), (16, 1)), 4, NPU2_ARRAY))
    found = np.concatenate([addresses(t.offset, t.dims) for t in made])
    wanted = np.concatenate([addresses(int(o), ((4, 128), (16, 1))) for o in offsets])
    np.testing.assert_array_equal(found, wanted)
    assert sum(t.objects for t in made) == len(offsets)


@given(st.integers(1, 5), st.integers(1, 5), st.sampled_from([(8, 8), (4, 8), (8, 4)]))
def test_unblocked_undoes_blocked(rows: int, columns: int, blocks: tuple[int, int]) -> None:
    shape = rows * blocks[0], columns * blocks[1]
    there = addresses(0, blocked(*shape, blocks))
    back = addresses(0, unblocked(*shape, blocks))
    np.testing.assert_array_equal(there[back], np.arange(shape[0] * shape[1]))


def test_strides_that_a_descriptor_has_not_are_no_task() -> None:
    assert task_dims(np.array([64, 0]), ((16, 1),), 4, NPU2_ARRAY) is None  # backwards
    assert task_dims(np.array([0, 1]), ((2, 4), (1, 1)), 2, NPU2_ARRAY) is None  # half a word


def test_long_rows_are_cut_into_loops_that_the_machine_counts() -> None:
    dims = task_dims(np.arange(4) * 8192, ((4, 65536), (4096, 1)), 2, NPU2_ARRAY)
    assert dims is None or all(n * 2 // 4 <= 1023 or s == 1 for n, s in dims[1:])
    made = list(transfers(np.arange(4) * 8192, ((4, 65536), (4096, 1)), 2, NPU2_ARRAY))
    assert sum(t.objects for t in made) == 4
