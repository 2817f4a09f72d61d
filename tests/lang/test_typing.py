"""Type checkers take modules with decorated kernels, and calls by the stubs of `dslc stubs`."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import dslc
import pytest
from dslc import lang
from dslc.calls.stub_text import stub_text
from dslc.cli.main import run

ROOT = Path(__file__).parents[2]
MYPY = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(ROOT / ".mypy_cache")]
CALLS = """
from typing import TYPE_CHECKING, cast

import dslc
import numpy as np

if TYPE_CHECKING:
    from scale_tile import ScaleTile

lib = cast("ScaleTile", dslc.compile("scale.tile"))
x = np.ones(4, np.float32)
lib.scale(x, 2.0, x, BN=64, warps=4)
lib.scale.specialize(N=4, BN=128)
lib.scale(x, 2.0, x, BN=65)  # 1
lib.scale(x, "2", x)  # 2
lib.scale(x, 2.0)  # 3
lib.scale(x, 2.0, x, BM=3)  # 4
"""
SCALE = """
kernel scale(x: f32[N], factor: f32, y: out f32[N]):
    tune BN = 64 | 128

    for n in parallel(range(0, N, BN)):
        y[n : n + BN] = x[n : n + BN] * factor
"""
WRONG = """
from __future__ import annotations

import dslc
from dslc.lang import *

M, BM = dims("M BM")


@dslc.kernel(BM=16)
def wrong(x: tensor[f32, M], y: out[f32, M]) -> None:
    for m in parallel(range(0, M, BM)):
        y[m : m + BM] = x[m : m + BM] + "1"  # 1
        a = zeros(16, f32)  # 2
        b = dot(a)  # 3
        c = rsqr(a)  # 4
        y[m : m + BM] = sum(a, axes=1).sqrt()  # 5
"""


@pytest.fixture
def checkers(tmp_path: Path):
    """The lines of a module that mypy and pyright find wrong, each."""
    typing = tmp_path / "typing" / "dslc"
    typing.mkdir(parents=True)
    for part in [
        *(ROOT / "dsl").iterdir(),
        *(ROOT / n for n in ("compiler", "codegen", "runtime")),
    ]:
        (typing / part.name).symlink_to(part)

    def check(*files: Path) -> list[set[int]]:
        where: dict[str, Any] = {"cwd": tmp_path, "capture_output": True, "text": True}
        environment = {"MYPYPATH": f"{typing.parent}:{tmp_path}", "PATH": "/usr/bin:/bin"}
        mypy = subprocess.run([*MYPY, *files], check=False, env=environment, **where)
        results = [{int(n) for n in re.findall(r":(\d+): error", mypy.stdout)}]
        assert "rror" in mypy.stdout or "Success" in mypy.stdout, mypy.stdout + mypy.stderr
        pyright = Path(sys.executable).with_name("pyright")
        if pyright.exists() and shutil.which("node"):
            (tmp_path / "pyrightconfig.json").write_text(
                f'{{"extraPaths": ["typing", "{ROOT / "examples"}"], "pythonVersion": "3.11"}}'
            )
            words = [pyright, "--pythonpath", sys.executable, *files]
            found = subprocess.run(words, check=False, **where)
            assert "errors" in found.stdout, found.stdout + found.stderr
            results.append({int(n) for n in re.findall(r":(\d+):\d+ - error", found.stdout)})
        return results

    return check


def marked(text: str) -> set[int]:
    """The lines with a number behind them."""
    return {i for i, row in enumerate(text.splitlines(), 1) if re.search(r"# \d$", row)}


@pytest.mark.deep
@pytest.mark.timeout(600)
def test_decorated_kernels_are_typed(checkers, tmp_path: Path):
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), re.M | re.S)
    readme = tmp_path / "readme.py"
    readme.write_text("import dslc\n" + blocks[-1])
    assert "@dslc.kernel" in blocks[-1]
    for wrong in checkers(readme, *sorted((ROOT / "examples").glob("*.py"))):
        assert not wrong


@pytest.mark.deep
@pytest.mark.timeout(600)
@pytest.mark.parametrize("text", [WRONG, CALLS], ids=["body", "calls"])
def test_mistakes_are_found(checkers, tmp_path: Path, text: str):
    (tmp_path / "scale.tile").write_text(SCALE)
    assert run(["stubs", str(tmp_path / "scale.tile")]) == 0
    module = tmp_path / "module.py"
    module.write_text(text)
    for wrong in checkers(module):
        assert wrong == marked(text)


def test_the_stub_has_the_names_of_the_module():
    stub = ast.parse((ROOT / "dsl/lang/__init__.pyi").read_text())
    listed = next(
        ast.literal_eval(node.value)
        for node in stub.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    )
    assert sorted(listed) == sorted(lang.__all__)
    functions = {n.name: n for n in stub.body if isinstance(n, ast.FunctionDef)}
    for name in set(lang.__all__) & functions.keys():
        assert callable(getattr(lang, name))


def test_a_stub_names_parameters_choices_and_dims():
    library = dslc.compile(
        SCALE + "\nkernel other(self: i32[N], n: i8, b: bool):\n    pass\n", "interp"
    )
    text = stub_text("a.tile", "ATile", {n: k.origin.signature for n, k in library.items()})
    tree = ast.parse(text)
    classes = {n.name: ast.unparse(n) for n in tree.body if isinstance(n, ast.ClassDef)}
    assert (
        "def __call__(self, /, x: _Array, factor: SupportsFloat, y: _Array, *, "
        in classes["_scale"]
    )
    assert "BN: Literal[64, 128]=..., N: int=..., warps: int=..." in classes["_scale"]
    assert "def __call__(kernel, /, self: _Array, n: SupportsIndex, b: bool, *" in classes["_other"]
    assert "scale: _scale" in classes["ATile"]


def test_the_command_writes_beside_the_file(tmp_path: Path, capsys):
    file = tmp_path / "a-scale.tile"
    file.write_text(SCALE)
    assert run(["stubs", str(file)]) == 0
    assert "class AScaleTile(dslc.Library):" in (tmp_path / "a_scale_tile.pyi").read_text()
    assert run(["stubs", str(file), "-o", "-"]) == 0
    assert "class _scale(dslc.Kernel):" in capsys.readouterr().out
