"""`dslc build` and `dslc inspect`: packages, stages, and what the compiler knows."""

from __future__ import annotations

from pathlib import Path

import dslc
import numpy as np
import pytest
from dslc.cli.main import run
from dslc.codegen.cuda.tools.locate import find_library

SOURCE = """
kernel gemm(a: f16[M, K], w: u4[K, N], c: out f16[M, N]):
    tune BM = 16 | 32
    for m, n in parallel(range(0, M, BM), range(0, N, 32)):
        acc = zeros(f32, [BM, 32])
        for k in range(0, K, 32):
            acc += dot(a[m : m + BM, k : k + 32], cast(w[k : k + 32, n : n + 32], f16))
        c[m : m + BM, n : n + 32] = cast(acc, f16)


kernel rows(x: f32[M, H], y: out f32[M]):
    for m in parallel(range(0, M, 4)):
        y[m : m + 4] = sum(x[m : m + 4, 0:H], 1)
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DSLC_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "k.tile").write_text(SOURCE)
    return tmp_path


def test_a_package_runs_as_the_source_does(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["build", "k.tile", "-D", "H=24", "-o", "out/pkg"]) == 0
    assert "gemm, rows for interp" in capsys.readouterr().out
    rng = np.random.default_rng(0)
    a, w = rng.standard_normal((5, 40)).astype(np.float16), rng.integers(0, 16, (40, 7), np.uint8)
    outputs = []
    for library in (dslc.load(here / "out" / "pkg"), dslc.compile(here / "k.tile")):
        c = np.zeros((5, 7), np.float16)
        library["gemm"](a, w, c)
        outputs.append(c)
    assert np.array_equal(*outputs)


def test_a_dim_that_must_be_fixed_is_named(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["build", "k.tile"]) == 1
    assert "-D H=" in capsys.readouterr().err
    assert not (here / "k.dslc").exists()
    assert run(["build", "k.tile", "-k", "gemm"]) == 0
    assert (here / "k.dslc").is_dir()


@pytest.mark.parametrize("stage", ["tile", "ir", "bounds", "final"])
def test_stages_print(stage: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["build", "k.tile", "-k", "gemm", "--emit", stage]) == 0
    assert "kernel gemm" in capsys.readouterr().out
    assert run(["build", "k.tile", "-k", "gemm", "--emit", stage, "-o", "out/text"]) == 0
    assert "kernel gemm" in (here / "out" / "text").read_text()


@pytest.mark.skipif(find_library("nvrtc") is None, reason="needs dslc[cuda]")
def test_a_dash_is_the_standard_output(
    here: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    asked = ["build", "k.tile", "-k", "gemm", "-t", "cuda:sm_80", "-D", "H=24", "-o", "-"]
    assert run([*asked, "--emit", "cu"]) == 0
    assert b"__global__" in capsysbinary.readouterr().out
    assert run([*asked, "--emit", "cubin"]) == 0
    assert capsysbinary.readouterr().out.startswith(b"\x7fELF")
    assert not (here / "-").exists()
    assert run(asked) == 2


def test_the_canonical_source_is_a_fixed_point(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["build", "k.tile", "--emit", "tile"]) == 0
    once = capsys.readouterr().out
    (here / "again.tile").write_text(once)
    assert run(["build", "again.tile", "--emit", "tile"]) == 0
    assert capsys.readouterr().out == once


def test_choices_change_the_program(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["build", "k.tile", "-D", "H=8", "--emit", "ir"]
    assert run([*asked, "--set", "BM=32"]) == 0  # rows has no BM: it is not asked
    assert "BM = 32" in capsys.readouterr().out
    assert run([*asked, "--set", "BQ=32"]) == 2
    assert "BQ" in capsys.readouterr().err


def test_passes_can_be_watched(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["build", "k.tile", "-k", "gemm", "--emit", "final", "--time-passes"]
    assert run([*asked, "--print-after", "bounds", "--dump-dir", "dump"]) == 0
    err = capsys.readouterr().err
    assert "bounds" in err
    assert "ms" in err
    assert len(list((here / "dump" / "gemm").iterdir())) >= 3
    assert run(["build", "k.tile", "-k", "gemm", "--print-after", "bonds"]) == 2
    assert "DSL0914" in capsys.readouterr().err


def test_an_unknown_stage_or_target(
    here: Path, unbuilt: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["build", "k.tile", "-k", "gemm", "--emit", "bonds"]) == 2
    said = capsys.readouterr().err
    assert "did you mean `bounds`? (the stages for interp are tile, ir, " in said
    assert "final)" in said
    assert run(["build", "k.tile", "-k", "gemm", "-t", unbuilt]) == 3
    assert "DSL0950" in capsys.readouterr().err


def test_inspect_counts(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["inspect", "k.tile", "-k", "gemm", "--dim", "M=32", "--dim", "N=64", "--dim", "K=128"]
    assert run(asked) == 0
    out = capsys.readouterr().out
    assert "gemm(a: f16[M, K], w: u4[K, N], c: out f16[M, N])" in out
    assert "16 | 32   now 16" in out
    assert f"{2 * 32 * 64 * 128:.4g} operations" in out
    assert "4.0 KiB" in out  # w once: 128 x 64 x 4 bits


def test_inspect_models_a_run_on_trainium(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["inspect", "k.tile", "-k", "gemm", "--dim", "M=32", "--dim", "N=64", "--dim", "K=128"]
    assert run([*asked, "-t", "nki:trn2", "--timeline", "t.svg"]) == 0
    out = capsys.readouterr().out
    for label in ("modelled:", "engines:", "HBM:", "on chip:", "instructions:"):
        assert label in out
    assert "modelled" in Path("t.svg").read_text()
    assert run([*asked, "--timeline", "t.svg"]) == 2


def test_inspect_shows_every_kernel(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["inspect", "k.tile"]) == 0
    out = capsys.readouterr().out
    assert "gemm(" in out
    assert "rows(" in out


def test_a_missing_file(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("build", "run", "inspect"):
        assert run([command, "nowhere.tile"]) in (1, 2)
        captured = capsys.readouterr()
        assert "nowhere.tile" in captured.err
        assert "Traceback" not in captured.err


@pytest.mark.skipif(
    find_library("nvrtc") is None, reason="needs NVRTC: pip install nvidia-cuda-nvrtc"
)
def test_options_of_gpus(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "s.tile").write_text(
        "kernel s(x: f32[N], y: out f32[N]):\n"
        "    for n in parallel(range(0, N, 64)):\n"
        "        y[n : n + 64] = x[n : n + 64] + 1\n"
    )
    target = ["s.tile", "-t", "cuda:sm_90a", "-D", "N=4096"]
    assert run(["build", *target, "--emit", "ptx", "--line-info"]) == 0
    assert ".loc" in capsys.readouterr().out
    for option, expected in (([], "store_8("), (["--unaligned"], "store_4(")):
        assert run(["build", *target, "--emit", "cu", *option]) == 0
        assert expected in capsys.readouterr().out.partition("__global__")[2]
    assert run(["build", *target, "--unaligned", "--fmad", "-o", "both"]) == 0
    assert "both: s for cuda:sm_90a" in capsys.readouterr().out
    made = dslc.load(here / "both")["s"]._origin._made
    assert [dict(m.alignments) for m in made] == [{}, {"x": 4, "y": 4}]


@pytest.mark.skipif(find_library("nvrtc") is None, reason="needs dslc[cuda]")
def test_the_source_of_several_kernels_compiles_as_one_file(here: Path) -> None:
    from dslc.codegen.cuda.tools.nvrtc import load_nvrtc

    assert (
        run(["build", "k.tile", "-t", "cuda:sm_80", "-D", "H=24", "--emit", "cu", "-o", "k.cu"])
        == 0
    )
    text = (here / "k.cu").read_text()
    assert text.count("#define DEVICE") == 1
    done = load_nvrtc().compile(text, "k.cu", ("--gpu-architecture=sm_80", "--std=c++17"))
    assert done.succeeded, done.log
    assert b"gemm" in done.cubin
    assert b"rows" in done.cubin
