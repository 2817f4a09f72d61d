"""Diagnostics -> text: for people, as JSON lines, as SARIF 2.1.0."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeAlias

from dslc.compiler.diagnostics.diagnostic import Diagnostic, Loc, Severity
from dslc.compiler.diagnostics.snippet import Sources, snippet

Format: TypeAlias = Literal["human", "json", "sarif"]

_BOLD, _RESET = "\x1b[1m", "\x1b[0m"
_COLORS = {
    Severity.ERROR: "\x1b[1;31m",
    Severity.WARNING: "\x1b[1;33m",
    Severity.NOTE: "\x1b[1;36m",
}
_HINT = "\x1b[1;32m"


def render(
    diagnostics: Iterable[Diagnostic],
    *,
    format: Format = "human",  # noqa: A002 - the word of the command line
    sources: Mapping[str, str] | None = None,
    color: bool = False,
) -> str:
    """The text of some diagnostics, ending in a newline; empty for none (SARIF: an empty run).

    `sources` maps file names to texts; another file is read where it can be, and of names such as
    `<python-input-3>` what Python's linecache knows. `json` gives one object
    a line: code, severity, message, hint, the place (file, line, col, end_line, end_col, each None
    where there is none) and labels (a place and a text each).
    """
    listed = list(diagnostics)
    match format:
        case "human":
            texts = Sources(sources)
            return "\n".join(_human(d, texts, color) for d in listed)
        case "json":
            return "".join(json.dumps(_fields(d)) + "\n" for d in listed)
        case "sarif":
            from dslc.compiler.diagnostics.sarif import sarif

            return json.dumps(sarif(listed), indent=2) + "\n"


def _human(diagnostic: Diagnostic, sources: Sources, color: bool) -> str:
    def paint(style: str, text: str) -> str:
        return f"{style}{text}{_RESET}" if color else text

    tint = _COLORS[diagnostic.severity]
    head = paint(tint, f"{diagnostic.severity.value}[{diagnostic.code}]")
    lines = [f"{head}{paint(_BOLD, ': ' + _visible(diagnostic.message))}"]
    places = [(diagnostic.loc, "")] if diagnostic.loc else []
    places += [(label.loc, label.text) for label in diagnostic.labels]
    margin = max((len(str(loc.line)) for loc, _ in places), default=1)
    for i, (loc, text) in enumerate(places):
        first = i == 0 and diagnostic.loc is not None
        arrow = "-->" if first else ":::"
        lines.append(f"{' ' * margin}{arrow} {_visible(str(loc))}")
        lines += snippet(
            loc,
            _visible(text),
            sources.lines(loc.file),
            margin=margin,
            mark="^" if first else "-",
            paint=functools.partial(paint, tint if first else _COLORS[Severity.NOTE]),
        )
    if diagnostic.hint:
        lines.append(f"{paint(_HINT, 'hint')}: {_visible(diagnostic.hint)}")
    return "\n".join(lines) + "\n"


def _visible(text: str) -> str:
    """The text without what would move a terminal's cursor."""
    return "".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in text)


def _fields(diagnostic: Diagnostic) -> dict[str, Any]:
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity.value,
        "message": diagnostic.message,
        "hint": diagnostic.hint,
        **_place(diagnostic.loc),
        "labels": [{"text": label.text, **_place(label.loc)} for label in diagnostic.labels],
    }


def _place(loc: Loc | None) -> dict[str, Any]:
    names = ("file", "line", "col", "end_line", "end_col")
    return {name: getattr(loc, name) if loc else None for name in names}
