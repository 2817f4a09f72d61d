"""Results to tables: what is measured, missing, skipped or failed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from gpu import table
from gpu.cases import Case
from gpu.results import Results

DECODE = Case("quantized", "u4", {"M": 1, "N": 8192, "K": 8192})


def record(case: Case, **figures: Any) -> dict[str, Any]:
    return {"case": case.to_data(), **figures}


@pytest.fixture
def results() -> Results:
    made = Results({"date": "2026-01-02", "name": "NVIDIA H200"})
    made.add("dslc", {"versions": {"torch": "2.11"}})
    made.add("dslc", record(DECODE, us=10.2, error=2.1e-4))
    made.add("humming", record(DECODE, us=15.4, error=2.2e-4))
    made.add("cublas f16", record(DECODE, us=36.9))
    return made


def cells(text: str, line: int = 2) -> list[str]:
    return [cell.strip() for cell in text.splitlines()[line].strip("|").split("|")]


def test_a_line_of_decode(results: Results) -> None:
    assert cells(table.quantized(results)) == [
        "u4", "8192 x 8192", "1", "10.2", "15.4", "19.7", "36.9", "1.51", "75%", "2.1e-04",
        "2.2e-04", "met",
    ]  # fmt: skip


def test_what_is_missing_is_a_dash(results: Results) -> None:
    case = Case("quantized", "u5", {"M": 4096, "N": 8192, "K": 8192})
    results.add("dslc", record(case, failure="RuntimeError: no"))
    line = cells(table.quantized(results), 3)
    assert line[3:] == ["-"] * 9
    assert "- dslc: u5 f16 M=4096, N=8192, K=8192: RuntimeError: no" in table.document(results)


def test_wrong_results_meet_no_bar(results: Results) -> None:
    results.add("dslc", record(DECODE, us=1.0, error=0.5))
    assert cells(table.quantized(results))[-1] == "wrong: error 5.0e-01"


def test_skipped_cases_leave_no_line(results: Results) -> None:
    case = Case("rows", "copy", {"M": 64, "N": 64}, "bf16")
    results.add("dslc", record(case, skipped=True))
    assert results.cases("rows") == []


def test_the_last_result_counts(results: Results) -> None:
    results.add("dslc", record(DECODE, us=14.0, error=2.1e-4))
    assert results.number(DECODE, "dslc") == 14.0
    assert len(results.cases("quantized")) == 1


def test_rows_are_held_against_the_copy() -> None:
    made = Results()
    size = 2 * 8192 * 8192 * 2
    copy, norm = (Case("rows", n, {"M": 8192, "N": 8192}, "bf16") for n in ("copy", "rmsnorm"))
    made.add("torch.compile", record(copy, us=65.0, bytes=size))
    made.add("torch.compile", record(norm, us=64.9, bytes=size))
    made.add("dslc", record(norm, us=80.0, bytes=size, error=1e-3))
    assert cells(table.row_kernels(made), 3)[-1] == "missed: under 85% of a copy"
    made.add("dslc", record(norm, us=64.0, bytes=size, error=1e-3))
    assert cells(table.row_kernels(made), 3)[-1] == "met"


def test_the_grid_counts_what_is_held() -> None:
    made = Results()
    for m, error in ((1, 2e-4), (3, 0.5)):
        case = Case("grid", "i6", {"M": m, "N": 64, "K": 128})
        made.add("dslc", record(case, error=error))
        made.add("humming", record(case, error=2e-4))
    assert cells(table.grid(made)) == ["i6", "1 of 2", "5.0e-01", "2.0e-04", "2", "missed"]


def test_launches_are_held_against_triton() -> None:
    made = Results()
    host = {"dslc": 4.0, "triton": 16.0, "torch.add(out=)": 15.0}
    made.add("dslc and triton", record(Case("launch", "8 tensors", {"N": 4096}, "f32"), host=host))
    assert cells(table.launch(made)) == ["dslc", "4.00", "0.25", "met"]
    assert cells(table.launch(made), 3)[-1] == "-"


def test_results_survive_the_file(results: Results, tmp_path: Path) -> None:
    results.save(tmp_path / "raw.json")
    again = Results.load(tmp_path / "raw.json")
    assert table.document(again) == table.document(results)
    both = Results.joined([again, Results.load(tmp_path / "raw.json")])
    assert table.quantized(both) == table.quantized(results)


def test_every_section_of_a_document_is_named(results: Results) -> None:
    text = table.document(results)
    assert text.startswith("date 2026-01-02; name NVIDIA H200; torch 2.11.")
    assert text.count("###") == 1
