"""Predicting all configurations: Ctrl-C keeps those that are there."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import dslc
import pytest
from dslc.cli.main import run
from dslc.executors import open_workers
from dslc.tuner import pruning
from dslc.tuner.calls import tunable
from dslc.tuner.tuning import Request, Settings, Tuning

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def interrupting(monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    """Ctrl-C while the results are waited for, once so many of them are there."""
    count = 0
    real: Callable[..., Any] = pruning.wait

    def wait(pending: Any, *rest: Any) -> tuple[set[Future[Any]], set[Future[Any]]]:
        nonlocal count
        if count >= after:
            raise KeyboardInterrupt
        done, open_ = real(pending, *rest)
        count += len(done)
        return done, open_

    monkeypatch.setattr(pruning, "wait", wait)


def pruned() -> pruning.Pruned:
    lib = dslc.compile(EXAMPLES / "gemm.tile", "cuda:sm_90a")
    request = Request({"M": 64, "N": 256, "K": 256}, (), {}, {})
    with open_workers("threads", 1) as workers:
        return Tuning(tunable(lib.gemm.origin), request, Settings(jobs=1)).prune(workers)


def test_what_is_predicted_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    interrupting(monkeypatch, 3)
    found = pruned()
    assert found.interrupted
    assert 0 < len(found.candidates) < found.total


def test_with_nothing_predicted_it_is_an_interruption(monkeypatch: pytest.MonkeyPatch) -> None:
    interrupting(monkeypatch, 0)
    with pytest.raises(KeyboardInterrupt):
        pruned()


def test_a_dry_run_prints_what_it_has(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    interrupting(monkeypatch, 3)
    words = ["tune", str(EXAMPLES / "gemm.tile"), "-k", "gemm", "-t", "cuda:sm_90a", "--dry-run"]
    sizes = ["--dim", "M=64", "--dim", "N=256", "--dim", "K=256", "--executor", "threads"]
    assert run([*words, *sizes]) == 130
    shown = capsys.readouterr()
    assert "predicted us" in shown.out
    assert "interrupted" in shown.err
