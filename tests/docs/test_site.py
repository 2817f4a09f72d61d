"""The site's navigation has every page of docs/ once; decisions follow by docs/hooks.py."""

from __future__ import annotations

import pkgutil
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


def test_the_navigation_has_every_page_once() -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    nav = text[text.index("\nnav:\n") :]
    listed = re.findall(r"([\w/]+\.md)$", nav, re.M)
    pages = {p.relative_to(DOCS).as_posix() for p in DOCS.rglob("*.md")}
    assert len(listed) == len(set(listed))
    assert set(listed) == {page for page in pages if not page.startswith("decisions/")}


def test_the_reference_names_what_there_is() -> None:
    names = [
        name
        for page in (DOCS / "reference").glob("*.md")
        for name in re.findall(r"^::: ([\w.]+)$", page.read_text(encoding="utf-8"), re.M)
    ]
    assert names
    for name in names:
        assert pkgutil.resolve_name(name).__doc__, name
