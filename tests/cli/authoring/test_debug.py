"""`dslc debug`: a turn, forwards and backwards."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from dslc.cli.main import run

SOURCE = """\
kernel sums(x: f32[M, K], y: out f32[M]):
    for m in parallel(range(0, M, 2)):
        acc = zeros(f32, [2])
        for k in range(0, K, 4):
            block = x[m : m + 2, k : k + 4]
            acc += sum(block, 1)
        b = buffer(f32, [2])
        b[0:2] = acc * 2.0
        y[m : m + 2] = log(b[0:2] - 1000.0)
"""


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "sums.tile"
    file.write_text(SOURCE)

    def play(*commands: str, words: tuple[str, ...] = (), code: int = 0) -> list[str]:
        monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(commands)))
        dims = ("--dim", "M=4", "--dim", "K=8", "-i", "x=" + str(tmp_path / "x.npy"))
        import numpy as np

        np.save(tmp_path / "x.npy", np.arange(32, dtype=np.float32).reshape(4, 8))
        assert run(["debug", str(file), *dims, *words]) == code
        shown = capsys.readouterr()
        return (shown.out + shown.err).splitlines()

    return play


def lines(shown: list[str]) -> list[int]:
    """The lines that were stopped at."""
    return [int(row[1:5]) for row in shown if row.startswith(">")]


def test_steps_forwards_and_backwards(play):
    shown = play("step", "step", "step", "back", "step 2", "quit", "step")
    assert lines(shown) == [3, 5, 6, 5, 6, 6]
    assert shown[0].startswith("turn m=0: ")


def test_breakpoints_tiles_and_loops(play):
    shown = play("break 6; continue; print acc", "continue", "print acc[1]", "print block[0, 1:3]")
    assert lines(shown) == [3, 6, 6]
    assert "acc: 2, 6 to 38" in shown
    assert any("k = 4" in row for row in shown)
    assert "acc[1] = 92.0" in shown
    assert "block[0, 1:3]: 2, 5 to 6" in shown


def test_backwards_to_a_breakpoint_memory_is_as_it_was(play):
    shown = play("break 8; continue; print b; reverse; print acc", "continue", "print b")
    assert "b: 2, 56 to 184" in shown
    assert "acc: 2, 0 to 0" in shown


def test_who_wrote_an_element_and_the_first_nan(play):
    shown = play("continue", "who y[1]", "who b[0]", "nan", "who y[3]", "watch acc")
    assert lines(shown)[-3:] == [9, 8, 9]
    assert "no statement up to here wrote y[3]" in shown
    assert "acc: 2, 28 to 92" in shown


def test_another_turn(play):
    shown = play("print x[2, 0]", words=("--turn", "m=2"))
    assert shown[0].startswith("turn m=2: ")
    assert "x[2, 0] = 16.0" in shown
    assert any("DSL0910" in row for row in play(words=("--turn", "k=2"), code=2))
    assert any("has no such turn" in row for row in play(words=("--turn", "m=3"), code=2))


def test_what_is_not_there_is_said(play):
    shown = play("print nothing", "print acc[7]", "fly", "who acc", "names")
    assert any("'nothing' is not known here; there are" in row for row in shown)
    assert any("out of bounds" in row for row in shown)
    assert any("'fly': no command" in row for row in shown)
    assert any("x, y" in row for row in shown)
