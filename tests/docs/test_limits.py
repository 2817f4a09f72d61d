"""docs/limits.md says of each machine what the machine's own page says."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
COLUMNS = ("cuda", "hip", "cpu", "aarch64", "nki", "aie")
ROW = re.compile(r"^\|.*<!-- (.*) --> \|(.*)\|[^|]*\|$", re.M)


def by_page(page: str) -> dict[str, str]:
    """The code of each feature that a machine's page says is refused."""
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\|.*<!-- (.*) --> \| (DSL\d{4}) \|", text, re.M)
    return {name: code for names, code in rows for name in names.split(", ")}


def test_every_refusal_of_a_page_stands_in_its_column_and_no_other() -> None:
    shown: dict[str, dict[str, str]] = {page: {} for page in COLUMNS}
    for names, cells in ROW.findall((DOCS / "limits.md").read_text(encoding="utf-8")):
        codes = [cell.strip() for cell in cells.split("|")]
        for page, code in zip(COLUMNS, codes, strict=True):
            if code:
                shown[page] |= dict.fromkeys(names.split(", "), code)
    assert shown == {page: by_page(page) for page in COLUMNS}


def test_every_code_is_in_the_catalogue() -> None:
    from dslc.compiler.diagnostics.catalogue import entries

    assert set(re.findall(r"DSL\d{4}", (DOCS / "limits.md").read_text(encoding="utf-8"))) <= set(
        entries()
    )
