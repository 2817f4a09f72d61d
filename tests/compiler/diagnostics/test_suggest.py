from __future__ import annotations

from dslc.compiler.diagnostics import did_you_mean, suggest
from hypothesis import given
from hypothesis import strategies as st

WORDS = ["kernel", "program", "sigmoid", "BM", "x"]


def test_a_misspelt_name_is_near_its_word() -> None:
    for name in ("kernal", "Kernel", "krenel"):
        assert suggest(name, WORDS) == "kernel"
    assert suggest("sigmoyd", WORDS) == "sigmoid"
    assert did_you_mean("bm", WORDS) == "did you mean `BM`?"


def test_a_name_that_is_near_to_none_has_no_suggestion() -> None:
    assert suggest("transpose", WORDS) is None
    assert suggest("y", WORDS) is None
    assert did_you_mean("zzz", WORDS) is None
    assert suggest("a" * 100_000, ["a" * 100_001] * 10) is None


@given(st.text(), st.lists(st.text()))
def test_a_suggestion_is_another_one_of_the_candidates(name: str, candidates: list[str]) -> None:
    found = suggest(name, candidates)
    assert found is None or (found in candidates and found != name)
