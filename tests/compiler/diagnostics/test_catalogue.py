from __future__ import annotations

import pytest
from dslc.compiler.diagnostics.catalogue import RANGES, entries, explain, join, similar_code


def test_the_files_are_joined_in_the_order_of_the_codes() -> None:
    assert list(entries()) == sorted(entries())
    assert sum(len(e) for e in {id(e): e for e in RANGES.values()}.values()) == len(entries())


def test_every_entry_has_a_title_and_an_explanation() -> None:
    for code, (title, explanation) in entries().items():
        assert title, code
        assert not title.endswith("."), code
        assert len(explanation.split()) >= 8, code


def test_explain_gives_title_and_explanation_whatever_the_case() -> None:
    title, explanation = entries()["DSL0102"]
    assert explain("dsl0102") == f"DSL0102: {title}\n\n{explanation.strip()}\n"


def test_an_unknown_code_is_not_explained_but_a_similar_one_is_named() -> None:
    assert explain("DSL9999") is None
    assert similar_code("DSLO102") == "DSL0102"
    assert similar_code("nonsense") is None


def test_a_code_defined_twice_is_refused() -> None:
    one, two = {"DSL0001": ("a", "b")}, {"DSL0001": ("c", "d")}
    with pytest.raises(ValueError, match="defined twice"):
        join([("DSL00", one), ("DSL00", two)])


def test_a_code_outside_its_range_is_refused() -> None:
    for code in ("DSL0301", "DSL001", "DSL00011", "X"):
        with pytest.raises(ValueError, match="outside the range"):
            join([("DSL00", {code: ("a", "b")})])
