"""The TextMate grammar of the language, from the words that the compiler knows.

python -m support.editors.textmate     in tests/ writes it into editors/vscode/syntaxes
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dslc.highlighting import CALLS, DECLARES, DTYPES, FLOW

PATH = Path(__file__).parents[3] / "editors/vscode/syntaxes/tile.tmLanguage.json"


def _words(names: tuple[str, ...], behind: str = "") -> str:
    return rf"\b(?:{'|'.join(names)})\b{behind}"


def _string(quote: str, name: str, *, long: bool) -> dict[str, Any]:
    return {
        "begin": f"(?i:[ru])?{quote}",
        "end": quote if long else f"{quote}|$",
        "name": f"{name}.tile",
        "patterns": [{"match": r"\\.", "name": "constant.character.escape.tile"}],
    }


def grammar() -> dict[str, Any]:
    """The grammar as its file has it."""
    rules: list[dict[str, Any]] = [
        {"match": "#.*$", "name": "comment.line.number-sign.tile"},
        _string('"""', "string.quoted.docstring", long=True),
        _string("'''", "string.quoted.docstring", long=True),
        _string('"', "string.quoted.double", long=False),
        _string("'", "string.quoted.single", long=False),
        {
            "match": r"\b(kernel|program|def)\s+([^\W\d]\w*)",
            "captures": {
                "1": {"name": "storage.type.function.tile"},
                "2": {"name": "entity.name.function.tile"},
            },
        },
        {"match": _words(DECLARES), "name": "storage.modifier.tile"},
        {"match": _words(FLOW), "name": "keyword.control.tile"},
        {"match": _words(("and", "or", "not")), "name": "keyword.operator.logical.tile"},
        {
            "match": _words(("True", "False", "None", "inf", "nan")),
            "name": "constant.language.tile",
        },
        {"match": _words(DTYPES), "name": "support.type.tile"},
        {"match": _words(CALLS, r"(?=\s*\()"), "name": "support.function.tile"},
        {
            "match": r"\b([^\W\d]\w*)\s*(=)(?!=)(?=[^()]*\))",
            "captures": {
                "1": {"name": "variable.parameter.function-call.tile"},
                "2": {"name": "keyword.operator.assignment.tile"},
            },
        },
        {"match": r"\b[^\W\d]\w*(?=\()", "name": "entity.name.function.call.tile"},
        {
            "match": r"\b0[xX][\da-fA-F_]+|\b0[oO][0-7_]+|\b0[bB][01_]+",
            "name": "constant.numeric.tile",
        },
        {
            "match": r"(?:\b\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d+)?",
            "name": "constant.numeric.tile",
        },
        {
            "match": r"\*\*=?|//=?|<<=?|>>=?|[-+*/%&|^<>=!]=|[-+*/%&|^~<>=]",
            "name": "keyword.operator.tile",
        },
    ]
    return {"name": "Tile", "scopeName": "source.tile", "fileTypes": ["tile"], "patterns": rules}


def text() -> str:
    """The file."""
    return json.dumps(grammar(), indent=2) + "\n"


if __name__ == "__main__":
    PATH.write_text(text(), encoding="utf-8")
