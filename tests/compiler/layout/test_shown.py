"""Layouts as text tables, SVG and words."""

import re
import xml.etree.ElementTree as ET

import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.layout import (
    Layout,
    compare,
    describe,
    local,
    locate,
    parse_layout,
    render_svg,
    render_text,
    replicate,
    spatial,
    swizzle,
)
from dslc.compiler.targets import TARGETS
from hypothesis import given
from hypothesis import strategies as st

LAYOUT = st.from_type(Layout)
BANKS = TARGETS["cuda:sm_90a"].banks
SVG = "{http://www.w3.org/2000/svg}"


def test_a_table_says_who_holds_what():
    assert render_text(spatial(2, 1).local(1, 2)) == "    0   1\n0 0:0 0:1\n1 1:0 1:1\n"
    assert render_text(local(3)) == "  0 1 2\n0 0 1 2\n"
    panels = render_text(local(2, 1, 1).spatial(1, 2, 2))
    assert panels.startswith("[0, :, :]\n")
    assert "\n\n[1, :, :]\n    0   1\n0 0:1 1:1\n1 2:1 3:1\n" in panels
    assert "0,1,2,3,..:1" in render_text(replicate(6).local(2))


def test_a_large_table_is_cut_and_says_so():
    text = render_text(local(4, 70), limit=8)
    assert text.endswith("(the first 8 of 70 along axis 1)\n")
    assert len(text.splitlines()[0].split()) == 8


def test_colours_are_those_of_the_threads():
    text = render_text(spatial(2, 2), color=True)
    assert len(set(re.findall(r"\x1b\[48;5;\d+", text))) == 4
    assert re.sub(r"\x1b\[[\d;]*m", "", text) == render_text(spatial(2, 2))


def cells(svg: str) -> list[str]:
    root = ET.fromstring(svg)
    labels = [e.text for e in root.iter(f"{SVG}text") if e.get("class") == "c"]
    assert len(labels) == sum(1 for e in root.iter(f"{SVG}rect") if e.get("class") == "c")
    return labels


@given(LAYOUT)
def test_every_element_has_its_cell(f):
    labels = cells(render_svg(f))
    assert len(labels) == f.elements
    assert sorted(int(x.split(":")[-1]) for x in labels) == sorted(
        locate(f, f.index(t, i))[1]
        for t in range(f.threads)
        for i in range(f.locals)
        if locate(f, f.index(t, i))[0][0] == t
    )


def test_a_picture_has_a_title_and_escapes_it():
    svg = render_svg(local(2), title="a < b & c")
    assert ET.fromstring(svg).find(f"{SVG}title").text == "a < b & c"


def test_banks_colour_a_memory():
    def colours(svg):
        return [e.get("fill") for e in ET.fromstring(svg).iter(f"{SVG}rect") if e.get("class")]

    plain = colours(render_svg(local(8, 8), banks=BANKS, bits=128))
    assert len(set(plain)) == 8
    assert len(set(plain[::8])) == 1  # a column lies in one bank
    moved = colours(render_svg(swizzle(local(8, 8), dim=1), banks=BANKS, bits=128))
    assert len(set(moved[::8])) == 8


def test_a_picture_too_large_is_refused():
    with pytest.raises(DiagnosticError, match="DSL0315"):
        render_svg(local(1 << 10, 1 << 10))


def test_a_description_has_the_measures():
    f = parse_layout("spatial(8, 4).local(1, 8)")
    text = describe(f, bits=16, memory=local(8, 32), banks=BANKS)
    assert "shape     8 x 32\n" in text
    assert "threads   32\n" in text
    assert "elements  8 per thread, 128 bits\n" in text
    assert "access    8 elements, 128 bits at once, in memory local(8, 32)\n" in text
    assert "load      free of bank conflicts: 4 cycles for 4 phases\n" in text
    assert "copies    each element is in 4 threads\n" in describe(replicate(4).local(2))


def test_conflicts_are_in_the_description():
    text = describe(spatial(32, 1).local(1, 2), bits=32, memory=local(32, 2), banks=BANKS)
    assert "load      free" in text
    column = describe(spatial(2, 32).local(32, 1), bits=32, memory=local(64, 32), banks=BANKS)
    assert "load      free" in column
    stride = describe(spatial(64).local(16), bits=32, memory=local(1024), banks=BANKS)
    assert "load      4-way conflicts: 128 cycles for 32 phases\n" in stride
    rows = describe(spatial(32, 1).local(1, 32), bits=8, memory=local(32, 32), banks=BANKS)
    assert "load      2-way conflicts: 16 cycles for 8 phases\n" in rows


@given(LAYOUT, LAYOUT)
def test_two_layouts_compare(f, g):
    text = compare(f, g)
    assert ("equal           yes" in text) == (f == g)
    assert ("differ at" in text) == (f.shape == g.shape and f != g)


def test_a_comparison_names_what_moves():
    c = parse_layout("local(2, 1).spatial(8, 4).local(1, 2)")
    text = compare(c, spatial(8, 4).local(2, 2))
    assert "(1, 0) is element 0 of thread 4, then element 2 of thread 0" in text
    assert "by shuffles within each warp of 32 threads" in text
    assert "first / second  local(2, 1)" in compare(c, spatial(8, 4).local(1, 2))
    assert "different shapes" in compare(c, local(2))
    assert "(0,) is element 0 of thread 0, then element 0 of threads 0, 1" in compare(
        local(2), replicate(2).local(2)
    )
