"""`dslc simulate`: packages of several files, arguments from files, shapes and literals, errors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from dslc.cli.main import run

KERNEL = """
from __future__ import annotations

import nki
import nki.language as nl
import nki.typing as nt
import lib.limits
from lib.inner import tools
from .inner.tools import scaled


@nki.jit
def twice(x: nt.tensor[256, 64], factor=None, rows=lib.limits.ROWS):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for m in nl.affine_range(x.shape[0] // rows // nl.num_programs()):
        block = tools.Block((m + nl.program_id(0)) * rows, rows)
        t = nl.load(x[block.first:block.first + block.rows, :])
        r = nl.ndarray(t.shape, dtype=t.dtype, buffer=nl.sbuf)
        scaled(r, t, factor)
        nl.store(out[block.first:block.first + block.rows, :], r)
    return out
"""
TOOLS = """
from __future__ import annotations

from dataclasses import dataclass

import nki.isa as nisa
import nki.language as nl
from ..limits import ROWS


@dataclass
class Block:
    first: int
    rows: int


def scaled(dst, src, factor=None):
    if factor is None:
        factor = 2.0
    if factor < 0:
        raise ValueError("a factor is not negative")
    assert src.shape[0] <= ROWS
    nisa.tensor_scalar(dst=dst, data=src, op0=nl.multiply, operand0=factor)
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "lib"
    (folder / "inner").mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "inner" / "__init__.py").write_text("")
    (folder / "limits.py").write_text("ROWS = 128\n")
    (folder / "inner" / "tools.py").write_text(TOOLS)
    (folder / "kernel.py").write_text(KERNEL)
    return folder / "kernel.py"


def simulate(path: Path, *more: str) -> int:
    return run(["simulate", str(path), "--entry", "twice", *more])


@pytest.mark.parametrize("grid", ["1", "2"])
def test_a_package_runs(
    package: Path, grid: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    x = np.arange(256 * 64, dtype=np.float32).reshape(256, 64)
    np.save(tmp_path / "x.npy", x)
    out, picture = tmp_path / "out.npz", tmp_path / "run.svg"
    options = ("-i", f"x={tmp_path / 'x.npy'}", "-i", "factor=3.0", "--grid", grid)
    assert simulate(package, *options, "--output", str(out), "--timeline", str(picture)) == 0
    assert np.array_equal(np.load(out)["out0"], 3 * x)
    assert picture.read_text().startswith("<svg")
    text = capsys.readouterr().out
    assert "256x64" in text
    assert "us on trn2" in text


def test_random_tensors_by_shape(package: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert simulate(package, "-i", "x=bf16[256, 64]", "-t", "nki:trn3") == 0
    assert "bfloat16" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "texts"),
    [
        ((), ("not given x", "twice(x, factor, rows)")),
        (("-i", "y=f32[2, 2]"), ("has no parameter y",)),
        (("-i", "x=nothing.npy"), ("DSL0911", "nothing.npy")),
        (("-i", "x=f64[2, 2]"), ("DSL0911", "no f64")),
        (("-i", "x=f32[256, 64]", "-i", "rows=256"), ("partitions", "kernel.py:17")),
        (
            ("-i", "x=f32[256, 64]", "-i", "factor=-1.0"),
            ("a factor is not negative", "tools.py:21"),
        ),
    ],
)
def test_errors_say_where_they_stand(
    package: Path, options: tuple[str, ...], texts: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    assert simulate(package, *options) != 0
    told = capsys.readouterr().err
    assert all(text in told for text in texts), told


def test_a_fault_of_another_file_is_shown_there(
    package: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tools = package.parent / "inner" / "tools.py"
    tools.write_text(TOOLS.replace("nl.multiply", "nl.divide"))
    assert simulate(package, "-i", "x=f32[256, 64]") != 0
    told = capsys.readouterr().err
    assert "tools.py:23" in told
    assert "op0=nl.divide" in told


def test_another_entry_is_named(package: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", str(package), "--entry", "thrice"]) != 0
    assert "but twice" in capsys.readouterr().err
