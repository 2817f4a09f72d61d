"""Diagnostics in the Static Analysis Results Interchange Format (OASIS SARIF 2.1.0)."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from dslc.compiler.diagnostics.catalogue import entries
from dslc.compiler.diagnostics.diagnostic import Diagnostic, Loc

_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)


def sarif(diagnostics: list[Diagnostic]) -> dict[str, Any]:
    """One run with a result for each diagnostic; the codes that occur are its rules."""
    codes = sorted({d.code for d in diagnostics})
    driver = {"name": "dslc", "rules": [_rule(code) for code in codes]}
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "columnKind": "unicodeCodePoints",
                "results": [_result(d, codes.index(d.code)) for d in diagnostics],
            }
        ],
    }


def _rule(code: str) -> dict[str, Any]:
    title, explanation = entries().get(code, (code, ""))
    rule: dict[str, Any] = {"id": code, "shortDescription": {"text": title}}
    if explanation:
        rule["fullDescription"] = {"text": explanation.strip()}
        rule["help"] = {"text": explanation.strip()}
    return rule


def _result(diagnostic: Diagnostic, rule: int) -> dict[str, Any]:
    text = diagnostic.message
    if diagnostic.hint:
        text += f"\nhint: {diagnostic.hint}"
    result: dict[str, Any] = {
        "ruleId": diagnostic.code,
        "ruleIndex": rule,
        "level": diagnostic.severity.value,
        "message": {"text": text},
    }
    if diagnostic.loc:
        result["locations"] = [{"physicalLocation": _physical(diagnostic.loc)}]
    if diagnostic.labels:
        result["relatedLocations"] = [
            {"message": {"text": label.text}, "physicalLocation": _physical(label.loc)}
            for label in diagnostic.labels
        ]
    return result


def _physical(loc: Loc) -> dict[str, Any]:
    region = {"startLine": max(loc.line, 1), "startColumn": max(loc.col, 1)}
    if loc.end_line:
        region |= {"endLine": loc.end_line, "endColumn": max(loc.end_col, 1)}
    return {"artifactLocation": {"uri": _uri(loc.file)}, "region": region}


def _uri(file: str) -> str:
    from urllib.parse import quote

    path = PurePath(file)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())
