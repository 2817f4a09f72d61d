from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import dslc
import pytest
from dslc.codegen.cuda.tools.locate import find_library
from dslc.library import Library
from dslc.tuner.tasks import Task, compile_task, predict_task
from dslc.tuner.tuning import Request, Result, Settings, tune

from support.tuning import DEEP, SOURCE, StandIn


@pytest.fixture(scope="session", autouse=True)
def nvrtc() -> None:
    if find_library("nvrtc") is None:
        pytest.skip("needs NVRTC")


@pytest.fixture(autouse=True)
def untuned(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first choices are the default here: what the cost model would choose is another test's."""
    monkeypatch.setattr("dslc.tuner.predicted.PredictedChoices.find", lambda *_: None)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DSLC_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("DSLC_LIBCUDA", "/nonexistent/libcuda.so")
    return tmp_path / "cache"


@pytest.fixture
def lib(cache: Path) -> Library:
    return dslc.compile(SOURCE, "cuda:sm_90a", cache=cache)


@pytest.fixture
def deep(cache: Path) -> Library:
    return dslc.compile(DEEP, "cuda:sm_90a", cache=cache)


@pytest.fixture(scope="session")
def known() -> dict[tuple[str, str], Any]:
    """What was scheduled or compiled in these tests: each configuration once."""
    return {}


@pytest.fixture
def tuned(
    monkeypatch: pytest.MonkeyPatch, known: dict[tuple[str, str], Any]
) -> Callable[..., Result]:
    """tuned(kernel, bench, dims, **settings): a tuning in this process, of few launch options."""
    monkeypatch.setattr("dslc.tuner.space.TRIED", {"warps": (2,), "stages": (2,)})

    def once(task_of: Callable[[Task], Any]) -> Callable[[Task], Any]:
        def remembered(task: Task) -> Any:
            key = task_of.__name__, repr(replace(task, cache=None))
            if key not in known:
                known[key] = task_of(task)
            return known[key]

        return remembered

    def run(kernel: Any, bench: StandIn, sizes: dict[str, int], **more: Any) -> Result:
        fixed, settled = more.pop("fixed", ()), more.pop("settled", {})
        given = more.pop("given", {})
        settings = Settings(**{"top": 4, "jobs": 0, **more})
        if not settings.jobs and settings.executor is None:
            monkeypatch.setattr("dslc.tuner.pruning.predict_task", once(predict_task))
            monkeypatch.setattr("dslc.tuner.search.compile_task", once(compile_task))
        return tune(kernel.origin, Request(sizes, fixed, settled, given), settings, bench)

    return run
