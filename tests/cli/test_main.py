"""The frame of the command: start-up, the way out, mistakes and defects."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import click
import pytest
from dslc.cli import main as main_module
from dslc.cli.main import COMMANDS, LazyGroup, run
from dslc.cli.session import Session
from dslc.compiler.diagnostics import error


def test_the_version_takes_less_than_a_tenth_of_a_second() -> None:
    """On a slow machine: twice what click, which parses the words, takes to be imported."""

    def once(*words: str) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *words], capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    # The least of a few: a busy machine makes one run slow, never fast.
    click_alone = min(once("-c", "import click") for _ in range(5))
    assert min(once("-m", "dslc", "--version") for _ in range(5)) < max(0.1, 2 * click_alone)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_help_page(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([name, "--help"]) == 0
    page = capsys.readouterr().out
    assert page.startswith(f"Usage: dslc {name}")
    assert "Examples:" in page


def test_the_table_tells_what_the_commands_say_themselves() -> None:
    group = LazyGroup()
    context = click.Context(group)
    for name in COMMANDS:
        command = group.get_command(context, name)
        assert command is not None
        assert command.name == name


def test_a_command_close_by_is_suggested(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["chekc"]) == 2
    assert "Did you mean 'check'?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (["--help"], 0),
        (["-V"], 0),
        (["--nonsense"], 2),
        (["explain"], 2),
        (["explain", "--list"], 0),
    ],
)
def test_exit_codes_of_plain_use(
    argv: list[str], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(argv) == code


def with_command(monkeypatch: pytest.MonkeyPatch, action: object) -> None:
    """Put a command in the place of `explain` that does what a command may do."""

    def get_command(self: LazyGroup, ctx: click.Context, name: str) -> click.Command:
        return click.Command(name, callback=action)

    monkeypatch.setattr(main_module.LazyGroup, "get_command", get_command)


@pytest.mark.parametrize(
    ("code", "leaves"),
    [
        ("DSL0001", 1),
        ("DSL0201", 1),
        ("DSL0301", 1),
        ("DSL0601", 4),
        ("DSL0701", 2),
        ("DSL0801", 4),
        ("DSL0910", 2),
        ("DSL0950", 3),
        ("DSL0951", 3),
    ],
)
def test_a_diagnostic_decides_the_exit_code(
    code: str, leaves: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise error(code, "something is wrong", hint="mend it")

    with_command(monkeypatch, fail)
    assert run(["explain"]) == leaves
    shown = capsys.readouterr().err
    assert f"error[{code}]: something is wrong" in shown
    assert "mend it" in shown
    assert "Traceback" not in shown


def test_a_defect_is_one_line_and_a_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def crash() -> None:
        raise RuntimeError("impossible\nsecond line")

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with_command(monkeypatch, crash)
    assert run(["explain"]) == 70
    shown = capsys.readouterr().err
    assert len(shown.splitlines()) == 1
    assert "RuntimeError: impossible;" in shown
    (file,) = tmp_path.glob("dslc-crash-*.txt")
    assert str(file) in shown
    assert "in crash" in file.read_text()
    assert file.read_text().startswith("dslc ")


def test_a_place_that_cannot_be_written_is_no_defect(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "missing" / "picture.svg"
    assert run(["layout", "local(2)", "--svg", str(file)]) == 2
    assert f"dslc: {file}: No such file or directory" in capsys.readouterr().err


def test_an_interrupt_is_quiet(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    with_command(monkeypatch, interrupt)
    assert run(["explain"]) == 130
    assert "Traceback" not in capsys.readouterr().err


def test_a_reader_that_leaves_is_no_error() -> None:
    done = subprocess.run(
        f"{sys.executable} -m dslc explain --list | head -1; echo ${{PIPESTATUS[0]}}",
        shell=True, executable="/bin/bash", capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] == "0"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a disk that is full")
@pytest.mark.parametrize("to", ["> /dev/full", "-o /dev/full"])
def test_a_full_disk_is_no_defect(to: str, tmp_path: Path) -> None:
    (tmp_path / "k.tile").write_text("kernel k(y: out f32[4]):\n    y[:] = zeros(f32, [4])\n")
    command = f"{sys.executable} -m dslc build k.tile --emit ir {to}"
    done = subprocess.run(
        command, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stderr == "dslc: No space left on device\n"
    assert done.returncode == 2


@pytest.mark.parametrize(
    ("choice", "environment", "colored"),
    [
        ("always", {}, True),
        ("never", {"FORCE_COLOR": "1"}, False),
        ("auto", {}, False),
        ("auto", {"FORCE_COLOR": "1"}, True),
        ("auto", {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_colour_follows_option_then_environment(
    choice: str, environment: dict[str, str], colored: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with open(os.devnull, "w") as stream:
        assert Session(color=choice).use_color(stream) is colored


def test_options_of_the_group_and_of_a_command_are_the_same(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["--color", "always", "explain", "DSL0999"]) == 2
    assert run(["explain", "--color", "sometimes", "DSL0910"]) == 2


def test_completion_knows_commands() -> None:
    asked = {"_DSLC_COMPLETE": "bash_complete", "COMP_WORDS": "dslc ch", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-c", "from dslc.cli.main import main; main()"],
        env={**os.environ, **asked},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["plain,check"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["completion", shell]) == 0
    assert "_DSLC_COMPLETE" in capsys.readouterr().out


def test_kernels_that_a_file_imports_are_its_own_where_it_defines_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.tile"
    file.write_text("from std.softmax import softmax_rows\n")
    assert run(["inspect", str(file), "-t", "interp", "--dim", "M=8", "--dim", "N=8"]) == 0
    assert "softmax_rows(x: " in capsys.readouterr().out
