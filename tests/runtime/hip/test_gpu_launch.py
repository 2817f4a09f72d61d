"""Kernels for AMD GPUs through HIP's library, whose stand-in is fake_libamdhip64.c."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import dslc
import numpy as np
import pytest
from dslc.codegen.hip.compilers import compilers
from dslc.compiler.artifact import Artifact
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.targets import find_target
from dslc.machines.hip import HipGpuExecutable, HipMachine, runs_on_gpu
from dslc.packaging.entries import Entry
from dslc.packaging.writing import package_files, write_tree
from dslc.runtime.hip import HipDevice, HipGpuKernel, is_present
from dslc.runtime.hip.driver import load_hip
from dslc.runtime.package import IndexedKernel
from dslc.runtime.package.index import IndexedParameter, Origins

from support.gpu.fake_cuda import (
    FakeDriver,
    OnDevice,
    aligned,
    code,
    count_artifact,
    pair,
    scale_artifact,
)

SOURCE = Path(__file__).parents[2] / "support" / "hip" / "fake_libamdhip64.c"
SCALE = """kernel scale(x: f32[M, N], factor: f32, y: out f32[M, N]):
    for m, n in parallel(range(0, M, 4), range(0, N, 64)):
        y[m : m + 4, n : n + 64] = x[m : m + 4, n : n + 64] * factor
"""


def forget() -> None:
    for cached in (load_hip, HipDevice.get, is_present):
        cached.cache_clear()


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("needs a C compiler for the library's stand-in")
    path = tmp_path_factory.mktemp("hip") / "libamdhip64.so"
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", str(path), str(SOURCE)], check=True)
    return path


@pytest.fixture
def gpu(library: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDriver]:
    monkeypatch.setenv("DSLC_LIBAMDHIP64", str(library))
    monkeypatch.delenv("DSLC_HIP", raising=False)
    fake = FakeDriver(library)
    fake.reset()
    forget()
    yield fake
    forget()


def of_amd(artifact: Artifact, chip: str = "gfx950") -> Artifact:
    """An artifact of the stand-in's kernels with a code object, and LDS that the object has itself."""
    image = f"{artifact.name} for {chip}\0".encode()
    files = {f"{chip}.hsaco": image}
    return replace(artifact, target=f"hip:{chip}", files=files, shared_bytes=32768)


def test_a_launch_fills_the_output(gpu: FakeDriver) -> None:
    x, y = pair(1000)
    HipGpuKernel(of_amd(scale_artifact())).launch({"x": x, "y": y, "s": 2.5}, stream=77)
    assert np.array_equal(y.array, x.array * np.float32(2.5))
    assert list(gpu.last.grid) == [8, 1, 1]
    assert list(gpu.last.block) == [128, 1, 1]
    assert gpu.last.stream == 77
    assert gpu.last.shared == 0
    assert gpu.count("launches") == 1


def test_arrays_of_the_host_go_there_and_come_back(gpu: FakeDriver) -> None:
    x, y = np.arange(8, dtype=np.float32), np.zeros(16, np.float32)[::2]
    HipGpuKernel(of_amd(scale_artifact())).launch({"x": x, "y": y, "s": 3.0})
    assert np.array_equal(y, x * 3)
    assert gpu.count("allocations") == gpu.count("frees") == 2


def test_workspaces_are_zero_and_kept(gpu: FakeDriver) -> None:
    kernel = HipGpuKernel(of_amd(count_artifact()))
    for _ in range(2):
        y = OnDevice(aligned(8))
        y.array[:] = 7
        kernel.launch({"y": y})
        assert not y.array.any()
    assert gpu.count("allocations") == 1


def test_code_for_another_chip_is_refused(gpu: FakeDriver) -> None:
    x, y = pair()
    with pytest.raises(DiagnosticError, match="gfx942, which device 0") as caught:
        HipGpuKernel(of_amd(scale_artifact(), "gfx942")).launch({"x": x, "y": y, "s": 1.0})
    assert code(caught) == "DSL0841"


def test_a_failure_is_told_in_hips_words(gpu: FakeDriver) -> None:
    x, y = pair()
    gpu.fail_next(700)
    with pytest.raises(DiagnosticError, match="launching scale") as caught:
        HipGpuKernel(of_amd(scale_artifact())).launch({"x": x, "y": y, "s": 1.0})
    assert code(caught) == "DSL0842"
    assert "hipStreamSynchronize failed" in str(load_hip().failed("cuStreamSynchronize", 700))


def test_without_the_library_the_emulator_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DSLC_LIBAMDHIP64", "/nowhere/libamdhip64.so")
    forget()
    assert not runs_on_gpu()
    monkeypatch.setenv("DSLC_HIP", "gpu")
    assert runs_on_gpu()
    x, y = np.zeros(4, np.float32), np.zeros(4, np.float32)
    with pytest.raises(DiagnosticError, match="AMD driver's library cannot be loaded") as caught:
        HipGpuKernel(of_amd(scale_artifact())).launch({"x": x, "y": y, "s": 1.0})
    assert code(caught) == "DSL0840"
    forget()


@pytest.mark.skipif(next(compilers(), None) is None, reason="needs a clang for AMD GPUs")
def test_calls_go_to_the_gpu_that_is_there(
    gpu: FakeDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stand-in launches real code, which does nothing."""
    path = tmp_path / "scale.tile"
    path.write_text(SCALE)
    lib = dslc.compile(path, "hip:gfx950")
    x, y = OnDevice(aligned((5, 70))), OnDevice(aligned((5, 70)))
    lib.scale(x, 2.0, y)
    assert gpu.count("launches") == 1
    assert list(gpu.last.grid) == [4, 1, 1]
    monkeypatch.setenv("DSLC_HIP", "emulator")
    machine = HipMachine(find_target("hip:gfx950"))
    assert not isinstance(machine.load(scale_artifact()), HipGpuExecutable)


def test_a_package_for_several_chips_runs_what_this_one_runs(
    tmp_path: Path, gpu: FakeDriver
) -> None:
    """The driver names no chip: code of each is tried once."""
    kernel = IndexedKernel(
        "scale", None,
        (
            IndexedParameter("x", "f32", ("N",), "in", None),
            IndexedParameter("y", "f32", ("N",), "out", None),
            IndexedParameter("s", "f32", None, "in", None),
        ),
        ("N",), {}, (),
    )  # fmt: skip
    made = [of_amd(scale_artifact(), chip) for chip in ("gfx942", "gfx950")]
    other, right = made if gpu_runs(made[1]) else reversed(made)
    for listed in ([other, right], [right, other]):
        path = tmp_path / listed[0].target.partition(":")[2]
        entries = [Entry(kernel, a) for a in listed]
        write_tree(path, package_files("scaling", "1", entries, Origins("", {}, "", "", {})))
        x, y = pair()
        dslc.runtime.load(path).scale(x, y, 3.0)
        np.testing.assert_array_equal(y.array, 3 * x.array)
    path = tmp_path / "other"
    write_tree(path, package_files("s", "1", [Entry(kernel, other)], Origins("", {}, "", "", {})))
    with pytest.raises(DiagnosticError) as caught:
        dslc.runtime.load(path).scale(x, y, 3.0)
    assert code(caught) == "DSL0834"


def gpu_runs(artifact: Artifact) -> bool:
    (image,) = artifact.files.values()
    return HipDevice.get(0).runs(image)
