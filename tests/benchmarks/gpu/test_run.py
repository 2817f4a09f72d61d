"""The command: which cases it chooses, and how it goes on after a process that breaks or hangs."""

from __future__ import annotations

import json
import sys
import textwrap
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from gpu import libraries, run
from gpu.cases import Case
from gpu.results import Results

CASES = [Case("quantized", weight, {"M": 1, "N": 64, "K": 128}) for weight in ("u1", "u2", "u3")]


def test_options_choose_cases() -> None:
    given = [
        "--section",
        "quantized,grid",
        "--shapes",
        "64x128",
        "--rows",
        "1,3",
        "--weights",
        "u4,i6",
    ]
    chosen = run.chosen(run.arguments(given))
    assert [c.label for c in chosen["quantized"]] == [
        f"{w} f16 M={m}, N=128, K=64" for w in ("u4", "i6") for m in (1, 3)
    ]
    assert {c.dims["M"] for c in chosen["grid"]} == {1, 3}


def test_bars_alone() -> None:
    chosen = run.chosen(run.arguments(["--bars", "--section", "quantized,dense,attention,rows"]))
    assert len(chosen["quantized"]) == 4 * 5 * 9
    assert len(chosen["dense"]) == 2 * (4 * 5 + 1)
    assert {c.name for c in chosen["attention"]} == {"causal"}
    assert len(chosen["rows"]) == 6


def test_every_library_of_a_section_names_a_function() -> None:
    here = Path(run.__file__).parent
    for section in run.chosen(run.arguments([])):
        for place in libraries.LIBRARIES[section].values():
            module, _, function = place.partition(":")
            text = here.joinpath(*module.split(".")[1:]).with_suffix(".py").read_text()
            assert f"def {function}(" in text


def workers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, body: str, first: str = "tell(versions={})"
) -> None:
    """Measure with a script in the place of worker.py: `body` treats `case`, `tell` prints."""
    script = tmp_path / "worker.py"
    script.write_text(
        "import json, sys, time\n"
        "def tell(**record): print('@@result ' + json.dumps(record), flush=True)\n"
        f"{first}\n"
        "for case in json.load(sys.stdin):\n" + textwrap.indent(textwrap.dedent(body), "    ")
    )
    monkeypatch.setattr(run, "HERE", tmp_path / "a" / "b")
    (tmp_path / "a" / "b").mkdir(parents=True)
    script.rename(tmp_path / "a" / "b" / "worker.py")


def measured(todo: Sequence[Case] = CASES, patience: float = 30.0) -> list[tuple[str, Any]]:
    results = Results()
    run.measure(results, "quantized", "dslc", list(todo), patience, time.monotonic() + 60)
    return [(r["case"]["name"], r.get("failure", r.get("us"))) for r in results.records]


def test_a_record_for_each_case(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    workers(monkeypatch, tmp_path, "tell(case=case, us=1.0)")
    assert measured() == [("u1", 1.0), ("u2", 1.0), ("u3", 1.0)]


def test_a_broken_gpu_gets_a_new_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    body = """
        if case["name"] == "u2":
            tell(case=case, failure="illegal address")
            sys.exit(3)
        tell(case=case, us=1.0)
    """
    workers(monkeypatch, tmp_path, body)
    assert measured() == [("u1", 1.0), ("u2", "illegal address"), ("u3", 1.0)]


def test_a_process_that_dies_costs_its_case_only(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    workers(
        monkeypatch, tmp_path, "sys.exit(9) if case['name'] == 'u2' else tell(case=case, us=1.0)"
    )
    assert measured() == [("u1", 1.0), ("u2", "the process ended"), ("u3", 1.0)]


def test_a_hang_ends_after_the_patience(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    body = "time.sleep(60) if case['name'] == 'u2' else tell(case=case, us=1.0)"
    workers(monkeypatch, tmp_path, body)
    assert measured(patience=1.5) == [("u1", 1.0), ("u2", "no result in 1.5 s"), ("u3", 1.0)]


def test_a_library_that_is_not_installed_fails_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    workers(monkeypatch, tmp_path, "pass", first="raise ImportError('no such library')")
    assert measured() == [("u1", "the process ended")]


def test_each_case_that_ends_its_process_costs_itself_only(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    body = "sys.exit(9) if case['name'] != 'u3' else tell(case=case, us=1.0)"
    workers(monkeypatch, tmp_path, body)
    ended = "the process ended"
    assert measured() == [("u1", ended), ("u2", ended), ("u3", 1.0)]


def test_tables_from_a_file_need_no_gpu(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = Results({"date": "2026-01-02"})
    results.add("dslc", {"case": CASES[0].to_data(), "us": 2.5, "error": 1e-4})
    results.save(tmp_path / "raw.json")
    written = tmp_path / "out.md"
    monkeypatch.setattr(
        sys, "argv", ["run.py", "--from", str(tmp_path / "raw.json"), "--markdown", str(written)]
    )
    run.main()
    assert "| u1 | 128 x 64 | 1 | 2.5 |" in written.read_text()
    assert written.read_text() in capsys.readouterr().out
    assert json.loads((tmp_path / "raw.json").read_text())["machine"] == {"date": "2026-01-02"}
