from __future__ import annotations

import threading

import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.runtime.native.pool import VARIABLE, Pool, Turns, thread_count
from hypothesis import given
from hypothesis import strategies as st


@given(st.integers(0, 10_000), st.integers(1, 100))
def test_ranges_cover_every_turn_once_the_large_ones_first(turns: int, threads: int) -> None:
    made = list(Turns(turns, threads).ranges())
    assert [t for begin, end in made for t in range(begin, end)] == list(range(turns))
    sizes = [end - begin for begin, end in made]
    assert sizes == sorted(sizes, reverse=True)
    assert threads == 1 or all(s == 1 or s <= turns // (2 * threads) for s in sizes)


def test_ranges_run_side_by_side() -> None:
    meeting = threading.Barrier(4, timeout=20)

    def work(begin: int, end: int) -> int:
        meeting.wait()
        return 0

    assert Pool(4).run(work, 4, 4) == 0


def test_no_more_threads_than_the_pool_has_or_turns_are() -> None:
    seen = set()

    def work(begin: int, end: int) -> int:
        seen.add(threading.get_ident())
        return 0

    for _ in range(20):
        Pool(2).run(work, 50, 10)
    assert len(seen) <= 21  # one of each pool, and the caller's
    before = threading.active_count()
    assert Pool(4).run(work, 1, 4) == Pool(4).run(work, 100, 1) == Pool(4).run(work, 0, 4) == 0
    assert threading.active_count() == before


@pytest.mark.parametrize("wrong", [0, 7])
def test_an_exception_comes_after_all_have_ended(wrong: int) -> None:
    ended = []

    def work(begin: int, end: int) -> int:
        if begin == wrong:
            raise ValueError("turn")
        ended.append(begin)
        return 0

    with pytest.raises(ValueError, match="turn"):
        Pool(3).run(work, 8, 3)
    at_last = list(ended)
    assert wrong not in at_last
    threading.Event().wait(0.05)
    assert ended == at_last


def test_the_variable_says_how_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "3")
    assert thread_count() == 3
    monkeypatch.setenv(VARIABLE, "none")
    with pytest.raises(DiagnosticError, match="DSL0916"):
        thread_count()
    monkeypatch.delenv(VARIABLE)
    assert thread_count() >= 1
