"""Which tune choices are tried."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from dslc.calls.launch_options import OPTIONS
from gpu.ours import candidates, kernels
from gpu.ours.candidates import LISTED, choices
from gpu.ours.kernels import EXAMPLES, library


@pytest.mark.parametrize(
    ("rows", "bound"), [(1, "8"), (9, "16"), (16, "16"), (17, "64"), (64, "64"), (65, "")]
)
def test_a_list_serves_up_to_its_number_of_rows(rows: int, bound: str) -> None:
    assert choices("gemm_quantized", rows, "listed") == [*LISTED["gemm_quantized"][bound], {}]


def test_what_has_no_list_takes_the_default() -> None:
    assert choices("gemm_w4a8_group", 1, "listed") == [{}]
    assert choices("gemm", 1, "default") == choices("gemm", 1, "tune") == [{}]


def test_a_file_of_choices(tmp_path: Path) -> None:
    path = tmp_path / "choices.json"
    path.write_text(json.dumps({"gemm": {"64": [{"BM": 16}], "": [{"BM": 128}, {"BM": 64}]}}))
    assert choices("gemm", 64, str(path)) == [{"BM": 16}]
    assert choices("gemm", 100, str(path)) == [{"BM": 128}, {"BM": 64}]
    assert choices("softmax", 100, str(path)) == [{}]


def test_the_tuner_gets_the_dims_of_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    class Tuned:
        dims = ("M", "K")

        def tune(self, **named: object) -> None:
            calls.append(named)

    monkeypatch.setenv("DSLC_BENCH_CONFIG", "tune")
    monkeypatch.setattr(kernels, "library", lambda file, define, machine: {"gemm": Tuned()})
    monkeypatch.setattr(kernels, "target", lambda: "cuda:sm_90a")
    monkeypatch.setattr(kernels, "build", lambda what, machine: (what, machine))
    sizes = {"M": 16, "K": 64, "S": 16}
    what = kernels.job("gemm", "gemm", {"T": "f16"}, sizes, {})
    assert kernels.best([what], lambda made: print, 1) == (what, "cuda:sm_90a")
    assert calls == [{"M": 16, "K": 64, "budget": kernels.TUNING_SECONDS, "repack": True}]


def test_the_command_line_reaches_the_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DSLC_BENCH_CONFIG", "default")
    assert candidates.given() == "default"


@pytest.mark.parametrize("kernel", LISTED)
def test_every_listed_choice_is_offered_by_its_kernel(kernel: str) -> None:
    tunes = library(kernels.FILES.get(kernel, kernel), (), "interp")[kernel].tunes
    for listed in LISTED[kernel].values():
        for choice in listed:
            named = {name: value for name, value in choice.items() if name not in OPTIONS}
            assert all(value in tunes[name] for name, value in named.items())


def test_the_sources_of_the_benchmark_alone_compile() -> None:
    here = Path(candidates.__file__).parent
    full = library(str(here / "attention_full"), (), "interp")["attention"]
    assert set(full.tunes) == set(library("attention", (), "interp")["attention"].tunes)
    assert len(library(str(here / "eight"), (), "interp")["eight"].parameters) == 8
    assert (EXAMPLES / "gemm.tile").exists()
