"""The programs in the docstrings of passes are those of tests/ir, with `...` for what is left out."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.ir_cases import passes, read_case

ROOT = Path(__file__).resolve().parents[2]
CASE = re.compile(r"tests/ir/([a-z-]+)/\w+\.tir")
BARE = {"register-limit", "capacity"}  # passes that change nothing


def shown(doc: str) -> Iterator[tuple[str, str]]:
    """Each line of IR in a docstring, with the path of the case that is named last before it."""
    path = ""
    for line in doc.splitlines():
        if line.startswith("    "):
            yield path, line.strip()
        elif named := CASE.search(line):
            path = named.group(0)


def missing(doc: str) -> list[str]:
    """The lines that their case does not have behind those above them."""
    rest: dict[str, list[str]] = {}
    lost = []
    for path, line in shown(doc):
        if path not in rest:
            case = read_case(ROOT / path)
            rest[path] = [x.strip() for x in (case.before + case.after).splitlines()]
        pattern = re.compile(".*".join(map(re.escape, line.split("..."))))
        places = (i for i, x in enumerate(rest[path]) if pattern.fullmatch(x))
        at = next(places, None)
        if at is None:
            lost.append(line)
        elif line != "...":
            del rest[path][: at + 1]
    return lost


def docstring_of(name: str) -> str:
    step = next(iter(passes()[name].values()))
    source = inspect.getsource(sys.modules[type(step).__module__])
    return ast.get_docstring(ast.parse(source)) or ""


@pytest.mark.parametrize("name", sorted(passes()))
def test_a_pass_shows_what_its_cases_hold(name: str) -> None:
    doc = docstring_of(name)
    assert missing(doc) == []
    named = {match.group(1) for match in CASE.finditer(doc)}
    assert named == (set() if name in BARE else {name})


@pytest.mark.parametrize("wrong", ["%b = exp %a : f32[4]", "%c = add %a, ... : f16[4]"])
def test_a_line_that_no_case_has_is_missed(wrong: str) -> None:
    lines = ["Dead code (tests/ir/dead-code/example.tir):", "", "    %b = full ... : f32[4]", ""]
    assert missing("\n".join(lines)) == []
    assert missing("\n".join([*lines, f"    {wrong}"])) == [wrong]


def test_lines_in_another_order_are_missed() -> None:
    stored, loaded = "store @y[0 : +4], %b", "%a = load @x[0 : +4] : f32[4]"
    assert missing(f"tests/ir/dead-code/example.tir\n\n    {stored}\n    {loaded}") == [loaded]
