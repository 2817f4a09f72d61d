"""Environment variables: what they switch, and that a misspelt word is no word."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dslc
import numpy as np
import pytest
from dslc.compilation.caching import open_cache
from dslc.compiler.diagnostics import DiagnosticError
from dslc.environment import cache_is_on, calls_compile, default_target
from dslc.machines.registry import resolve_target

SOURCE = """
kernel scale(x: f32[N], y: out f32[N]):
    tune BN = 64 | 128

    for n in parallel(range(0, N, BN)):
        y[n : n + BN] = x[n : n + BN] * 2
"""


def code(caught: pytest.ExceptionInfo[DiagnosticError]) -> str:
    return caught.value.diagnostics[0].code


@pytest.mark.parametrize(
    ("word", "is_on"),
    [("", True), ("on", True), ("1", True), ("YES", True), ("off", False), ("0", False), ("No", False)],
)  # fmt: skip
def test_the_cache_is_switched(monkeypatch: pytest.MonkeyPatch, word: str, is_on: bool) -> None:
    monkeypatch.setenv("DSLC_CACHE", word)
    assert cache_is_on() is is_on
    assert (open_cache() is not None) is is_on


@pytest.mark.parametrize(
    ("text", "size"),
    [("", 5 << 30), ("500M", 500 << 20), ("1.5g", 3 << 29), ("7", 7), ("None", None)],
)
def test_the_size_of_the_cache(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str, size: int | None
) -> None:
    monkeypatch.setenv("DSLC_CACHE_MAX_SIZE", text)
    cache = open_cache(tmp_path)
    assert cache is not None
    assert cache.max_bytes == size


@pytest.mark.parametrize("text", ["much", "-5M", "5X", "5 GB"])
def test_a_size_that_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str) -> None:
    monkeypatch.setenv("DSLC_CACHE_MAX_SIZE", text)
    with pytest.raises(DiagnosticError, match="DSLC_CACHE_MAX_SIZE is a size") as caught:
        open_cache(tmp_path)
    assert code(caught) == "DSL0916"


def test_a_folder_does_not_switch_the_cache(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DSLC_CACHE", str(tmp_path))
    with pytest.raises(DiagnosticError, match="DSLC_CACHE is on or off, not") as caught:
        dslc.compile(SOURCE)
    assert code(caught) == "DSL0916"
    assert "DSLC_CACHE_DIR" in str(caught.value.diagnostics[0].hint)
    assert dslc.compile(SOURCE, cache=tmp_path / "kernels").scale  # who says it needs no variable


def test_the_target(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DSLC_TARGET", raising=False)
    assert default_target() == resolve_target("cpu")
    monkeypatch.setenv("DSLC_TARGET", "cuda:sm_80")
    assert default_target() == "cuda:sm_80"


def test_calls_compile_unless_it_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    for word, found in (("", True), ("on", True), ("error", False), ("Error", False)):
        monkeypatch.setenv("DSLC_JIT", word)
        assert calls_compile() is found
    monkeypatch.setenv("DSLC_JIT", "off")
    with pytest.raises(DiagnosticError, match="DSLC_JIT is on or error, not 'off'"):
        calls_compile()


def call(kernel: Any, **options: Any) -> None:
    x = np.arange(100, dtype=np.float32)
    y = np.zeros_like(x)
    kernel(x, y, **options)
    assert np.array_equal(y, x * 2)


def test_no_call_compiles(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DSLC_JIT", "error")
    lib = dslc.compile(SOURCE, "interp", cache=False)
    with pytest.raises(
        DiagnosticError, match=r"scale was not compiled before for interp"
    ) as caught:
        call(lib.scale, BN=128)
    assert code(caught) == "DSL0749"
    assert "BN = 128" in str(caught.value)
    lib.scale.specialize_for({"N": 100}, {"BN": 128})
    call(lib.scale, BN=128)
    with pytest.raises(DiagnosticError):
        call(lib.scale)
    lib.save(tmp_path / "package", [lib.scale.specialize()])
    call(dslc.load(tmp_path / "package").scale)


def test_what_the_cache_holds_is_compiled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    call(dslc.compile(SOURCE, "interp", cache=tmp_path).scale)
    monkeypatch.setenv("DSLC_JIT", "error")
    call(dslc.compile(SOURCE, "interp", cache=tmp_path).scale)
