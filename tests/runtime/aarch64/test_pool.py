from __future__ import annotations

import os
import signal
import threading

import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.runtime.aarch64.pool import VARIABLE, Pool, thread_count
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


def test_slices_run_side_by_side() -> None:
    meeting = threading.Barrier(4, timeout=20)
    threads = Pool(4).run(lambda b, e: (meeting.wait(), threading.get_ident())[1], slices(8, 4))
    assert len(set(threads)) == 4
    assert threads[0] == threading.get_ident()


def test_results_are_in_order_with_fewer_threads_than_slices() -> None:
    pool = Pool(2)
    for _ in range(50):
        assert pool.run(lambda b, e: (b, e), slices(100, 10)) == list(slices(100, 10))


def test_one_slice_wakes_nobody() -> None:
    pool, before = Pool(4), threading.active_count()
    assert pool.run(lambda b, e: e, [(0, 5)]) == [5]
    assert threading.active_count() == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own() -> None:
    pool = Pool(3)
    assert pool.run(lambda b, e: e, slices(9, 3)) == [3, 6, 9]
    child = os.fork()
    if child == 0:
        signal.alarm(10)  # threads of the parent are not here: whoever waits for one waits for ever
        os._exit(0 if pool.run(lambda b, e: e, slices(9, 3)) == [3, 6, 9] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert pool.run(lambda b, e: e, slices(9, 3)) == [3, 6, 9]


@pytest.mark.parametrize("wrong", [0, 7])
def test_an_exception_comes_after_all_have_ended(wrong: int) -> None:
    ended = []

    def work(begin: int, end: int) -> int:
        if begin == wrong:
            raise ValueError("slice")
        ended.append(begin)
        return 0

    with pytest.raises(ValueError, match="slice"):
        Pool(3).run(work, slices(8, 8))
    assert sorted([*ended, wrong]) == list(range(8))


def test_the_variable_says_how_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "3")
    assert thread_count() == 3
    monkeypatch.setenv(VARIABLE, "none")
    with pytest.raises(DiagnosticError, match="DSL0916"):
        thread_count()
    monkeypatch.delenv(VARIABLE)
    assert thread_count() >= 1
