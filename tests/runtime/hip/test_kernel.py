"""Kernels for AMD GPUs from the face: compiled, loaded and run in the emulator."""

from __future__ import annotations

from pathlib import Path

import dslc
import numpy as np
import pytest
from dslc.codegen.hip.compilers import compilers
from dslc.compiler.diagnostics import DiagnosticError
from dslc.runtime.hip_emulator import Buffer, EmulationError, Module, compiler

pytestmark = pytest.mark.skipif(
    next(compilers(), None) is None or compiler() is None,
    reason="needs a clang for AMD GPUs and a C compiler",
)
SCALE = """kernel scale(x: f32[M, N], factor: f32, y: out f32[M, N]):
    for m, n in parallel(range(0, M, 4), range(0, N, 64)):
        y[m : m + 4, n : n + 64] = x[m : m + 4, n : n + 64] * factor


program twice(x: f32[M, N], y: out f32[M, N]):
    half = buffer(f32, [M, N])
    scale(x, 4.0, half)
    scale(half, 0.5, y)
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "scale.tile"
    path.write_text(SCALE)
    return path


@pytest.mark.parametrize("target", ["hip:gfx942", "hip:gfx950"])
def test_a_kernel_and_a_program_run(file: Path, target: str) -> None:
    lib = dslc.compile(file, target)
    x = np.random.default_rng(0).standard_normal((5, 70), dtype=np.float32)
    y = np.empty_like(x)
    lib.scale(x, 3.0, y)
    np.testing.assert_array_equal(y, x * np.float32(3))
    lib.twice(x, y)
    np.testing.assert_array_equal(y, x * np.float32(2))


def test_no_turn_is_no_launch(file: Path) -> None:
    lib = dslc.compile(file, "hip:gfx950")
    lib.scale(np.empty((0, 70), np.float32), 3.0, np.empty((0, 70), np.float32))


def test_an_array_that_does_not_fit_is_refused(file: Path) -> None:
    lib = dslc.compile(file, "hip:gfx950")
    with pytest.raises(DiagnosticError):
        lib.scale(np.empty((5, 70), np.float32), 3.0, np.empty((5, 71), np.float32))


def test_an_artifact_has_source_isa_and_code(file: Path) -> None:
    made = dslc.compile(file, "hip:gfx950").scale.specialize_for({"M": 64, "N": 64})
    assert "__attribute__((global" in made.source("hip")
    assert "amdgcn-amd-amdhsa--gfx950" in made.source("isa")
    code = made.binary("hsaco")
    assert code is not None
    assert code[:4] == b"\x7fELF"


def test_a_report_names_the_array_and_the_line(file: Path) -> None:
    made = dslc.compile(file, "hip:gfx950").scale.specialize_for({"M": 64, "N": 64})
    isa = made.source("isa")
    store = next(line for line in isa.splitlines() if "global_store" in line)
    module = Module(isa.replace(store, store + " offset:4", 1))
    name = next(iter(module.assembly.kernels))
    x, y = np.ones((64, 64), np.float32), np.zeros((64, 64), np.float32)
    count = len(module.assembly.kernels[name].metadata.explicit)  # type: ignore[union-attr]
    sizes = [np.int32(64)] * (count - 3)
    args = [Buffer(x, "x"), np.float32(2), Buffer(y, "y", defined=False), *sizes]
    with pytest.raises(EmulationError, match="of y, which has 16384"):
        module.launch(name, args, 16, module.assembly.kernels[name].metadata.most_threads)  # type: ignore[union-attr]
