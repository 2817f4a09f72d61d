"""The Debug Adapter Protocol over a recorded turn, by which editors step through a kernel.

https://microsoft.github.io/debug-adapter-protocol: messages of JSON under a header with their length.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from dslc.cli.authoring.lockstep import Lockstep
from dslc.cli.authoring.place import Place, shown
from dslc.compiler.diagnostics import DiagnosticError

Launch = Callable[[Mapping[str, Any]], "Place | Lockstep"]
"""Runs what the arguments of `launch` name and gives the recorded turn, or both sides of a pass."""
_MOST = 1_000  # children of a tile that are listed


class Adapter:
    """Answers an editor until it leaves."""

    def __init__(self, source: BinaryIO, sink: BinaryIO, launch: Launch) -> None:
        self.source, self.sink, self.launch = source, sink, launch
        self.place: Place | Lockstep | None = None
        self.file = ""
        self.filters: tuple[str, ...] = ()
        self.shown: list[Any] = []  # what variables refer to, from 1: names, or a tile
        self.threads: list[int] = []  # of the frames, from 1
        self.sent = 0

    def run(self) -> None:
        """Answer requests until `disconnect`, or the end of the input."""
        while (message := self._read()) is not None:
            if message.get("type") != "request":
                continue
            command, arguments = message["command"], message.get("arguments") or {}
            handler = getattr(self, f"on_{command}", None)
            try:
                body = handler(arguments) if handler else {}
            except (DiagnosticError, LookupError, ValueError) as failure:
                self._answer(message, False, {}, str(failure))
            else:
                self._answer(message, True, body or {})
                self._after(command)
            if command == "disconnect":
                return

    # Requests, by their names in the protocol

    def on_initialize(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """What the adapter can do."""
        return {
            "supportsConfigurationDoneRequest": True,
            "supportsStepBack": True,
            "supportsEvaluateForHovers": True,
            "exceptionBreakpointFilters": [
                {"filter": "nan", "label": "The first NaN"},
                {"filter": "difference", "label": "The first difference that a pass makes"},
            ],
        }

    def on_launch(self, arguments: Mapping[str, Any]) -> None:
        """Run the kernel and record the turn."""
        self.file = str(Path(arguments["program"]).resolve())
        self.place = self.launch(arguments)

    def on_setBreakpoints(self, arguments: Mapping[str, Any]) -> dict[str, Any]:  # noqa: N802
        """Lines to stop at; those that are no statement of the turn are not verified."""
        place = self._there()
        wanted = [int(b["line"]) for b in arguments.get("breakpoints", ())]
        number = int((arguments.get("source") or {}).get("sourceReference") or 0)
        if number and isinstance(place, Lockstep):
            side = place.sides[number - 1]
            lines = {side.row(n) for n in range(len(side.recording.events))}
            side.breaks = lines.intersection(wanted)
        else:
            lines = place.lines
            place.breaks = lines.intersection(wanted)
        return {"breakpoints": [{"verified": n in lines, "line": n} for n in wanted]}

    def on_setExceptionBreakpoints(self, arguments: Mapping[str, Any]) -> None:  # noqa: N802
        """Whether NaNs stop it, and differences."""
        self.filters = tuple(arguments.get("filters", ()))

    def on_threads(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The turn is the one thread; of a pass each side is one."""
        titles = self.place.threads if self.place else ("turn",)
        return {"threads": [{"id": n, "name": title} for n, title in enumerate(titles, 1)]}

    def on_stackTrace(self, arguments: Mapping[str, Any]) -> dict[str, Any]:  # noqa: N802
        """Where it is."""
        place = self._there()
        thread = int(arguments.get("threadId") or 1) - 1
        frames = []
        for frame in place.frames(thread):
            source: dict[str, Any] = {"name": Path(self.file).name, "path": self.file}
            if frame.text is not None:
                source = {"name": place.texts[frame.text][0], "sourceReference": frame.text + 1}
            self.threads.append(thread)
            where = {"source": source, "line": frame.line, "column": 1}
            frames.append({"id": len(self.threads), "name": frame.name, **where})
        return {"stackFrames": frames, "totalFrames": len(frames)}

    def on_source(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The text of a program that is in no file."""
        number = int((arguments.get("source") or arguments).get("sourceReference") or 0)
        texts = self._there().texts
        if not 0 < number <= len(texts):
            raise LookupError("there is no such text")
        return {"content": texts[number - 1][1]}

    def on_scopes(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The names of the kernel, and what differs."""
        scopes = []
        for name, known in self._there().scopes(self._thread(arguments)).items():
            self.shown.append(known)
            reference = len(self.shown)
            scopes.append({"name": name, "variablesReference": reference, "expensive": False})
        return {"scopes": scopes}

    def on_variables(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The names, or the parts of a tile."""
        opened = self.shown[int(arguments["variablesReference"]) - 1]
        if isinstance(opened, Mapping):
            found = opened.items()
        else:
            tile = np.asarray(opened)
            start = int(arguments.get("start") or 0)
            count = min(int(arguments.get("count") or _MOST), _MOST)
            numbers = range(start, min(start + count, len(tile)))
            found = {f"[{i}]": tile[i] for i in numbers}.items()
        return {"variables": [{"name": n, **self._variable(v)} for n, v in found]}

    def on_evaluate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """A name, or a part of what it stands for."""
        found = self._there().value(arguments["expression"], self._thread(arguments))
        described = self._variable(found)
        return {"result": described.pop("value"), **described}

    def on_next(self, arguments: Mapping[str, Any]) -> None:
        """One statement on."""
        self._there()

    on_stepIn = on_stepOut = on_stepBack = on_continue = on_reverseContinue = on_next  # noqa: N815

    # What follows an answer

    def _after(self, command: str) -> None:
        place = self.place
        if command == "launch":
            self._send("event", {"event": "initialized"})
        elif place is None:
            return
        elif command == "configurationDone":
            self._stopped("entry")
        elif command in ("next", "stepIn", "stepOut"):
            if place.is_last:
                self._send("event", {"event": "terminated"})
                return
            place.move(1)
            self._stopped("step")
        elif command == "stepBack":
            place.move(-1)
            self._stopped("step")
        elif command == "reverseContinue":
            place.seek(-1)
            self._stopped("breakpoint" if place.line in place.breaks else "entry")
        elif command == "continue":
            self._go_on(place)

    def _go_on(self, place: Place | Lockstep) -> None:
        """To a breakpoint, the first NaN or difference, whichever is first; else it is over."""
        begin = place.at
        stopped = place.seek(1)
        found = place.exception(self.filters, begin)
        if found is not None and found[0] <= place.at:
            place.at = found[0]
            self._stopped("exception", found[1])
        elif stopped:
            self._stopped("breakpoint")
        else:
            self._send("event", {"event": "terminated"})

    def _stopped(self, reason: str, text: str = "") -> None:
        self.shown, self.threads = [], []
        body = {"reason": reason, "threadId": 1, "allThreadsStopped": True}
        self._send("event", {"event": "stopped", "body": body | ({"text": text} if text else {})})

    def _thread(self, arguments: Mapping[str, Any]) -> int:
        """The thread of a frame; of none, the last."""
        number = int(arguments.get("frameId") or 0)
        known = 0 < number <= len(self.threads)
        return self.threads[number - 1] if known else len(self._there().threads) - 1

    def _there(self) -> Place | Lockstep:
        if self.place is None:
            raise LookupError("nothing was launched")
        return self.place

    def _variable(self, value: Any) -> dict[str, Any]:
        """A value for the editor; tiles can be opened."""
        if np.ndim(value) == 0:
            return {"value": str(value), "variablesReference": 0}
        self.shown.append(value)
        text = shown(value, most=16)
        return {
            "value": " ".join(text.split()),
            "variablesReference": len(self.shown),
            "indexedVariables": len(value),
        }

    # Messages

    def _read(self) -> dict[str, Any] | None:
        length = 0
        while line := self.source.readline():
            name, _, value = line.decode("ascii", "replace").partition(":")
            if name.lower() == "content-length":
                length = int(value)
            elif not line.strip():
                message: dict[str, Any] = json.loads(self.source.read(length))
                return message
        return None

    def _answer(self, request: Mapping[str, Any], success: bool, body: Any, text: str = "") -> None:
        fields = {"request_seq": request["seq"], "command": request["command"], "success": success}
        self._send("response", {**fields, "body": body, **({"message": text} if text else {})})

    def _send(self, kind: str, fields: Mapping[str, Any]) -> None:
        self.sent += 1
        data = json.dumps({"seq": self.sent, "type": kind, **fields}).encode()
        self.sink.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        self.sink.flush()
