"""The Debug Adapter Protocol over a recorded turn, by which editors step through a kernel.

https://microsoft.github.io/debug-adapter-protocol: messages of JSON under a header with their length.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from dslc.cli.authoring.place import Place, shown
from dslc.compiler.diagnostics import DiagnosticError

Launch = Callable[[Mapping[str, Any]], Place]
"""Runs what the arguments of `launch` name and gives the recorded turn."""
_MOST = 1_000  # children of a tile that are listed


class Adapter:
    """Answers an editor until it leaves."""

    def __init__(self, source: BinaryIO, sink: BinaryIO, launch: Launch) -> None:
        self.source, self.sink, self.launch = source, sink, launch
        self.place: Place | None = None
        self.file = ""
        self.stops_at_nan = False
        self.tiles: list[Any] = []  # what variables refer to, from 2
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
            "exceptionBreakpointFilters": [{"filter": "nan", "label": "The first NaN"}],
        }

    def on_launch(self, arguments: Mapping[str, Any]) -> None:
        """Run the kernel and record the turn."""
        self.file = str(Path(arguments["program"]).resolve())
        self.place = self.launch(arguments)

    def on_setBreakpoints(self, arguments: Mapping[str, Any]) -> dict[str, Any]:  # noqa: N802
        """Lines to stop at; those that are no statement of the turn are not verified."""
        place = self._there()
        wanted = [int(b["line"]) for b in arguments.get("breakpoints", ())]
        lines = {e.loc.line for e in place.recording.events if e.loc is not None}
        place.breaks = {n for n in wanted if n in lines}
        return {"breakpoints": [{"verified": n in lines, "line": n} for n in wanted]}

    def on_setExceptionBreakpoints(self, arguments: Mapping[str, Any]) -> None:  # noqa: N802
        """Whether NaNs stop it."""
        self.stops_at_nan = "nan" in arguments.get("filters", ())

    def on_threads(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The turn is the one thread."""
        title = self.place.recording.title if self.place else "turn"
        return {"threads": [{"id": 1, "name": title}]}

    def on_stackTrace(self, arguments: Mapping[str, Any]) -> dict[str, Any]:  # noqa: N802
        """Where it is."""
        place = self._there()
        source = {"name": Path(self.file).name, "path": self.file}
        frame = {
            "id": 1,
            "name": place.recording.title,
            "source": source,
            "line": place.line,
            "column": 1,
        }
        return {"stackFrames": [frame], "totalFrames": 1}

    def on_scopes(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The names of the kernel."""
        self.tiles = []
        return {"scopes": [{"name": "Names", "variablesReference": 1, "expensive": False}]}

    def on_variables(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The names, or the parts of a tile."""
        reference = int(arguments["variablesReference"])
        if reference == 1:
            found = self._there().names().items()
        else:
            tile = np.asarray(self.tiles[reference - 2])
            start = int(arguments.get("start") or 0)
            count = min(int(arguments.get("count") or _MOST), _MOST)
            numbers = range(start, min(start + count, len(tile)))
            found = {f"[{i}]": tile[i] for i in numbers}.items()
        return {"variables": [{"name": n, **self._variable(v)} for n, v in found]}

    def on_evaluate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """A name, or a part of what it stands for."""
        described = self._variable(self._there().value(arguments["expression"]))
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

    def _go_on(self, place: Place) -> None:
        """To a breakpoint or the first NaN, whichever is first; else the turn is over."""
        begin = place.at
        stopped = place.seek(1)
        nan = place.nan() if self.stops_at_nan else None
        if nan is not None and begin < nan <= place.at:
            place.at = nan
            self._stopped("exception", "a NaN was made here")
        elif stopped:
            self._stopped("breakpoint")
        else:
            self._send("event", {"event": "terminated"})

    def _stopped(self, reason: str, text: str = "") -> None:
        body = {"reason": reason, "threadId": 1, "allThreadsStopped": True}
        self._send("event", {"event": "stopped", "body": body | ({"text": text} if text else {})})

    def _there(self) -> Place:
        if self.place is None:
            raise LookupError("nothing was launched")
        return self.place

    def _variable(self, value: Any) -> dict[str, Any]:
        """A value for the editor; tiles can be opened."""
        if np.ndim(value) == 0:
            return {"value": str(value), "variablesReference": 0}
        self.tiles.append(value)
        text = shown(value, most=16)
        return {
            "value": " ".join(text.split()),
            "variablesReference": len(self.tiles) + 1,
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
