"""The pages about performance show the figures that are kept, and say how they came about."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from documents.data import DOCS, figures
from documents.pictures import PICTURES, fingerprint
from documents.tables import MARKED, TABLES, filled, speeds

OVERVIEW = DOCS / "performance.md"
PAGES = sorted((DOCS / "performance").glob("*.md"))
README = DOCS.parent / "README.md"


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def test_tables_are_made_from_the_kept_figures() -> None:
    shown = []
    for page in (OVERVIEW, *PAGES):
        assert filled(text_of(page)) == text_of(page), f"run.py makes {page.name} anew"
        shown += [name for _, name, _ in MARKED.findall(text_of(page))]
    assert sorted(shown) == sorted(TABLES)


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_are_drawn_from_the_kept_figures(name: str) -> None:
    picture = DOCS / "pictures" / f"performance_{name}.svg"
    assert f"figures {fingerprint(PICTURES[name]())}" in text_of(picture), (
        f"run.py draws {name} anew"
    )
    assert picture.stat().st_size < 60_000


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_has_date_and_command_and_is_found(page: Path) -> None:
    text = text_of(page)
    assert re.search(r"\d+ [A-Z][a-z]+ 20\d\d", text)
    assert re.search(r"`(make|dslc|(PYTHONPATH=\S+\s)?python)\s", text)
    assert f"performance/{page.name})" in text_of(OVERVIEW)


def test_the_overview_is_one_page() -> None:
    assert len(text_of(OVERVIEW).splitlines()) <= 150


@pytest.mark.parametrize(
    ("name", "rows", "rivals"),
    [("decode", (1,), 1), ("decode", (16,), 1), ("prefill", (64, 256), 2), ("prefill", (4096,), 2)],
)
def test_the_readme_has_the_headline(name: str, rows: tuple[int, ...], rivals: int) -> None:
    found = [speeds(figures(name), m)[1:] for m in rows]
    for rival in range(rivals):
        every = [speed for one in found for speed in one[rival]]
        assert f"{min(every):.2f} to {max(every):.2f}" in text_of(README)
