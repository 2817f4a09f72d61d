"""`dslc check`: findings, their form and the exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from dslc.cli.main import run

GOOD = """
kernel scale(x: f32[N], y: out f32[N]):
    tune B = 16 | 64
    for n in parallel(range(0, N, B)):
        y[n : n + B] = x[n : n + B] * 2.0
"""
BAD = GOOD.replace("parallel", "paralel")
TEMPLATE = """
kernel whole(x: f32[M, H], y: out f32[M]):
    for m in parallel(range(0, M, 4)):
        y[m : m + 4] = sum(x[m : m + 4, 0:H], 1)
"""


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in (("good", GOOD), ("bad", BAD), ("whole", TEMPLATE)):
        (tmp_path / f"{name}.tile").write_text(text)
    return tmp_path


def test_a_good_file(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "good.tile"]) == 0
    captured = capsys.readouterr()
    assert captured.out == "ok good.tile\n"
    assert captured.err == ""


def test_quiet_says_nothing(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "-q", "good.tile", "whole.tile"]) == 0
    captured = capsys.readouterr()
    assert captured.out + captured.err == ""


def test_a_wrong_file_does_not_hide_the_others(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["check", "bad.tile", "missing.tile", "good.tile"]) == 1
    captured = capsys.readouterr()
    assert "ok good.tile" in captured.out
    assert "bad.tile:4:14" in captured.err
    assert "did you mean `parallel`?" in captured.err
    assert "missing.tile" in captured.err
    assert "Traceback" not in captured.err


def test_what_the_passes_refuse_is_found(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (files / "split.tile").write_text(
        "kernel decay(x: f32[M, N], y: out f32[M, 8]):\n"
        "    tune S = 1 | 2\n"
        "    for m in parallel(range(0, M, 4)):\n"
        "        v = zeros(f32, [4, 8])\n"
        "        for k in range(0, N, 8, split=S):\n"
        "            v = v * 0.5 + x[m : m + 4, k : k + 8]\n"
        "        y[m : m + 4, :] = v\n"
    )
    assert run(["check", "split.tile"]) == 1
    found = capsys.readouterr().err
    assert "DSL0512" in found
    assert "split.tile:5:9" in found


def test_a_sampled_dim_is_noted(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "whole.tile"]) == 0
    assert "checked with H = " in capsys.readouterr().err
    assert run(["check", "whole.tile", "-D", "H=48"]) == 0
    assert capsys.readouterr().err == ""


def test_json_is_a_list_of_findings(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "bad.tile", "good.tile", "--diagnostics", "json"]) == 1
    captured = capsys.readouterr()
    assert captured.err == ""
    text = captured.out
    assert "DSL0215" in text
    json.loads(text if text.lstrip().startswith("[") else text.splitlines()[0])


def test_sarif_is_one_document_even_without_findings(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, code, count in (("good", 0, 0), ("bad", 1, 1)):
        assert run(["check", f"{name}.tile", "--diagnostics", "sarif"]) == code
        document = json.loads(capsys.readouterr().out)
        assert document["version"] == "2.1.0"
        assert len(document["runs"][0]["results"]) == count


@pytest.mark.parametrize("value", ["K", "K=", "=4", "K=4k", "1K=4"])
def test_definitions_that_cannot_be_read(
    value: str, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["check", "good.tile", "-D", value]) == 2
    assert "DSL0910" in capsys.readouterr().err


def test_an_unknown_definition(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "good.tile", "-D", "BLOCK=4"]) == 1
    assert "BLOCK" in capsys.readouterr().err


def test_every_choice_is_tried(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (files / "choice.tile").write_text(GOOD.replace("* 2.0", "+ zeros(f32, [16])"))
    assert run(["check", "choice.tile"]) == 1  # 64 does not fit 16
    assert "choice.tile:5" in capsys.readouterr().err
    assert run(["check", "choice.tile", "-D", "B=16"]) == 0


def test_no_file_is_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check"]) == 2


def test_a_folder_and_a_binary_are_no_sources(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (files / "binary.tile").write_bytes(bytes(range(256)))
    assert run(["check", ".", "binary.tile"]) == 1
    captured = capsys.readouterr()
    assert captured.err.count("error[") == 2


COINCIDENCES = {
    "a size of the source": (
        "kernel k(x: f32[M, N], y: out f32[M, N]):\n",
        "    for m in parallel(range(0, M, 16)):\n"
        "        y[m : m + 16, 0 : 16] = x[m : m + 16, 0 : 16] + x[m : m + 16, :]\n",
        "N == 16",
    ),
    "a tile's extent": (
        "kernel k(x: f32[M, N], y: out f32[M, N]):\n    tune BN = 128 | 32\n",
        "    for n in parallel(range(0, N, BN)):\n"
        "        y[:, n : n + BN] = x[:, n : n + BN] + zeros(f32, [64, BN])\n",
        "M == 64",
    ),
    "another dim": (
        "kernel k(x: f32[M, N], w: f32[M, K], y: out f32[M, K]):\n",
        "    for m in parallel(range(0, M, 16)):\n"
        "        y[m : m + 16, :] = x[m : m + 16, :] + w[m : m + 16, :]\n",
        "N == K",
    ),
    "rows and their sums": (
        "kernel k(x: f32[M, N], y: out f32[M, N]):\n",
        "    for p in parallel(range(0, 1)):\n        y[:, :] = x[:, :] - sum(x[:, :], 1)\n",
        "M == N",
    ),
}


@pytest.mark.parametrize("name", COINCIDENCES)
def test_shapes_that_fit_for_one_size_alone_are_refused(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    head, body, equality = COINCIDENCES[name]
    source = tmp_path / "k.tile"
    source.write_text(head + body)
    assert run(["check", str(source)]) == 1
    told = capsys.readouterr().err
    assert "DSL0203" in told
    assert "where it is meant for these alone" in told
    source.write_text(f"{head}    require {equality}\n{body}")
    assert run(["check", str(source)]) == 0


LARGE = """
kernel k(x: f32[M, N], y: out f32[M, N]):
    tune B = {choices}
    for m, n in parallel(range(0, M, B), range(0, N, B)):
        t = x[m : m + B, n : n + B]
        y[m : m + B, n : n + B] = t * sum(t)
"""
TARGETS = ("cuda:sm_90a", "hip:gfx942", "nki:trn2", "aie:npu2", "aarch64:all", "interp")


@pytest.mark.parametrize("target", TARGETS)
def test_a_target_without_its_toolchain_is_asked(
    target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))  # no nvcc, clang, or assembler
    source = tmp_path / "k.tile"
    source.write_text(LARGE.format(choices=32))
    assert run(["check", str(source), "-t", target]) == 0
    capsys.readouterr()


@pytest.mark.parametrize(("target", "code"), [("cuda:sm_80", "DSL0503"), ("aie:npu2", "DSL0553")])
def test_what_a_build_would_refuse_is_told_with_its_target(
    target: str, code: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "k.tile"
    source.write_text(LARGE.format(choices=1024))
    assert run(["check", str(source)]) == 0
    assert run(["check", str(source), "-t", "interp", "-t", target]) != 0
    told = capsys.readouterr().err
    assert code in told
    assert f"for {target}: " in told
    # A build takes another choice where one does not fit, and so does check.
    source.write_text(LARGE.format(choices="1024 | 32"))
    assert run(["check", str(source), "-t", target]) == 0
    capsys.readouterr()
