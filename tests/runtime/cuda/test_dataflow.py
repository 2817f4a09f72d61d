"""What waits for what, and what may share memory."""

from __future__ import annotations

from dslc.runtime.cuda.dataflow import Uses, ancestors, direct, place
from hypothesis import given
from hypothesis import strategies as st

names = st.frozensets(st.sampled_from("abcdef"), max_size=3)
programs = st.lists(st.builds(Uses, names, names), max_size=8)


def uses(reads: str, writes: str) -> Uses:
    return Uses(frozenset(reads), frozenset(writes))


def test_a_chain_and_a_branch() -> None:
    calls = [uses("x", "a"), uses("a", "b"), uses("x", "c"), uses("bc", "y")]
    assert direct(ancestors(calls)) == [(), (0,), (), (1, 2)]


def test_a_write_waits_for_the_reads_before_it() -> None:
    calls = [uses("a", "x"), uses("b", "a"), uses("c", "a")]
    assert direct(ancestors(calls)) == [(), (0,), (1,)]


def test_readers_do_not_wait_for_one_another() -> None:
    calls = [uses("", "a"), uses("a", "b"), uses("a", "c"), uses("a", "d")]
    assert direct(ancestors(calls)) == [(), (0,), (0,), (0,)]


def test_a_chain_needs_the_memory_of_two() -> None:
    calls = [uses("x", "a"), uses("a", "b"), uses("b", "c"), uses("c", "y")]
    offsets, total = place(dict.fromkeys("abc", 256), calls, ancestors(calls))
    assert total == 512
    assert offsets["a"] == offsets["c"] != offsets["b"]


def test_branches_share_nothing() -> None:
    calls = [uses("x", "a"), uses("a", "y"), uses("x", "b"), uses("b", "z")]
    _, total = place({"a": 100, "b": 100}, calls, ancestors(calls))
    assert total == 356  # the second begins at a multiple of 256


@given(programs)
def test_direct_waits_imply_all_conflicts(calls: list[Uses]) -> None:
    after = direct(ancestors(calls))
    reached: list[set[int]] = []
    for before in after:
        reached.append(set(before).union(*(reached[i] for i in before)))
    for j, call in enumerate(calls):
        for i, other in enumerate(calls[:j]):
            if call.writes & other.touched or call.touched & other.writes:
                assert i in reached[j]


@given(programs, st.lists(st.integers(0, 2000), min_size=6, max_size=6))
def test_buffers_that_may_be_in_use_at_once_do_not_meet(
    calls: list[Uses], extents: list[int]
) -> None:
    sizes = dict(zip("abcdef", extents, strict=True))
    ancestry = ancestors(calls)
    offsets, total = place(sizes, calls, ancestry)
    for a, size in sizes.items():
        assert offsets[a] % 256 == 0
        assert offsets[a] + size <= total
        for b, other in sizes.items():
            meet = offsets[a] < offsets[b] + other and offsets[b] < offsets[a] + size
            if a == b or not meet or 0 in (size, other):
                continue
            users = [[i for i, c in enumerate(calls) if n in c.touched] for n in (a, b)]
            if users[0] and users[1]:
                first, last = sorted(users, key=min)
                assert all(x in ancestry[y] for x in first for y in last)
