"""Packages compiled by executors of all kinds: the same bytes, whoever compiles and whoever dies."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from dslc.executors import ExecutorChoice
from dslc.packaging import build_package
from dslc.runtime.package import PackageFolder

from support.dying import die
from support.packages import failure, write_spec

FORMS = (
    '[[kernel]]\nsource = "rows.tile"\nkernel = "scale"\n'
    "dims = { N = [16, 32, 48, 64, 80, 96] }\nset = { BM = [4, 8] }\n"
)


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DSLC_CACHE_DIR", str(tmp_path / "cache"))
    return write_spec(tmp_path / "src", ["nki:trn2", "interp"], FORMS)


@pytest.fixture
def expected(spec: Path, tmp_path: Path) -> PackageFolder:
    return build_package(spec, tmp_path / "expected", jobs=0, cache=False).package


def built(spec: Path, executor: ExecutorChoice, **options: Any) -> PackageFolder:
    return build_package(
        spec, spec.parent / "out", executor=executor, force=True, **options
    ).package


def test_threads_and_any_executor(spec: Path, expected: PackageFolder) -> None:
    assert built(spec, "threads", jobs=3, cache=False).digest == expected.digest
    with ThreadPoolExecutor(2) as executor:
        assert built(spec, executor, cache=False).digest == expected.digest
        assert executor.submit(int, "1").result() == 1  # it stays open


def test_a_task_has_its_imports_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker is not in the specification's folder, and reads nothing from it."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "src"
    text = '[[kernel]]\nsource = "top.tile"\nkernel = "twice"\ndims = { N = 16 }\n'
    spec = write_spec(folder, ["interp"], text, include='["../shared"]')
    (folder / "lib").mkdir()
    (folder / "lib" / "inner.tile").write_text("from far import TWO\nconst ROWS = 4\n")
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "far.tile").write_text("const TWO = 2\n")
    (folder / "top.tile").write_text(
        "from lib.inner import ROWS, TWO\n\nkernel twice(x: f32[M, N], y: out f32[M, N]):\n"
        "    for m in parallel(range(0, M, ROWS)):\n"
        "        y[m : m + ROWS, :] = x[m : m + ROWS, :] * cast(TWO, f32)\n"
    )

    class Emptying(ThreadPoolExecutor):
        """The sources are gone before the first task runs."""

        def submit(self, function: Any, /, *args: Any, **named: Any) -> Any:
            for file in [*folder.rglob("*.tile"), *(tmp_path / "shared").iterdir()]:
                file.unlink()
            return super().submit(function, *args, **named)

    with Emptying(1) as executor:
        package = built(spec, executor, cache=False)
    assert [*package.index.origins.sources] == ["../shared/far.tile", "lib/inner.tile", "top.tile"]


class Failing(Executor):
    """Every task is lost."""

    def submit(self, function: Any, /, *args: Any, **named: Any) -> Any:
        with ThreadPoolExecutor(1) as executor:
            return executor.submit(lost)


def lost() -> None:
    raise MemoryError("the worker was killed")


def test_executors_that_do_not_serve(spec: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = failure(lambda: built(spec, Failing()))
    assert found.code == "DSL0955"
    assert found.message == "Failing did not do a task: MemoryError: the worker was killed"
    for name in ("dusk:tcp://127.0.0.1:1", "dask", "ray:"):
        assert failure(lambda name=name: built(spec, name)).code == "DSL0955"
    closed = ThreadPoolExecutor(1)
    closed.shutdown()
    assert failure(lambda: built(spec, closed)).code == "DSL0955"
    monkeypatch.setattr("dslc.executors.elsewhere.compiler_fingerprint", iter("ab" * 99).__next__)
    assert failure(lambda: built(spec, "threads")).code == "DSL0956"


def test_a_task_that_kills_every_process_is_named(
    spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dslc.packaging.compiling.compile_task", die)
    text = spec.read_text().replace("[16, 32, 48, 64, 80, 96]", "16").replace("[4, 8]", "4")
    spec.write_text(text.replace(', "interp"', ""))
    found = failure(lambda: built(spec, "processes", jobs=2))
    assert found.code == "DSL0955"
    assert "3 processes died of compiling scale of rows.tile for nki:trn2" in found.message


@contextlib.contextmanager
def dask_cluster() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=3, threads_per_worker=1, processes=True, dashboard_address=None,
        silence_logs="CRITICAL",
    ) as cluster:  # fmt: skip
        yield cluster


def test_a_dask_cluster_that_loses_a_worker_gives_the_package_whole(
    spec: Path, expected: PackageFolder, tmp_path: Path
) -> None:
    """A worker is killed at its task, after some were done: the others do what it had."""
    with dask_cluster() as cluster:
        pids = {w.worker_address: w.pid for w in cluster.workers.values()}
        killed: list[int] = []

        def report(done: int, total: int) -> None:
            busy = [a for a, t in cluster.scheduler.workers.items() if t.processing and a in pids]
            if done > 2 and busy and not killed:
                killed.append(pids[busy[0]])
                os.kill(killed[0], signal.SIGKILL)

        address = f"dask:{cluster.scheduler_address}"
        package = built(spec, address, report=report)
    assert killed
    package.check()
    assert package.digest == expected.digest
    # What workers compiled is in the cache here: built again without them, nothing is compiled.
    before = {p: p.stat().st_mtime_ns for p in (tmp_path / "cache").glob("v1/entries/*/*/*.json")}
    assert built(spec, None, jobs=0).digest == expected.digest
    assert before.keys() == {*(tmp_path / "cache").glob("v1/entries/*/*/*.json")}


@pytest.mark.slow
def test_a_ray_cluster(spec: Path, expected: PackageFolder) -> None:
    pytest.importorskip("ray")
    assert built(spec, "ray:local", cache=False).digest == expected.digest
