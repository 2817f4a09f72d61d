from __future__ import annotations

import json
import re
from pathlib import Path

from dslc.compiler.diagnostics import Diagnostic, Label, Loc, Severity
from dslc.compiler.diagnostics.render import render
from dslc.compiler.diagnostics.snippet import width
from hypothesis import given, settings
from hypothesis import strategies as st

SOURCE = "first = 1\n\tsecond = 2\n日本 = x + 1\n"
SOURCES = {"a.tile": SOURCE}


def at(line: int, col: int, end_line: int = 0, end_col: int = 0, file: str = "a.tile") -> Loc:
    return Loc(file, line, col, end_line, end_col)


def shown(loc: Loc | None, source: str = SOURCE, **fields: object) -> str:
    found = Diagnostic("DSL0201", "what is wrong", loc, **fields)  # type: ignore[arg-type]
    return render([found], sources={"a.tile": source})


def test_the_parts_of_a_diagnostic() -> None:
    label = Label(at(1, 1, 1, 6), "defined here")
    text = shown(at(3, 6, 3, 11), hint="what to do", labels=(label,), severity=Severity.WARNING)
    assert text == (
        "warning[DSL0201]: what is wrong\n"
        " --> a.tile:3:6\n"
        "  |\n"
        "3 | 日本 = x + 1\n"
        "  |        ^^^^^\n"
        " ::: a.tile:1:1\n"
        "  |\n"
        "1 | first = 1\n"
        "  | ----- defined here\n"
        "hint: what to do\n"
    )


def test_without_a_place_there_is_the_message_alone() -> None:
    assert shown(None) == "error[DSL0201]: what is wrong\n"


def test_tabs_are_shown_as_spaces() -> None:
    assert "2 |     second = 2\n  |     ^^^^^^\n" in shown(at(2, 2, 2, 8))


def test_wide_characters_take_two_columns() -> None:
    assert "3 | 日本 = x + 1\n  | ^^^^\n" in shown(at(3, 1, 3, 3))


def test_combining_characters_take_no_column() -> None:
    assert "  |     ^\n" in shown(at(1, 6, 1, 7), "e\u0301 = x")


def test_a_span_over_several_lines_is_marked_to_the_end_of_its_first() -> None:
    assert "1 | f(a,\n  | ^^^^\n" in shown(at(1, 1, 2, 3), "f(a,\n b)")


def test_a_place_at_the_end_of_the_line_is_marked_behind_it() -> None:
    assert "1 | first = 1\n  |          ^\n" in shown(at(1, 10, 1, 10))


def test_places_outside_of_the_source_are_told_without_it() -> None:
    assert shown(at(99, 1)) == "error[DSL0201]: what is wrong\n  --> a.tile:99:1\n"
    assert shown(at(1, 1, file="no such file")).count("\n") == 2
    assert "^" in shown(at(1, 999, 1, 1000))


def test_long_lines_are_cut_around_the_place() -> None:
    source = "x" * 5000 + " + y + " + "z" * 5000
    text = shown(at(1, 5004, 1, 5005), source)
    line, marks = text.split("\n")[3:5]
    assert len(line) < 110
    assert line[4] == line[-1] == "…"
    assert line[marks.index("^")] == "y"


def test_control_characters_do_not_reach_the_terminal() -> None:
    text = shown(at(1, 1, 1, 2), "\x1b[31m\x07\u202e = 1", hint="\x1b[0m")
    assert not re.search("[\x00-\x09\x0b-\x1f\u202e]", text)


def test_colour_is_around_the_same_text() -> None:
    found = [Diagnostic("DSL0201", "wrong", at(1, 1, 1, 6), "do", (Label(at(2, 2), "here"),))]
    colored = render(found, sources=SOURCES, color=True)
    assert re.sub("\x1b\\[[0-9;]*m", "", colored) == render(found, sources=SOURCES)
    assert "\x1b[1;31merror[DSL0201]" in colored


