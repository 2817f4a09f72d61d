"""Text: str parses back, and what is no layout says so."""

import pickle

import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.layout import (
    LAYOUT_FUNCTIONS,
    Layout,
    call_layout_function,
    chain_layout,
    local,
    modes,
    parse_layout,
    replicate,
    swizzle,
)
from dslc.compiler.layout.printing import format_modes
from hypothesis import given
from hypothesis import strategies as st

LAYOUT = st.from_type(Layout)


@given(LAYOUT)
def test_str_parses_back_to_an_equal_layout(f):
    assert parse_layout(str(f)) == f
    assert parse_layout(format_modes(f)) == f


@given(LAYOUT)
def test_pickle_keeps_the_layout(f):
    assert pickle.loads(pickle.dumps(f)) == f


@pytest.mark.parametrize(
    "text",
    [
        "local(2, 1).spatial(8, 4).local(1, 2)",
        "column_local(2, 2).spatial(8, 4).local(1, 2)",
        "local(2, 1).column_spatial(4, 8).local(2, 1)",
        "spatial(4, 1).local(1, 4).local(2, 1).spatial(8, 4).local(1, 2)",
        "local(1, 2).swizzle(local(16, 4), dim=1, log_step=1).local(1, 8)",
        "replicate(4).local(1, 4)",
        "replicate(3, rank=2)",
        "local(3)",
        "modes([2, 2, 2], local=[[2, 0, 1], [2, 2, 1], [2, 1, 1]])",
    ],
)
def test_primitive_chains_are_preferred(text):
    printed = str(parse_layout(text))
    assert parse_layout(printed) == parse_layout(text)
    if "modes" not in text:
        assert "modes" not in printed


def test_the_usual_chains_print_as_they_are_written():
    for text in (
        "local(2, 1).spatial(8, 4).local(1, 2)",
        "column_local(2, 2).spatial(8, 4).local(1, 2)",
        "local(2, 1).column_spatial(4, 8).local(2, 1)",
        "local(1, 2).swizzle(local(16, 4), dim=1, log_step=1).local(1, 8)",
    ):
        assert str(parse_layout(text)) == text


def test_what_no_chain_gives_prints_as_modes():
    # The digit with the larger step is the faster one in both sides: no factor can come last.
    f = modes([4, 4], spatial=[[2, 0, 1], [2, 1, 2]], local=[[2, 1, 1], [2, 0, 2]])
    assert str(f).startswith("modes(")
    assert parse_layout(str(f)) == f


def test_operators_are_functions_of_the_text():
    assert parse_layout("local(2, 4) / local(1, 2)") == local(2, 2)
    assert parse_layout("local(2) * spatial(2 * 8 // 4)") == local(2).spatial(4)
    assert parse_layout("reduce(spatial(1, 1, 4), dims=[2]).local(1, 4)") == replicate(4).local(
        1, 4
    )
    assert parse_layout("local(3, 1).swizzle(local(4, 4), dim=-1)") == local(3, 1) * swizzle(
        local(4, 4)
    )
    assert parse_layout("permute(inverse(local(4)), [1, 0])").shape == (4, 1)
    assert set(LAYOUT_FUNCTIONS) >= {"local", "spatial", "reduce", "broadcast", "swizzle", "modes"}
    assert chain_layout(local(2), "spatial", [4], {}) == local(2).spatial(4)
    assert call_layout_function("replicate", [4], {"rank": 2}) == replicate(4, 2)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "DSL0310"),
        ("4", "DSL0310"),
        ("local(2", "DSL0310"),
        ("local(x)", "DSL0310"),
        ("local(2).__class__", "DSL0310"),
        ("(1).local(2)", "DSL0310"),
        ("local(1 // 0)", "DSL0310"),
        ("local(2) ** 2", "DSL0310"),
        ("local(**{})", "DSL0310"),
        ("lambda: 0", "DSL0310"),
        ("__import__(0)", "DSL0311"),
        ("locla(2)", "DSL0311"),
        ("local(2, bits=3)", "DSL0311"),
        ("reduce(3, dims=[0])", "DSL0311"),
        ("reduce(local(2), dims=0)", "DSL0311"),
        ("local(-2)", "DSL0300"),
        ("local(True)", "DSL0300"),
        ("local([2])", "DSL0300"),
        ("local(" * 100 + "1" + ")" * 100, "DSL0310"),
        ("local(1)" + ".local(1)" * 2000, "DSL0310"),
        ("local(1)" + ".local(1)" * 100, "DSL0310"),
        ("local(9" + "*9999999999" * 40 + ")", "DSL0310"),
    ],
)
def test_what_is_no_layout_says_so(text, expected):
    with pytest.raises(DiagnosticError) as raised:
        parse_layout(text)
    assert raised.value.diagnostics[0].code == expected


@given(st.text(alphabet="localspti(),. 0123[]*/=\"'", max_size=40))
def test_any_text_parses_or_is_a_diagnostic(text):
    try:
        assert isinstance(parse_layout(text), Layout)
    except DiagnosticError as found:
        codes = [d.code[:5] for d in found.diagnostics]
    else:
        codes = ["DSL03"]
    assert codes == ["DSL03"]
