"""docs/std.md lists every function of the library, with what its docstring says first."""

from __future__ import annotations

from pathlib import Path

import pytest
from dslc.frontend import parse_tile, tree

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "std.md"
MARK = "<!-- made of dsl/std by tests/docs/test_std.py -->\n"


def tables() -> str:
    parts = []
    for path in sorted((ROOT / "dsl" / "std").glob("*.tile")):
        module = parse_tile(path.read_text(encoding="utf-8"), str(path))
        assert module.doc is not None
        lines = [f"## std.{path.stem}", "", module.doc.strip(), ""]
        lines += ["| function | result |", "|---|---|"]
        for item in module.items:
            if isinstance(item, tree.Function):
                assert item.doc, f"{path.stem}.{item.name} says nothing"
                said = " ".join(item.doc.split()).replace("|", "\\|")
                lines.append(f"| `{item.name}({', '.join(item.params)})` | {said} |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def test_the_page_is_as_the_library(request: pytest.FixtureRequest) -> None:
    head, _, shown = PAGE.read_text(encoding="utf-8").partition(MARK)
    if request.config.getoption("--update-golden"):
        PAGE.write_text(f"{head}{MARK}\n{tables()}", encoding="utf-8")
        return
    assert shown.strip() == tables().strip(), "pytest tests/docs --update-golden"
