"""Marks in emitted texts: there where they are asked for, and of the right lines."""

from __future__ import annotations

from pathlib import Path

import dslc
import pytest
from dslc.codegen.cuda.tools.sass_lines import parse_sass
from dslc.codegen.line_marks import directed, line_marks, marked, unmarked, unmarked_assembly
from dslc.compiler.diagnostics import Loc

SOURCE = """\
kernel twice(x: f32[N], y: out f32[N]):
    for n in parallel(range(0, N, 64)):
        row = x[n : n + 64]
        for i in range(4):
            row = row * 2.0
        y[n : n + 64] = exp(row)
"""
FAMILIES = ["cuda:sm_80", "hip:gfx942", "nki:trn2"]


@pytest.mark.parametrize("target", [*FAMILIES, "cpu:x86-64-v3"])
def test_texts_have_no_marks_unasked(target: str) -> None:
    library = dslc.compile(SOURCE, target, cache=False)
    text = library.twice.specialize_for({"N": 1024}).source()
    assert "@line" not in text
    assert ".loc" not in text


@pytest.mark.parametrize("target", FAMILIES)
def test_marks_change_no_line(target: str) -> None:
    plain = dslc.compile(SOURCE, target, cache=False).twice.specialize_for({"N": 1024}).source()
    with line_marks():
        made = dslc.compile(SOURCE, target, cache=False).twice.specialize_for({"N": 1024})
        lines = unmarked(made.source())
    assert [line for line, _ in lines] == plain.splitlines()
    numbers = [place[1] for _, place in lines if place]
    assert {3, 5, 6} <= set(numbers)


def test_assembly_of_a_cpu_says_its_lines() -> None:
    with line_marks():
        made = dslc.compile(SOURCE, "cpu:x86-64-v3", cache=False).twice.specialize_for({"N": 1024})
        lines = unmarked_assembly(made.source("asm"))
    assert {5, 6} <= {place[1] for _, place in lines if place}
    assert not any(".loc" in line for line, _ in lines)


def test_marks_are_a_cache_entry_of_their_own(tmp_path: Path) -> None:
    with line_marks():
        assert "@line" in _text(tmp_path)
    assert "@line" not in _text(tmp_path)
    with line_marks():
        assert "@line" in _text(tmp_path)


def _text(cache: Path) -> str:
    library = dslc.compile(SOURCE, "cuda:sm_80", cache=cache)
    return str(library.twice.specialize_for({"N": 1024}).source())


def test_a_mark_is_the_last_of_its_line() -> None:
    loc = Loc("a b:3.tile", 7, 1)
    with line_marks():
        line = marked("  x = 1;", loc, "//")
        assert marked("y", Loc("a\nb", 1, 1), "//") == "y"
    assert unmarked(line) == [("  x = 1;", ("a b:3.tile", 7))]
    assert marked("  x = 1;", loc, "//") == "  x = 1;"


def test_files_and_places_of_assembly() -> None:
    text = '\t.file\t1 "" "a%20b.tile"\n\t.loc\t1 4 0 prologue_end\n\taddq\n\t.loc 1 0 0\n\tret\n'
    assert (
        unmarked_assembly(text)
        == [
            ('\t.file\t1 "" "a%20b.tile"', None),
            ("\taddq", ("a b.tile", 4)),
            ("\tret", None),
        ][1:]
    )


def test_sass_counts_for_the_line_that_calls() -> None:
    printed = """\
.text.k:
	//## File "/x/k.cu", line 9
        /*0000*/                   LDC R1, c[0x0][0x28] ;
	//## File "/x/k.cu", line 3 inlined at "/x/k.cu", line 12
	//## File "/x/k.cu", line 12
        /*0010*/              @!P0 LDG.E R2, desc[UR4][R2.64] ;
"""
    assert parse_sass(printed) == [
        ("k:", None),
        ("  0000  LDC R1, c[0x0][0x28]", 9),
        ("  0010  @!P0 LDG.E R2, desc[UR4][R2.64]", 12),
    ]


def test_lines_of_c_say_for_which_line_of_the_source_they_are() -> None:
    text = "int f() {\n  a();  //@line gemm.tile:3\n  {\n    b();  //@line gemm.tile:4\n  }\n}\n"
    assert directed(text).splitlines() == [
        "int f() {",
        '#line 3 "gemm.tile"',
        "  a();",
        '#line 3 "gemm.tile"',
        "  {",
        '#line 4 "gemm.tile"',
        "    b();",
        '#line 4 "gemm.tile"',
        "  }",
        '#line 4 "gemm.tile"',
        "}",
    ]
