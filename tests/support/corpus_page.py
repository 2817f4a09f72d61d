"""docs/corpus.md: which programs of the corpus a machine refuses, as its runs have found.

The part below the mark is written by `python -m support.corpus TARGET --page`, which replaces the rows
of that target; tests hold the page against the corpus and against what machines say.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from corpus.cases import cases

PAGE = Path(__file__).parents[2] / "docs" / "corpus.md"
TARGETS = (
    "cuda:sm_90a",
    "cuda:sm_80",
    "hip:gfx942",
    "hip:gfx950",
    "nki:trn2",
    "aie:npu2",
    "aarch64:i8mm",
    "cpu",
)
# What is known to be wrong and not yet mended, with the reason: the day it is, a deep test says so.
OPEN: dict[tuple[str, str], str] = {}
_MARK = "<!-- written by python -m support.corpus TARGET --page -->\n"
_ROW = re.compile(
    r"^\| (?P<name>[^|]+) \| (?P<target>[^|]+) \| (?P<code>DSL\d+) \| (?P<reason>.*) \|$", re.M
)


@dataclass(frozen=True, slots=True)
class Refusal:
    """The code and the first line of an error, without its place."""

    code: str
    reason: str


Refusals = Mapping[tuple[str, str], Refusal]


def refusals() -> dict[tuple[str, str], Refusal]:
    """Those of the page, by target and case."""
    found = {}
    for row in _ROW.finditer(PAGE.read_text(encoding="utf-8")):
        reason = row["reason"].replace("\\|", "|")
        found[row["target"], row["name"]] = Refusal(row["code"], reason)
    return found


def rendered(found: Refusals) -> str:
    """The page with these refusals."""
    head, _, _ = PAGE.read_text(encoding="utf-8").partition(_MARK)
    every = cases()
    files: dict[str, list[str]] = {}
    for case in every.values():
        files.setdefault(case.file, []).append(case.name)
    lines = ["| file | programs |", "|---|---|"]
    lines += [f"| {file}.tile | {', '.join(names)} |" for file, names in files.items()]
    lines += ["", "| machine | right | refused | open |", "|---|---|---|---|"]
    for target in TARGETS:
        refused, known = (sum(t == target for t, _ in keys) for keys in (found, OPEN))
        right = len(every) - refused - known
        lines.append(f"| {target} | {right} of {len(every)} | {refused} | {known} |")
    lines += ["", "| refused | by | code | reason |", "|---|---|---|---|"]
    order = sorted(found, key=lambda key: (list(every).index(key[1]), TARGETS.index(key[0])))
    for target, name in order:
        refusal = found[target, name]
        reason = refusal.reason.replace("|", "\\|")
        lines.append(f"| {name} | {target} | {refusal.code} | {reason} |")
    return head + _MARK + "\n" + "\n".join(lines) + "\n"


def write(target: str, own: Mapping[str, Refusal]) -> None:
    """Put the refusals of a target in the place of those that stood there."""
    others = {key: r for key, r in refusals().items() if key[0] != target}
    PAGE.write_text(rendered(others | {(target, n): r for n, r in own.items()}), encoding="utf-8")
