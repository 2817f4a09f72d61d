"""`dslc tune`, on the driver's stand-in, and what `dslc inspect` predicts."""

from __future__ import annotations

import json
import re
from pathlib import Path

import dslc
import pytest
from dslc.cli.main import run
from dslc.codegen.cuda.tools.locate import find_library, find_tool

from support.gpu.fake_cuda import FakeDriver
from support.tuning import SOURCE

SIZES = ["--dim", "M=16", "-D", "K=256", "-D", "N=128"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    if find_library("nvrtc") is None:
        pytest.skip("needs NVRTC")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DSLC_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr("dslc.tuner.space.TRIED", {"warps": (2,), "stages": ()})
    (tmp_path / "k.tile").write_text(SOURCE)
    return tmp_path


def tune(*more: str) -> int:
    return run(["tune", "k.tile", "-k", "gemm", "--top", "3", "--jobs", "1", *more])


def test_a_dry_run_needs_no_gpu(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from dslc.runtime.cuda.device import CudaDevice
    from dslc.runtime.cuda.driver import load_driver

    monkeypatch.setenv("DSLC_LIBCUDA", "/nonexistent/libcuda.so")
    load_driver.cache_clear()
    CudaDevice.get.cache_clear()
    assert tune(*SIZES, "--dry-run") == 0
    captured = capsys.readouterr()
    assert "predicted for cuda:sm_90a" in captured.err
    assert re.search(r"^BM=\d+ BN=\d+  \(default\)", captured.out, re.MULTILINE)
    assert "limited by" in captured.out
    assert len(re.findall(r"^BM=", captured.out, re.MULTILINE)) == 3
    assert tune(*SIZES) == 3
    told = capsys.readouterr().err
    assert "DSL0840" in told
    assert "--dry-run predicts without a GPU" in told


def test_results_are_kept_listed_and_used(
    here: Path, driver: FakeDriver, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tune(*SIZES) == 0
    captured = capsys.readouterr()
    assert "on Fake GPU" in captured.out
    assert "a minute" in captured.err
    assert run(["tune", "--list"]) == 0
    listed = capsys.readouterr().out
    assert re.search(r"^gemm +cuda:sm_90a +K=256 M=16 N=128 .* Fake GPU", listed, re.MULTILINE)
    kept = json.loads(next((here / "cache" / "tuning").glob("gemm-*.json")).read_text())
    (record,) = kept["records"]
    assert record["fixed"] == ["K", "N"]
    made = dslc.compile(here / "k.tile", "cuda").gemm.specialize_for({"M": 9, "K": 256, "N": 128})
    assert dict(made.config) == record["config"]
    assert made.fixed == {"K": 256, "N": 128}


def test_several_sizes_and_kernels(
    here: Path, driver: FakeDriver, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["tune", "k.tile", "--top", "1", "--jobs", "1", "--set", "BM=16"]
    assert run([*asked, "--dim", "M=16,64", "--dim", "K=256", "--dim", "N=128"]) == 0
    capsys.readouterr()
    assert run(["tune", "k.tile", "--list"]) == 0
    listed = capsys.readouterr().out
    assert len(re.findall(r"^gemm ", listed, re.MULTILINE)) == 2
    assert len(re.findall(r"^scale ", listed, re.MULTILINE)) == 1
    assert run(["tune", "k.tile", "-k", "scale", "--list"]) == 0
    assert "gemm" not in capsys.readouterr().out


def test_results_travel(
    here: Path,
    driver: FakeDriver,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert tune(*SIZES) == 0
    assert run(["tune", "--export", "tuned.json"]) == 0
    monkeypatch.setenv("DSLC_CACHE_DIR", str(here / "elsewhere"))
    assert run(["tune", "--list"]) == 0
    assert "gemm" not in capsys.readouterr().out.partition("1 results")[2]
    assert run(["tune", "--import", "tuned.json"]) == 0
    assert "took over 1 results; 1 are for this dslc" in capsys.readouterr().out
    assert run(["tune", "--list"]) == 0
    assert "gemm" in capsys.readouterr().out
    assert run(["tune", "--import", "k.tile"]) == 2
    assert "DSL0922" in capsys.readouterr().err


def test_mistakes_are_told(
    here: Path, driver: FakeDriver, capsys: pytest.CaptureFixture[str]
) -> None:
    for more, said in (
        (["--dim", "M=16"], "DSL0913"),
        ([*SIZES, "--dim", "M=x"], "DSL0910"),
        ([*SIZES, "-t", "aie:npu2"], "DSL0920"),
        ([*SIZES, "--set", "BM=48"], "BM"),
    ):
        assert tune(*more) != 0
        captured = capsys.readouterr()
        assert said in captured.err
        assert "Traceback" not in captured.err
    assert run(["tune"]) == 2
    assert "--list" in capsys.readouterr().err


def test_inspect_predicts(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["inspect", "k.tile", "-k", "gemm", "--dim", "M=16", "--dim", "K=8192"]
    assert run([*asked, "--dim", "N=8192", "-t", "cuda:sm_90a"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"predicted: +\d+\.\d us, limited by ", out)
    assert re.search(r"floor by bytes: +7\.\d us", out)
    if find_tool("nvdisasm") is not None:
        match = re.search(r"a weight: +(\d+\.\d+) instructions of a lane, \d+ weights", out)
        assert match is not None
        assert 0.3 < float(match[1]) < 8
    assert run([*asked, "--dim", "N=8192"]) == 0
    assert "predicted" not in capsys.readouterr().out
