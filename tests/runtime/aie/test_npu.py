"""Kernels on an NPU by aiecc and XRT, both of which stand-ins check call by call."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dslc
import ml_dtypes
import numpy as np
import pytest
from dslc.cli.main import run
from dslc.compiler.diagnostics import DiagnosticError
from dslc.runtime.aie.xrt import NpuDevice

from support.npu.driver import Xrt, make_aiecc

TWICE = """\
kernel twice(x: f32[N], y: out f32[N]):
    for n in parallel(range(0, N, 16)):
        y[n : n + 16] = x[n : n + 16] * 2.0

kernel product(a: bf16[M, K], b: bf16[K, N], c: inout f32[M, N]):
    for m, n in parallel(range(0, M, 16), range(0, N, 16)):
        s = c[m : m + 16, n : n + 16]
        for k in range(0, K, 16):
            s += dot(a[m : m + 16, k : k + 16], b[k : k + 16, n : n + 16])
        c[m : m + 16, n : n + 16] = s

program four(x: f32[N], y: out f32[N]):
    half = buffer(f32, [N])
    twice(x, half)
    twice(half, y)
"""


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[tuple[Xrt, Path]]:
    """An NPU of the tests, and the file that lists what aiecc was asked for."""
    xrt = Xrt()
    log = make_aiecc(tmp_path / "bin")
    monkeypatch.setenv("DSLC_NPU", "xrt")
    monkeypatch.setenv("DSLC_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    monkeypatch.setitem(sys.modules, "pyxrt", xrt)  # type: ignore[arg-type]
    NpuDevice.get.cache_clear()
    yield xrt, log
    NpuDevice.get.cache_clear()


def _library() -> Any:
    return dslc.compile(TWICE, target="aie:npu2", cache=False)


def test_a_kernel_runs_with_the_layout_that_the_simulator_takes(machine: tuple[Xrt, Path]) -> None:
    xrt, log = machine
    library = _library()
    rng = np.random.default_rng(0)
    a = rng.standard_normal((24, 40)).astype(ml_dtypes.bfloat16)  # no whole blocks
    b = rng.standard_normal((40, 24)).astype(ml_dtypes.bfloat16)
    c = rng.standard_normal((24, 24)).astype(np.float32)
    wanted = c + 2 * (a.astype(np.float32) @ b.astype(np.float32))
    library.product(a, b, c)
    library.product(a, b, c)
    np.testing.assert_allclose(c, wanted, rtol=1e-4, atol=1e-4)
    assert (xrt.opened, xrt.contexts, xrt.runs) == (1, 1, 2)
    assert log.read_text().count("\n") == 1
    _library().product(a, b, c)  # another load of the same module: what aiecc made is kept
    assert xrt.runs == 3
    assert log.read_text().count("\n") == 1


def test_a_program_is_one_elf(machine: tuple[Xrt, Path]) -> None:
    xrt, log = machine
    x = np.arange(100, dtype=np.float32)
    y = np.empty_like(x)
    _library().four(x, y)
    assert (y == 4 * x).all()
    assert (xrt.contexts, xrt.runs) == (1, 1)
    assert "--get-full-elf" in log.read_text()


def test_a_run_that_fails_leaves_the_next_one_a_context_of_its_own(
    machine: tuple[Xrt, Path],
) -> None:
    xrt, _ = machine
    library = _library()
    x = np.arange(32, dtype=np.float32)
    y = np.empty_like(x)
    for ends, said in (("ERT_CMD_STATE_TIMEOUT", "TIMEOUT"), ("raises", "AMDXDNA")):
        xrt.ends = ends
        with pytest.raises(DiagnosticError, match=said) as caught:
            library.twice(x, y)
        assert caught.value.diagnostics[0].code == "DSL0845"
    xrt.ends = "ERT_CMD_STATE_COMPLETED"
    library.twice(x, y)
    assert (y == 2 * x).all()
    assert xrt.contexts == 2


def test_an_xclbin_that_takes_fewer_arrays_is_not_called(machine: tuple[Xrt, Path]) -> None:
    xrt, _ = machine
    xrt.takes = 1
    x = np.zeros(32, np.float32)
    with pytest.raises(DiagnosticError, match="takes 1 arrays, and there are 2"):
        _library().twice(x, x.copy())
    assert not xrt.runs


def test_a_module_that_aiecc_refuses(machine: tuple[Xrt, Path]) -> None:
    _, log = machine
    make_aiecc(log.parent, refuses="aie.objectfifo")
    x = np.zeros(32, np.float32)
    with pytest.raises(DiagnosticError, match=r"aiecc ended with 1: error: aie\.objectfifo"):
        _library().twice(x, x.copy())


def test_what_is_missing_is_named(
    machine: tuple[Xrt, Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["doctor"])
    assert "NPU Strix" in capsys.readouterr().out
    x = np.zeros(32, np.float32)
    library = _library()
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(DiagnosticError, match="aiecc is not in PATH") as caught:
        library.twice(x, x.copy())
    assert caught.value.diagnostics[0].code == "DSL0844"
    for module, said in ((None, "pyxrt"), (Xrt("NPU Phoenix"), "'NPU Phoenix'")):
        NpuDevice.get.cache_clear()
        monkeypatch.setitem(sys.modules, "pyxrt", module)  # type: ignore[arg-type]
        with pytest.raises(DiagnosticError, match=said):
            library.twice(x, x.copy())
        run(["doctor"])
        assert said in capsys.readouterr().out
