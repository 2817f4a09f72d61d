"""Whatever the source is, there is a located error, soon, and never a traceback."""

from __future__ import annotations

import gc
import time

import pytest
from dslc.compiler.diagnostics import Diagnostic, DiagnosticError
from dslc.compiler.diagnostics.catalogue import entries
from dslc.frontend import parse_tile, print_module, tree
from hypothesis import given, settings
from hypothesis import strategies as st

from support.generated.random_tree import modules

HEAD = "kernel k(x: f32[N], y: out f32[N]):\n"
BIG = 16 << 20


def fails(source: str) -> set[str]:
    with pytest.raises(DiagnosticError) as caught:
        parse_tile(source, "test")
    for diagnostic in caught.value.diagnostics:
        assert diagnostic.loc is not None
        assert diagnostic.code in entries()
    return {d.code for d in caught.value.diagnostics}


def nested_ifs(depth: int) -> str:
    return (
        HEAD + "".join(f"{' ' * (i + 4)}if x:\n" for i in range(depth)) + " " * (depth + 4) + "pass"
    )


HOSTILE = {
    "100 MB": ("x" * (100 << 20), "DSL0001"),
    "one long line": (HEAD + "    y = " + "a" * (1 << 20), "DSL0001"),
    "words": ("a b c d e f g\n" * (BIG // 14), "DSL0101"),
    "words in a kernel": (HEAD + "    a b c d e f\n" * (BIG // 20), "DSL0101"),
    "open brackets": (HEAD + "    y = " + "(" * 10_000, "DSL0012"),
    "brackets": (HEAD + "    y = " + "(" * 10_000 + "1" + ")" * 10_000, "DSL0012"),
    "subscripts": (HEAD + "    y = x" + "[0]" * 10_000, "DSL0012"),
    "calls": (HEAD + "    y = f" + "()" * 10_000, "DSL0012"),
    "attributes": (HEAD + "    y = f" + ".f" * 10_000, "DSL0012"),
    "a sum": (HEAD + "    y = 1" + " + 1" * 10_000, "DSL0012"),
    "powers": (HEAD + "    y = 1" + " ** 1" * 10_000, "DSL0012"),
    "signs": (HEAD + "    y = " + "-" * 10_000 + "1", "DSL0012"),
    "nots": (HEAD + "    y = " + "not " * 10_000 + "1", "DSL0012"),
    "choices": (HEAD + "    y = " + "1 if 1 else " * 5_000 + "1", "DSL0012"),
    "ifs": (nested_ifs(5_000), "DSL0012"),
    "elifs": (HEAD + "    if x: pass\n" + "    elif x: pass\n" * 10_000, "DSL0012"),
    "loops in one line": (HEAD + "    " + "for i in range(3): " * 1_000 + "pass", "DSL0101"),
    "NUL": ("\0" * 1_000, "DSL0004"),
    "NULs in lines": ("\0\n" * 1_000_000, "DSL0004"),
    "controls": ("\x01\x02\x03" * 10_000, "DSL0004"),
    "a string": (HEAD + '    """' + "\n" * (BIG - 100), "DSL0005"),
    "strings": (HEAD + "    y = 'a\n" * 100_000, "DSL0005"),
    "a long number": (HEAD + "    y = " + "9" * 60_000, "DSL0006"),
    "quotes": ('"' * 1_000_001, "DSL0001"),
    "backslashes": ("\\\n" * 1_000_000 + "x", "DSL0101"),
    "dedents": (HEAD + "        a = 1\n       b = 2\n" * 100_000, "DSL0009"),
    "surrogates": ("\ud800" * 100, "DSL0004"),
    "nothing but open lines": ("kernel k(\n" * 100_000, "DSL0010"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_sources_fail_soon_and_with_a_place(case: str) -> None:
    source, code = HOSTILE[case]
    gc.collect()  # what other tests left is not this one's time
    start = time.process_time()
    assert code in fails(source)
    assert time.process_time() - start < 2


def assert_sound(text: str) -> None:
    """The text has a tree, or errors that have places and are in the catalogue."""
    found: tuple[Diagnostic, ...] = ()
    try:
        parse_tile(text, "test")
    except DiagnosticError as caught:
        found = caught.diagnostics
        assert found
    assert all(d.loc and d.code in entries() for d in found)


@given(st.text(max_size=200))
@settings(max_examples=200)
def test_any_text_gives_a_tree_or_located_errors(text: str) -> None:
    assert_sound(text)


@given(modules, st.data())
@settings(max_examples=100)
def test_a_damaged_program_gives_a_tree_or_located_errors(
    module: tree.Module, data: st.DataObject
) -> None:
    text = print_module(module)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 8)))
    marks = [
        "",
        "(",
        ")",
        "]",
        ":",
        "\n",
        "    ",
        "'",
        '"""',
        "if",
        "kernel ",
        "=",
        "\t",
        "\\",
        "1e",
    ]
    damaged = text[:start] + data.draw(st.sampled_from(marks)) + text[end:]
    assert_sound(damaged)


def test_deep_but_allowed_nesting() -> None:
    text = nested_ifs(40) + "\n    y = " + "(" * 90 + "1" + ")" * 90 + " + 1" * 90
    module = parse_tile(text, "test")
    assert parse_tile(print_module(module), "test") == module


def test_two_thousand_lines_are_parsed_within_a_second() -> None:
    statements = (
        "    for k in range(0, K, 64):\n"
        "        q = cast(w[k : k + 64, n : n + 64], f16) - 8\n"
        "        acc += dot(a[m : m + 16, k : k + 64], q * s[k // 128, n : n + 64])\n"
        "    c[m : m + 16, n : n + 64] = cast(acc, f16)\n"
    )
    source = HEAD + statements * 500
    parse_tile(HEAD + statements, "test")  # the tables are read once a process
    start = time.process_time()
    parse_tile(source, "test")
    assert time.process_time() - start < 1
