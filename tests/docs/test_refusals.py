"""What the pages of machines say cannot be done is what their generators refuse, and no more.

A row of such a table names in a comment the features (tests/support/features.tile) that it speaks of.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from dslc.codegen.hip.compilers import compilers
from dslc.compiler.diagnostics import DiagnosticError

from support.features import features

DOCS = Path(__file__).parents[2] / "docs"
TARGETS = {"aie": "aie:npu2", "nki": "nki:trn2", "hip": "hip:gfx950", "aarch64": "aarch64:bf16"}
TARGETS["cpu"] = "cpu:x86-64-v3"
FEATURES = features()


def refused(page: str) -> dict[str, str]:
    """The code of each feature that a page says is refused."""
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\|.*<!-- (.*) --> \| (DSL\d{4}) \|", text, re.M)
    return {name: code for names, code in rows for name in names.split(", ")}


# Few things are refused there: those that are refused anywhere are tried.
SOME = {name for page in TARGETS for name in refused(page)}


@pytest.mark.parametrize("page", TARGETS)
def test_what_is_refused(page: str) -> None:
    if page == "hip" and next(compilers(), None) is None:
        pytest.skip("needs a clang for AMD GPUs")
    said = refused(page)
    found = {}
    for name in FEATURES if page in ("aie", "nki") else SOME:
        try:
            FEATURES[name].lower(TARGETS[page])
        except DiagnosticError as failure:
            (first, *_) = failure.diagnostics
            found[name] = first.code
            assert first.loc is not None, name
            assert first.hint, name
    assert found == said
