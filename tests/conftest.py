"""What all tests share."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Generator, Iterator
from dataclasses import replace
from typing import Any

import pytest
from dslc.compiler import targets
from hypothesis import HealthCheck, settings

from support.gpu.cuda_driver import driver, fake_library  # noqa: F401 - fixtures of all tests
from support.resuming import Resuming
from support.tiers import IS_FIXED, stays

# Another process on the machine fails no law: neither a deadline nor the time that drawing takes.
_unhurried = {*settings.default.suppress_health_check, HealthCheck.too_slow}
# A suite that fails by chance has no authority: what is random is found by `make test-deep`, which
# sets the seed, and becomes a case here.
settings.register_profile(
    "dslc",
    deadline=None,
    suppress_health_check=_unhurried,
    derandomize=IS_FIXED,
    database=None if IS_FIXED else settings.default.database,
)
settings.load_profile("dslc")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the golden texts anew")


def pytest_configure(config: pytest.Config) -> None:
    """Tests start hundreds of Python processes: with no bytecode each compiles all of dslc anew."""
    passed, shard = os.environ.get("DSLC_TEST_PASSED", ""), os.environ.get("DSLC_TEST_SHARD", "")
    if passed or shard:
        config.pluginmanager.register(Resuming(passed, shard))
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    # What a test means by a kernel is its meaning; those of machines name them.
    os.environ.setdefault("DSLC_TARGET", "interp")
    sys.dont_write_bytecode = False
    # Trees and tables of a compiler are no cycles: looking for those each 700 objects costs a fifth.
    gc.set_threshold(100_000, 20, 50)


@pytest.hookimpl(tryfirst=True)  # before -m looks at the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of a table with the mark `sampled(n)` one case of n stays in `make test`, the others are deep."""
    tables: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("sampled"):
            tables.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for cases in tables.values():
        for i, item in enumerate(cases):
            (n,) = next(item.iter_markers("sampled")).args
            if not stays(i, n):
                item.add_marker(pytest.mark.deep)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """With DSLC_TEST_SKIPS=fail a skipped test has failed: everything that tests want is there."""
    report = yield
    if report.skipped and os.environ.get("DSLC_TEST_SKIPS") == "fail":
        report.outcome = "failed"
    return report


@pytest.fixture(scope="session", autouse=True)
def _cache_of_the_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What tests compile goes into a cache of all workers, never into the user's."""
    root = tmp_path_factory.getbasetemp()
    shared = root.parent if "PYTEST_XDIST_WORKER" in os.environ else root
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DSLC_CACHE_DIR", str(shared / "cache"))
        yield


@pytest.fixture(scope="module", autouse=True)
def _what_stays_is_not_looked_at() -> None:
    """What modules before left (a million interned expressions) is no garbage: a collection over all of
    it would take a second and a half."""
    gc.freeze()


@pytest.fixture(scope="session")
def torch() -> Any:
    """torch with a GPU, else the test is skipped."""
    module = pytest.importorskip("torch")
    if not module.cuda.is_available():
        pytest.skip("needs torch with CUDA")
    return module


@pytest.fixture
def unbuilt(monkeypatch: pytest.MonkeyPatch) -> str:
    """A target that the compiler knows and nothing generates code for."""
    name = "riscv:rvv"
    made = replace(targets.INTERP, name=name, family="riscv", title="RISC-V with vectors")
    monkeypatch.setattr(targets, "TARGETS", {**targets.TARGETS, name: made})
    return name
