"""`dslc simulate`: modules of the aie dialect that somebody has written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from dslc.cli.main import run

from support.npu.modules import ADD, passed_through

_CALL = "func.call @twice(%x, %y) : (memref<4x4xi32>, memref<4x4xi32, 2 : i32>) -> ()"
_MORE = "func.func private @twice(memref<4x4xi32>, memref<4x4xi32, 2 : i32>)"


class Simulate:
    """The command, and all that it printed."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str) -> tuple[int, str]:
        code = run(["simulate", *arguments])
        found = self._capsys.readouterr()
        return code, found.out + found.err


@pytest.fixture
def simulate(capsys: pytest.CaptureFixture[str]) -> Simulate:
    return Simulate(capsys)


def test_a_module_runs_over_files_and_numbers(simulate: Simulate, tmp_path: Path) -> None:
    module, given = tmp_path / "aie.mlir", tmp_path / "a.npy"
    module.write_text(passed_through(ADD, old=False))
    np.save(given, np.arange(32, dtype=np.int64))
    output, picture = tmp_path / "out.npz", tmp_path / "run.svg"
    code, text = simulate(
        str(module), "-i", f"a={given}", "-i", "b=random", "--output", str(output), "--timeline",
        str(picture),
    )  # fmt: skip
    assert code == 0, text
    assert "b         int32  32          32" in text
    found = np.load(output)["b"].reshape(2, 4, 4).transpose(0, 2, 1).reshape(-1)
    np.testing.assert_array_equal(found, np.arange(32) + 3)
    assert "<svg" in picture.read_text()


def test_functions_come_from_a_file(simulate: Simulate, tmp_path: Path) -> None:
    module, functions = tmp_path / "aie.mlir", tmp_path / "kernels.py"
    module.write_text(passed_through(_CALL, more=_MORE))
    functions.write_text("def twice(x, y):\n    y[:] = 2 * x\n")
    code, text = simulate(str(module), "-i", "a=7", "--functions", str(functions))
    assert (code, "14" in text) == (0, True)
    code, text = simulate(str(module), "-i", "a=7")
    assert code == 4
    assert "function: @twice is not given" in text
    assert "aie.mlir:" in text


def test_what_is_wrong_names_its_line(simulate: Simulate, tmp_path: Path) -> None:
    module = tmp_path / "aie.mlir"
    module.write_text(passed_through(ADD).replace("AcquireGreaterEqual", "Take", 1))
    code, text = simulate(str(module))
    assert code == 4
    assert "a lock is not used by Take" in text
    code, text = simulate(str(module), "-i", "q=1")
    assert (code, "no such argument" in text) == (2, True)


def test_what_is_left_is_said_where_that_is_no_fault(simulate: Simulate, tmp_path: Path) -> None:
    module = tmp_path / "aie.mlir"
    module.write_text(passed_through(ADD, old=False).replace("[1, 1, 1, 32]", "[1, 1, 1, 16]", 1))
    code, text = simulate(str(module))
    assert (code, "leftover: 4 words" in text) == (4, True)
    code, text = simulate(str(module), "--assume", "lenient", "--assume", "waits")
    assert (code, "left:         4 words" in text) == (0, True), text


def test_options_of_the_other_kind_are_refused(simulate: Simulate, tmp_path: Path) -> None:
    module = tmp_path / "aie.mlir"
    module.write_text(passed_through(ADD))
    code, text = simulate(str(module), "--grid", "2")
    assert (code, "--grid says nothing of aie.mlir" in text) == (2, True)