def test_diagnostics_are_apart_by_an_empty_line() -> None:
    found = [Diagnostic("DSL0201", "one"), Diagnostic("DSL0202", "two")]
    assert render(found) == "error[DSL0201]: one\n\nerror[DSL0202]: two\n"
    assert render([]) == ""


def test_a_file_that_was_not_given_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.tile"
    path.write_bytes(b"first\r\nsecond \xff line\r\n")
    text = render([Diagnostic("DSL0201", "wrong", at(2, 1, 2, 7, str(path)))])
    assert "2 | second � line\n  | ^^^^^^\n" in text


@given(
    st.text(max_size=300),
    *[st.integers(-2, 310)] * 4,
)
@settings(max_examples=200)
def test_any_place_in_any_text_can_be_shown(
    source: str, line: int, col: int, end_line: int, end_col: int
) -> None:
    text = shown(at(line, col, end_line, end_col), source)
    assert all(width(shown_line) < 120 for shown_line in text.split("\n"))


def test_json_has_one_object_a_line_with_all_fields() -> None:
    label = Label(at(1, 1), "here")
    found = [
        Diagnostic("DSL0201", "one", at(3, 1, 3, 3), "hint", (label,)),
        Diagnostic("DSL0202", "two", severity=Severity.NOTE),
    ]
    one, two = map(json.loads, render(found, format="json").splitlines())
    assert one == {
        "code": "DSL0201",
        "severity": "error",
        "message": "one",
        "hint": "hint",
        "file": "a.tile",
        "line": 3,
        "col": 1,
        "end_line": 3,
        "end_col": 3,
        "labels": [
            {"text": "here", "file": "a.tile", "line": 1, "col": 1, "end_line": 0, "end_col": 0}
        ],
    }
    assert (two["severity"], two["file"], two["labels"], set(two)) == ("note", None, [], set(one))


def sarif(*found: Diagnostic) -> dict[str, object]:
    log = json.loads(render(found, format="sarif"))
    assert isinstance(log, dict)
    return log


def test_sarif_has_what_its_schema_requires() -> None:
    """SARIF 2.1.0: 3.13 (log), 3.14 (run), 3.18 (tool), 3.27 (result), 3.30 (region)."""
    place = at(3, 1, 3, 3, "dir with space/ä.tile")
    log = sarif(
        Diagnostic("DSL0102", "one", place, "do this", (Label(at(1, 1), "here"),)),
        Diagnostic("DSL0101", "two", severity=Severity.WARNING),
        Diagnostic("DSL0102", "three", at(1, 1, 1, 6, "/abs/a.tile")),
    )
    assert log["version"] == "2.1.0"
    assert str(log["$schema"]).endswith("sarif-schema-2.1.0.json")
    (run,) = log["runs"]  # type: ignore[misc]
    assert run["columnKind"] in ("utf16CodeUnits", "unicodeCodePoints")
    driver = run["tool"]["driver"]
    assert driver["name"] == "dslc"
    assert [rule["id"] for rule in driver["rules"]] == ["DSL0101", "DSL0102"]
    assert all(rule["shortDescription"]["text"] for rule in driver["rules"])
    for result in run["results"]:
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("none", "note", "warning", "error")
        assert result["message"]["text"]
    one, two, three = run["results"]
    assert one["message"]["text"] == "one\nhint: do this"
    physical = one["locations"][0]["physicalLocation"]
    assert physical == {
        "artifactLocation": {"uri": "dir%20with%20space/%C3%A4.tile"},
        "region": {"startLine": 3, "startColumn": 1, "endLine": 3, "endColumn": 3},
    }
    (related,) = one["relatedLocations"]
    assert related["message"]["text"] == "here"
    assert related["physicalLocation"]["region"] == {"startLine": 1, "startColumn": 1}
    assert "locations" not in two
    assert (
        three["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "file:///abs/a.tile"
    )


def test_sarif_of_no_diagnostics_is_a_run_without_results() -> None:
    (run,) = sarif()["runs"]  # type: ignore[misc]
    assert run["results"] == []
