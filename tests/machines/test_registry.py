"""A machine enters by one door: a seventh one is made here, registered, and used as any other."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import dslc
import numpy as np
import pytest
from dslc.cli.main import run
from dslc.compiler.artifact import Artifact, Hashes
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.ir import TileProgram
from dslc.compiler.ir.text.printer import print_program
from dslc.compiler.passes.pass_manager import Pass
from dslc.compiler.passes.simplification.bounds import Bounds
from dslc.compiler.passes.simplification.dead_code import DeadCode
from dslc.compiler.passes.simplification.simplify import Simplify
from dslc.compiler.targets import INTERP, TARGETS
from dslc.machines import registry
from dslc.machines.interp import Interpreter
from dslc.machines.machine import Draft, Facts, Inspection, Machine
from dslc.machines.patience import UNLIMITED, Patience

SOURCE = """\
kernel scaled(x: f32[M], y: out f32[M]):
    tune B = 16 | 32
    for m in parallel(range(0, M, B)):
        unused = x[m : m + B] * 3.0
        y[m : m + B] = x[m : m + B] * 2.0
"""


class Echo(Interpreter):
    """The interpreter with passes of its own, and a generator that writes the IR in capitals."""

    facts = Facts(native="ir", packs_read_rows=False)
    FILE = "echo.ir"

    @classmethod
    def present_target(cls) -> str:
        return "echo:one"

    def passes(self, schedule: Mapping[str, int]) -> tuple[Pass, ...]:
        return (Simplify(), Bounds(), DeadCode())

    def draft(self, program: TileProgram) -> Draft:
        return Draft((print_program(program).upper(),))

    def compile(
        self, program: TileProgram, config: Mapping[str, object], hashes: Hashes
    ) -> Artifact:
        made = super().compile(program, config, hashes)
        (text,) = self.draft(program).texts
        return dataclasses.replace(made, files={**made.files, "echo.txt": text.encode()})

    def texts(self, artifact: Artifact) -> Mapping[str, Callable[[], str]]:
        return {"echo": lambda: artifact.file("echo.txt").decode(), **super().texts(artifact)}

    def inspection(
        self,
        made: object,
        program: TileProgram,
        sizes: Mapping[str, int],
        patience: Patience = UNLIMITED,
    ) -> Inspection:
        return Inspection((("echo", f"of M = {sizes['M']}"),), "a picture", lambda: "<svg/>")


@pytest.fixture
def echo() -> Iterator[type[Machine]]:
    target = dataclasses.replace(INTERP, name="echo:one", family="echo", title="An echo")
    registry.register(Echo, [target])
    yield Echo
    registry.withdraw("echo")
    assert "echo:one" not in TARGETS


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, echo: type[Machine]) -> str:
    monkeypatch.chdir(tmp_path)
    Path("scaled.tile").write_text(SOURCE)
    return "scaled.tile"


def test_it_compiles_and_runs(echo: type[Machine]) -> None:
    kernel = dslc.compile(SOURCE, "echo").scaled
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    kernel(x, y)
    np.testing.assert_array_equal(y, x * 2)
    made = kernel.specialize_for({"M": 64})
    assert made.target == "echo:one"
    assert made.ir_stages == ("ir", "simplify", "bounds", "dead-code")
    assert "KERNEL SCALED" in made.source("echo")
    assert "unused" not in made.source()


def test_the_command_line_knows_it(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["targets"]) == 0
    assert "echo:one" in capsys.readouterr().out
    assert run(["passes", "echo:one"]) == 0
    assert [line.split()[1] for line in capsys.readouterr().out.splitlines()[1:]] == [
        "simplify",
        "bounds",
        "dead-code",
    ]
    assert run(["check", file, "-t", "echo:one"]) == 0
    assert run(["build", file, "-t", "echo:one", "--emit", "echo"]) == 0
    assert "KERNEL SCALED" in capsys.readouterr().out
    assert run(["run", file, "-t", "echo:one", "--dim", "M=64", "--verify"]) == 0


def test_it_is_inspected(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["inspect", file, "-t", "echo:one", "--dim", "M=64", "--timeline", "t.svg"]) == 0
    out = capsys.readouterr().out
    assert "echo:" in out
    assert "of M = 64" in out
    assert "a picture" in out
    assert Path("t.svg").read_text() == "<svg/>"


def test_it_is_packaged_and_loaded(file: str) -> None:
    assert run(["build", file, "-t", "echo:one", "-o", "built"]) == 0
    assert run(["verify", "built", "--require-native", "echo:one"]) == 0
    library = dslc.load("built", target="echo:one")
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    library.scaled(x, y)
    np.testing.assert_array_equal(y, x * 2)
    y[...] = 0
    dslc.runtime.load("built", simulate="echo:one").scaled(x, y)
    np.testing.assert_array_equal(y, x * 2)


def test_nothing_tunes_it(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["tune", file, "-t", "echo:one", "--dim", "M=64"]) == 2
    assert "DSL0920" in capsys.readouterr().err


def test_families_have_one_door_each(echo: type[Machine]) -> None:
    with pytest.raises(AssertionError, match="is there already"):
        registry.register(Interpreter, [INTERP])
    assert registry.families()[-1] == "echo"
    for family in registry.families():
        assert issubclass(registry.machine_class(family), Machine)
        assert registry.machine_class(family).facts.native


def test_a_withdrawn_machine_is_unknown() -> None:
    with pytest.raises(DiagnosticError, match="there is no target 'echo:one'"):
        registry.find_machine("echo:one")


def test_no_door_loads_passes_generators_or_simulators() -> None:
    """Asking for facts stays cheap: the rest is loaded when something is compiled or run."""
    code = (
        "import sys\n"
        "from dslc.machines.registry import find_machine\n"
        "from dslc.compiler.targets import TARGETS\n"
        "print([find_machine(t).facts.native for t in TARGETS][:0]\n"
        "      + [m for m in sys.modules if m.startswith(('dslc.codegen', 'dslc.compiler.passes'))\n"
        "         or m.startswith('dslc.runtime.') and ('simulator' in m or 'emulator' in m)])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
