"""Processes that compile: their results, their failures, their death."""

from __future__ import annotations

import functools
import gc
import operator
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from dslc.compiler.diagnostics import DiagnosticError, error
from dslc.executors import Kind
from dslc.executors.processes import Processes, WorkerDiedError

from support.dying import die_once, pid_after, raise_odd


def test_results_and_failures_come_back() -> None:
    with Processes(2) as workers:
        results = [workers.submit(operator.add, i, 1) for i in range(20)]
        assert [r.result() for r in results] == list(range(1, 21))
        with pytest.raises(ZeroDivisionError):
            workers.submit(operator.truediv, 1, 0).result()
        assert workers.submit(os.getpid).result() != os.getpid()


def test_diagnostics_come_back_whole() -> None:
    from dslc.compiler.targets import find_target

    with Processes(1) as workers, pytest.raises(DiagnosticError) as caught:
        workers.submit(find_target, "cuda:sm_1").result()
    assert caught.value.diagnostics[0].code == "DSL0901"
    with pytest.raises(DiagnosticError, match="wrong"):
        raise error("DSL0921", "wrong").__reduce__()[0](error("DSL0921", "wrong").diagnostics)


def test_one_that_dies_fails_its_task_alone() -> None:
    with Processes(1) as workers:
        died = workers.submit(os._exit, 7)
        after = workers.submit(operator.add, 1, 2)
        with pytest.raises(WorkerDiedError, match="code 7"):
            died.result()
        assert after.result() == 3


def test_a_task_whose_process_died_is_given_to_another(tmp_path: Path) -> None:
    with Processes(1, retries=1) as workers:
        assert workers.submit(die_once, str(tmp_path / "seen")).result() == "alive"
        with pytest.raises(WorkerDiedError):
            workers.submit(os._exit, 7).result()


def test_a_failure_that_cannot_be_made_again_is_told_in_words() -> None:
    with Processes(1) as workers:
        for _ in range(2):
            with pytest.raises(RuntimeError, match=r"Odd\(.*3 of 4"):
                workers.submit(raise_odd, 3, 4).result()


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="asks Linux what is open")
def test_processes_that_ended_leave_no_pipe() -> None:
    def pipes() -> int:
        gc.collect()
        names = (f"/proc/self/fd/{n}" for n in os.listdir("/proc/self/fd"))
        return sum(os.readlink(n).startswith("pipe:") for n in names if os.path.islink(n))

    before = pipes()
    with Processes(2) as workers:
        for _ in range(3):
            with pytest.raises(WorkerDiedError):
                workers.submit(os._exit, 7).result()
        assert workers.submit(operator.add, 1, 2).result() == 3
        assert pipes() <= before + 2 * 2
    deadline = time.monotonic() + 20
    while pipes() > before and time.monotonic() < deadline:
        time.sleep(0.01)  # each thread closes its own
    assert pipes() <= before  # fewer where the workers of a test before this one end meanwhile


def test_what_is_printed_disturbs_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    with Processes(1) as workers:
        workers.submit(os.write, 1, b"to the standard output\n").result()
        assert workers.submit(operator.add, 1, 2).result() == 3


def test_closing_ends_all_at_once() -> None:
    workers = Processes(2)
    sleeping = [workers.submit(time.sleep, 60) for _ in range(4)]
    while len(workers._started) < 2:
        time.sleep(0.01)
    began = time.monotonic()
    workers.close()
    assert time.monotonic() - began < 50  # they would have slept for 60
    assert all(f.cancelled() or f.exception() is not None for f in sleeping)


def test_ctrl_c_is_not_for_them() -> None:
    with Processes(1) as workers:
        pid = workers.submit(os.getpid).result()
        assert os.getpgid(pid) != os.getpgid(0)
        assert workers.submit(signal.getsignal, signal.SIGINT).result() is not None


def test_without_processes_they_run_here() -> None:
    with Processes(0) as workers:
        assert workers.submit(os.getpid).result() == os.getpid()
        assert isinstance(workers.submit(operator.truediv, 1, 0).exception(), ZeroDivisionError)


def test_a_script_may_use_them_at_its_top_level(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import operator\nfrom dslc.executors import Processes\nprint('once')\n"
        "with Processes(1) as workers:\n    print(workers.submit(operator.add, 1, 2).result())\n"
    )
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=True, timeout=110
    )
    assert done.stdout == "once\n3\n"


def test_processes_begin_before_there_are_tasks_and_are_no_more_than_tasks(tmp_path: Path) -> None:
    with Processes(4) as workers:
        workers.start(functools.partial(die_once, str(tmp_path / "seen")), 2)  # of which one dies
        assert len(workers._threads) == 2
        assert workers.submit(operator.add, 1, 2).result() == 3
        assert len(workers._threads) == 2
        sleeping = [workers.submit(time.sleep, 0.1) for _ in range(3)]
        assert [s.result() for s in sleeping] == [None] * 3
        assert len(workers._threads) == 3
    with pytest.raises(RuntimeError, match="closed"):
        workers.submit(operator.add, 1, 2)


def test_tasks_of_a_kind_go_to_who_knows_it() -> None:
    with Processes(2) as workers:
        kinds = [Kind(n % 2, n % 2) for n in range(20)]
        asked = [workers.submit_of(kind, pid_after, 0.02) for kind in kinds]
        found = [{a.result() for a in asked[start::2]} for start in (0, 1)]
    assert len(found[0] | found[1]) == 2
    assert min(map(len, found)) == 1  # one at least was never left to the other
