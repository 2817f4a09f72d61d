"""Launch options beside tune choices: `warps=` and `stages=`."""

from __future__ import annotations

from pathlib import Path

import dslc
import numpy as np
import pytest
from dslc.codegen.cuda.tools.locate import find_library
from dslc.compiler.diagnostics import DiagnosticError
from dslc.library import Library

SOURCE = """
kernel rows(x: f32[M, 256], y: out f32[M, 256]):
    tune BM = 16 | 32
    for m in parallel(range(0, M, BM)):
        y[m : m + BM, :] = x[m : m + BM, :] * 2


kernel own(x: f32[N], y: out f32[N]):
    tune warps = 3 | 5
    for n in parallel(range(0, N, 32)):
        y[n : n + 32] = x[n : n + 32] * warps
"""


@pytest.fixture
def lib(tmp_path: Path) -> Library:
    if find_library("nvrtc") is None:
        pytest.skip("needs NVRTC")
    return dslc.compile(SOURCE, "cuda:sm_90a", cache=tmp_path / "cache")


def test_they_are_part_of_the_choice(lib: Library) -> None:
    made = lib.rows.specialize(warps=8)
    assert made.artifact.launch["threads"] == 256
    assert made.config == {"BM": 16, "warps": 8}
    assert lib.rows.specialize(warps=2).artifact.launch["threads"] == 64
    assert lib.rows.specialize(warps=8) is made
    assert "warps" not in lib.rows.specialize().config


def test_a_package_keeps_them(lib: Library, tmp_path: Path) -> None:
    lib.save(tmp_path / "package", [lib.rows.specialize(), lib.rows.specialize(warps=8, stages=2)])
    loaded = dslc.load(tmp_path / "package")
    assert loaded.rows.specialize(warps=8).config == {"BM": 16, "warps": 8, "stages": 2}
    assert loaded.rows.specialize().config == {"BM": 16}
    with pytest.raises(DiagnosticError) as caught:
        loaded.rows.specialize(warps=4)
    assert caught.value.diagnostics[0].code == "DSL0747"


def test_a_tune_of_that_name_comes_first() -> None:
    library = dslc.compile(SOURCE, "interp")
    x, y = np.ones(40, np.float32), np.zeros(40, np.float32)
    library.own(x, y, warps=5)
    assert (y == 5).all()
    with pytest.raises(DiagnosticError):
        library.own(x, y, warps=8)


def test_the_interpreter_has_no_use_for_them() -> None:
    library = dslc.compile(SOURCE, "interp")
    x, y = np.ones((3, 256), np.float32), np.zeros((3, 256), np.float32)
    library.rows(x, y, warps=8, stages=2)
    assert (y == 2).all()


@pytest.mark.parametrize("value", [0, 33, 2.0, True, "8"])
def test_they_are_whole_numbers(value: object) -> None:
    library = dslc.compile(SOURCE, "interp")
    with pytest.raises(DiagnosticError) as caught:
        library.rows.specialize(warps=value)
    assert caught.value.diagnostics[0].code == "DSL0758"


def test_a_specialisation_tells_when_another_is_asked_for(lib: Library) -> None:
    x, y = np.ones((3, 256), np.float32), np.zeros((3, 256), np.float32)
    with pytest.raises(DiagnosticError, match="the compiler's choice, not 8") as caught:
        lib.rows.specialize()(x, y, warps=8)
    assert caught.value.diagnostics[0].code == "DSL0743"
