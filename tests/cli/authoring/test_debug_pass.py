"""`dslc debug --pass`: both programs of a pass in step, and where they first differ."""

from __future__ import annotations

import dataclasses
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dslc.cli.main import run
from dslc.compiler.ir import Kernel
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.rewrite import Rewriter
from dslc.compiler.passes.simplification.dead_code import DeadCode

SOURCE = """\
kernel sums(x: f32[M, K], y: out f32[M]):
    for m in parallel(range(0, M, 2)):
        acc = zeros(f32, [2])
        for k in range(0, K, 4):
            block = x[m : m + 2, k : k + 4]
            acc += sum(block, 1)
        scaled = acc * 2.0
        y[m : m + 2] = scaled + 1.0
"""


class _Wrong(Rewriter):
    """A pass that has a bug: what is multiplied by is added."""

    def rebuild(self, stmt: ins.Stmt) -> ins.Stmt:
        stmt = super().rebuild(stmt)
        if isinstance(stmt, ins.Binary) and stmt.op == "mul":
            return dataclasses.replace(stmt, op="add")
        return stmt


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    right = DeadCode.__call__

    def wrong(self: DeadCode, program: Kernel) -> Kernel:
        return _Wrong().kernel(right(self, program))

    monkeypatch.setattr(DeadCode, "__call__", wrong)
    monkeypatch.setenv("COLUMNS", "140")
    (tmp_path / "sums.tile").write_text(SOURCE)
    np.save(tmp_path / "x.npy", np.arange(32, dtype=np.float32).reshape(4, 8))
    return tmp_path / "sums.tile"


@pytest.fixture
def play(file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    def play(*commands: str, words: tuple[str, ...], code: int = 0) -> list[str]:
        monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(commands)))
        dims = ("--dim", "M=4", "--dim", "K=8", "-i", f"x={file.parent / 'x.npy'}", "--no-cache")
        assert run(["debug", str(file), *dims, "-t", "cuda:sm_90a", *words]) == code
        shown = capsys.readouterr()
        return (shown.out + shown.err).splitlines()

    return play


def test_the_first_difference_is_found_and_both_sides_are_shown(play) -> None:
    shown = play(
        "diff", "print scaled", "print acc", "print scaled[1]", "back",
        "break 8; continue; continue; continue; continue", "diff 10",
        words=("--pass", "dead-code", "--turn", "m=2"),
    )  # fmt: skip
    assert shown[0].startswith("turn m=2: before and after dead-code, ")
    assert any(row.startswith("y: DIFFERENT, by ") for row in shown)
    # acc is 156 and 220 in this turn: what is doubled becomes 2 more.
    (first,) = (row for row in shown if row.startswith("first difference"))
    assert "2 of 2 elements of scaled differ, scaled[1] most: 440.0 before, 222.0 after" in first
    (both,) = (row for row in shown if " mul " in row and " add " in row and ">" in row)
    assert both.index(" mul ") < both.index(" | ") < both.index(" add ")
    assert "acc, the same: 2, 156 to 220" in shown
    assert "scaled[1], before: 440.0" in shown
    assert "scaled[1], after: 222.0" in shown
    assert any(row.startswith("!") and " of y differ" in row for row in shown)
    assert "no instruction that both have gives anything else" in shown


def test_a_pass_that_is_right_changes_nothing_and_one_that_is_not_there_is_refused(play) -> None:
    shown = play("names", "who y[0]", words=("--pass", "bounds"))
    assert "y: equal" in shown
    assert "no instruction that both have gives anything else" in shown
    assert any(row.startswith("both: ") and "acc" in row for row in shown)
    refused = play(words=("--pass", "bonds"), code=2)
    assert any("DSL0914" in row for row in refused)
    assert any("did you mean `bounds`?" in row for row in refused)


def test_all_passes_at_once(play) -> None:
    shown = play("diff", "back 99; step 3; list", words=("--pass", "all"))
    assert any("elements of scaled differ" in row for row in shown)
    assert any("alloc" in row for row in shown)


def messages(*requests: tuple[str, dict[str, Any]]) -> bytes:
    texts = [
        json.dumps({"seq": n, "type": "request", "command": c, "arguments": a}).encode()
        for n, (c, a) in enumerate(requests, 1)
    ]
    return b"".join(b"Content-Length: %d\r\n\r\n" % len(t) + t for t in texts)


def answers(data: bytes) -> list[dict[str, Any]]:
    found = []
    while data:
        head, _, rest = data.partition(b"\r\n\r\n")
        length = int(head.split(b":")[1])
        found.append(json.loads(rest[:length]))
        data = rest[length:]
    return found


class _Stream(io.BytesIO):
    @property
    def buffer(self) -> _Stream:
        return self


def test_editors_see_both_programs_as_threads(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = messages(
        ("initialize", {}),
        ("launch", {"program": str(file), "dims": {"M": 4, "K": 8}, "pass": "dead-code",
                    "target": "cuda:sm_90a", "inputs": {"x": str(file.parent / "x.npy")}}),
        ("setExceptionBreakpoints", {"filters": ["difference"]}),
        ("configurationDone", {}),
        ("continue", {"threadId": 1}),
        ("threads", {}),
        ("stackTrace", {"threadId": 1}),
        ("stackTrace", {"threadId": 2}),
        ("source", {"sourceReference": 2}),
        ("scopes", {"frameId": 3}),
        ("variables", {"variablesReference": 2}),
        ("evaluate", {"expression": "scaled[0]", "frameId": 1}),
        ("evaluate", {"expression": "scaled[0]", "frameId": 3}),
        ("setBreakpoints", {"source": {"sourceReference": 2}, "breakpoints": [{"line": 1}]}),
        ("disconnect", {}),
    )  # fmt: skip
    out = _Stream()
    monkeypatch.setattr("sys.stdin", _Stream(asked))
    monkeypatch.setattr("sys.stdout", out)
    assert run(["debug", "--dap", "--no-cache"]) == 0
    found = answers(out.getvalue())
    said = {m["request_seq"]: m for m in found if m["type"] == "response"}
    assert all(m["success"] for m in said.values()), said
    stopped = [m["body"] for m in found if m.get("event") == "stopped"]
    assert [s["reason"] for s in stopped] == ["entry", "exception"]
    assert "scaled differ" in stopped[1]["text"]
    names = [t["name"] for t in said[6]["body"]["threads"]]
    assert names == ["before dead-code: turn m=0", "after dead-code: turn m=0"]
    before, after = (said[n]["body"]["stackFrames"] for n in (7, 8))
    assert before[0]["source"] == {"name": "before dead-code.tir", "sourceReference": 1}
    assert [f["line"] for f in (before[1], after[1])] == [7, 7]
    row = said[9]["body"]["content"].split("\n")[after[0]["line"] - 1]
    assert " add " in row
    assert [s["name"] for s in said[10]["body"]["scopes"]] == ["Names", "Differs"]
    differs = {v["name"]: v["value"] for v in said[11]["body"]["variables"]}
    assert differs == {"scaled[1] before": "184.0", "scaled[1] after": "94.0"}
    assert [said[n]["body"]["result"] for n in (12, 13)] == ["56.0", "30.0"]
    assert not said[14]["body"]["breakpoints"][0]["verified"]
