"""Names in C: no two are the same, and none is a word of the language."""

from __future__ import annotations

import re

from dslc.codegen.c_family.writer import Writer
from dslc.codegen.quoting import C_WORDS
from hypothesis import given, settings
from hypothesis import strategies as st

_HINTS = st.sampled_from([*sorted(C_WORDS), "x", "x_1", "int_1", "1a", "", "größe", "tid"])


@given(st.lists(_HINTS, max_size=12))
@settings(max_examples=60)
def test_names_are_identifiers_that_nothing_else_is(hints: list[str]) -> None:
    writer = Writer()
    writer.reserve(["tid", "x_2"])
    found = [writer.name(hint) for hint in hints]
    assert len(set(found)) == len(found)
    assert not set(found) & {*C_WORDS, "tid", "x_2"}
    assert all(re.fullmatch(r"[A-Za-z_][A-Za-z_0-9]*", name) for name in found)


def test_a_word_of_c_is_no_name() -> None:
    assert Writer().name("register") not in C_WORDS
