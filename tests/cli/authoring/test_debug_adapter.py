"""The Debug Adapter Protocol, as an editor speaks it over stdio."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

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


class Editor:
    """A client of the adapter."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "dslc", "debug", "--dap"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.events: list[dict[str, Any]] = []
        self.sent = 0

    def read(self) -> dict[str, Any]:
        length = int(self.process.stdout.readline().split(b":")[1])
        self.process.stdout.readline()
        return json.loads(self.process.stdout.read(length))

    def ask(self, command: str, **arguments: Any) -> dict[str, Any]:
        """A request and its answer; events that come before it are kept."""
        self.sent += 1
        request = {"seq": self.sent, "type": "request", "command": command, "arguments": arguments}
        data = json.dumps(request).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        self.process.stdin.flush()
        while (message := self.read())["type"] == "event":
            self.events.append(message)
        assert message["request_seq"] == self.sent
        return message

    def event(self) -> tuple[str, str]:
        """The next event, and its reason."""
        message = self.events.pop(0) if self.events else self.read()
        return message["event"], message.get("body", {}).get("reason", "")

    def line(self) -> int:
        return self.ask("stackTrace", threadId=1)["body"]["stackFrames"][0]["line"]


@pytest.fixture
def editor():
    made = Editor()
    yield made
    made.process.kill()
    made.process.wait()


def test_an_editor_follows_a_turn(editor: Editor, tmp_path: Path) -> None:
    file = tmp_path / "sums.tile"
    file.write_text(SOURCE)
    np.save(tmp_path / "x.npy", np.arange(32, dtype=np.float32).reshape(4, 8))
    able = editor.ask("initialize", adapterID="tile")["body"]
    assert able["supportsStepBack"]
    refused = editor.ask("launch", program=str(file), dims={"M": 4})
    assert not refused["success"]
    assert "error[DSL" in refused["message"]
    inputs = {"x": str(tmp_path / "x.npy")}
    assert editor.ask("launch", program=str(file), inputs=inputs, turn={"m": 2})["success"]
    assert editor.event() == ("initialized", "")
    found = editor.ask(
        "setBreakpoints", source={"path": str(file)}, breakpoints=[{"line": 6}, {"line": 1}]
    )
    assert [b["verified"] for b in found["body"]["breakpoints"]] == [True, False]
    editor.ask("setExceptionBreakpoints", filters=["nan"])
    editor.ask("configurationDone")
    assert editor.event() == ("stopped", "entry")
    assert editor.ask("threads")["body"]["threads"] == [{"id": 1, "name": "turn m=2"}]
    editor.ask("continue", threadId=1)
    assert (editor.event(), editor.line()) == (("stopped", "breakpoint"), 6)
    reference = editor.ask("scopes", frameId=1)["body"]["scopes"][0]["variablesReference"]
    names = {
        v["name"]: v
        for v in editor.ask("variables", variablesReference=reference)["body"]["variables"]
    }
    assert names["k"]["value"] == "0"
    assert names["block"]["value"].startswith("2x4, 16 to 27")
    rows = editor.ask("variables", variablesReference=names["block"]["variablesReference"])
    (first, _) = rows["body"]["variables"]
    parts = editor.ask("variables", variablesReference=first["variablesReference"])["body"][
        "variables"
    ]
    assert [p["value"] for p in parts] == ["16.0", "17.0", "18.0", "19.0"]
    assert editor.ask("evaluate", expression="x[2, 1]")["body"]["result"] == "17.0"
    assert not editor.ask("evaluate", expression="nothing")["success"]
    editor.ask("stepBack", threadId=1)
    assert (editor.event(), editor.line()) == (("stopped", "step"), 5)
    editor.ask("next", threadId=1)
    assert (editor.event(), editor.line()) == (("stopped", "step"), 6)
    editor.ask("continue", threadId=1)
    assert editor.event() == ("stopped", "breakpoint")
    editor.ask("continue", threadId=1)
    assert (editor.event(), editor.line()) == (("stopped", "exception"), 9)
    editor.ask("next", threadId=1)
    assert editor.event() == ("terminated", "")
    editor.ask("disconnect")
    assert editor.process.wait(10) == 0
