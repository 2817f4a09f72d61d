"""docs/std.md lists every function and kernel of the library, with what its docstring says."""

from __future__ import annotations

from pathlib import Path

import pytest
from dslc.frontend import parse_tile, tree
from dslc.frontend.printer import print_item

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "std.md"
MARK = "<!-- made of dsl/std by tests/docs/test_std.py -->\n"


def tables() -> str:
    parts = []
    for path in sorted((ROOT / "dsl" / "std").glob("*.tile")):
        module = parse_tile(path.read_text(encoding="utf-8"), str(path))
        assert module.doc is not None
        lines = [f"## std.{path.stem}", "", module.doc.strip(), ""]
        rows = [_row(path.stem, item) for item in module.items]
        for kind in ("function", "kernel"):
            found = [row for word, row in rows if word == kind]
            result = "result" if kind == "function" else "what it does"
            lines += [f"| {kind} | {result} |", "|---|---|", *found, ""] if found else []
        parts.append("\n".join(lines).rstrip())
    return "\n\n".join(parts) + "\n"


def _row(module: str, item: tree.TopLevel) -> tuple[str, str]:
    if not isinstance(item, tree.Function | tree.Kernel):
        return "", ""
    assert item.doc, f"{module}.{item.name} says nothing"
    said = " ".join(item.doc.split()).replace("|", "\\|")
    if isinstance(item, tree.Function):
        return "function", f"| `{item.name}({', '.join(item.params)})` | {said} |"
    params = " ".join(print_item(item).partition("(")[2].partition("):\n")[0].split()).rstrip(",")
    return "kernel", f"| `{item.name}({params})` | {said} |"


def test_the_page_is_as_the_library(request: pytest.FixtureRequest) -> None:
    head, _, shown = PAGE.read_text(encoding="utf-8").partition(MARK)
    if request.config.getoption("--update-golden"):
        PAGE.write_text(f"{head}{MARK}\n{tables()}", encoding="utf-8")
        return
    assert shown.strip() == tables().strip(), "pytest tests/docs --update-golden"
