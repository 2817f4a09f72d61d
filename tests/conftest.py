"""What all tests share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from dslc.compiler import targets

from support.cuda_driver import driver, fake_library  # noqa: F401 - fixtures of all tests


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the golden texts anew")


@pytest.fixture(scope="session", autouse=True)
def _cache_of_the_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What tests compile goes into a cache of their own, never into the user's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DSLC_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


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
