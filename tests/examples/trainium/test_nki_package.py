"""Every example's nki source, unchanged, in the real package: only where the Neuron SDK is installed.

Its `nki.simulate` runs a kernel on the host for NumPy arrays. The package of that name in public
indexes is empty, so that it is asked for the function.
"""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dslc
import pytest

from calls import EXAMPLES, TABLE, hold, problem

LAUNCHES = "dslc.runtime.nki_simulator.simulate"


def installed() -> Any:
    """The real package; None where it is missing or empty."""
    try:
        found = importlib.import_module("nki")
    except ImportError:
        return None
    return found if hasattr(found, "simulate") else None


def loaded(source: str, entry: str, folder: Path) -> Any:
    """The kernel of a file of its own, imported as a user imports it."""
    path = folder / f"emitted_{entry}.py"
    path.write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, entry)


@pytest.mark.skipif(installed() is None, reason="the Neuron SDK's nki is not installed")
@pytest.mark.parametrize("target", ["nki:trn2", "nki:trn3"])
@pytest.mark.parametrize("kernel", TABLE)
def test_the_package_takes_the_source(
    kernel: str, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nki = installed()

    def run(source: str, entry: str, given: list[Any], _: str) -> Any:
        results = nki.simulate(loaded(source, entry, tmp_path))(*given)
        return SimpleNamespace(outputs=results if isinstance(results, tuple) else (results,))

    monkeypatch.setattr(LAUNCHES, run)
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", target.removeprefix("nki:"))
    file, _, config, calls = TABLE[kernel]
    posed = problem(kernel, calls[0], {}, seed=2)
    library = dslc.compile(EXAMPLES / f"{file}.tile", target=target, cache=False)
    library[kernel](*posed.args.values(), **config)
    hold(posed)


def test_a_file_of_its_own_is_imported(tmp_path: Path) -> None:
    assert loaded("def entry():\n    return 3\n", "entry", tmp_path)() == 3


def test_an_empty_package_is_not_the_real_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "nki.py").write_text("", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(importlib.import_module("sys").modules, "nki", raising=False)
    assert installed() is None
    monkeypatch.delitem(importlib.import_module("sys").modules, "nki", raising=False)
