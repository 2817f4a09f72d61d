"""Compiled kernels for NVIDIA GPUs on the host: `dslc run --emulate`, DSLC_CUDA, `simulate=`."""

from __future__ import annotations

from pathlib import Path

import dslc
import dslc.runtime
import ml_dtypes
import numpy as np
import pytest
from dslc.cli.main import run
from dslc.machines.emulation import emulating
from dslc.runtime.cuda_emulator import compiler

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

ROWS = """\
kernel rows(x: f16[M, H], g: f16[H], y: out f16[M, H]):
    tune BM = 4 | 16

    for m in parallel(range(0, M, BM)):
        row = cast(x[m : m + BM, :], f32)
        scale = rsqrt(sum(row * row, 1, keepdims=True) / H + 1e-6)
        y[m : m + BM, :] = cast(row * scale * cast(g[:], f32), f16)
"""

pytestmark = pytest.mark.skipif(compiler() is None, reason="needs g++ or clang++")


def rows_file(folder: Path) -> Path:
    path = folder / "rows.tile"
    path.write_text(ROWS)
    return path


def test_a_kernel_of_shared_memory_and_units(tmp_path: Path) -> None:
    """Tensor maps, clusters of one, asynchronous copies: what a Hopper kernel has."""
    with emulating():
        lib = dslc.compile(EXAMPLES / "gemm.tile", "cuda:sm_90a")
        rng = np.random.default_rng(0)
        a, b = (rng.standard_normal((128, 128)).astype(np.float16) for _ in range(2))
        c = np.empty((128, 128), np.float16)
        lib.gemm(a, b, c)
    assert np.abs(c - a.astype(np.float32) @ b.astype(np.float32)).max() < 0.05


def test_a_program_hands_buffers_on() -> None:
    source = """\
kernel double(x: f32[N], y: out f32[N]):
    for n in parallel(range(0, N, 64)):
        y[n : n + 64] = x[n : n + 64] * 2.0

program four(x: f32[N], y: out f32[N]):
    half = f32[N]
    double(x, half)
    double(half, y)
"""
    source = source.replace("    half = f32[N]\n", "    half = buffer(f32, [N])\n")
    with emulating():
        lib = dslc.compile(source, "cuda:sm_80")
        x, y = np.arange(100, dtype=np.float32), np.empty(100, np.float32)
        lib.four(x, y)
    assert (y == 4 * x).all()


PRODUCT = """\
const T = f16
kernel product(a: T[M, K], b: T[K, N], c: out f32[M, N]):
    for m, n in parallel(range(0, M, 32), range(0, N, 32)):
        s = zeros(f32, [32, 32])
        for k in range(0, K, 64):
            s += dot(a[m : m + 32, k : k + 64], b[k : k + 64, n : n + 32])
        c[m : m + 32, n : n + 32] = s
"""


@pytest.mark.deep
@pytest.mark.parametrize("dtype", ["f16", "f8e4m3"])
@pytest.mark.parametrize("chip", ["sm_89", "sm_100a", "sm_103a", "sm_120a"])
def test_chips_that_nobody_had_here(chip: str, dtype: str) -> None:
    """Products of ragged sizes, by the units and copies that each of them has."""
    rng = np.random.default_rng(0)
    numpy_dtype = np.float16 if dtype == "f16" else ml_dtypes.float8_e4m3fn
    a = rng.integers(-4, 5, (70, 200)).astype(numpy_dtype)
    b = rng.integers(-4, 5, (200, 50)).astype(numpy_dtype)
    c = np.empty((70, 50), np.float32)
    with emulating():
        dslc.compile(PRODUCT, f"cuda:{chip}", define={"T": dtype}).product(a, b, c)
    assert (c == a.astype(np.float32) @ b.astype(np.float32)).all()


def test_low_bit_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DSLC_CUDA", "emulator")
    source = """\
kernel scaled(w: u4[K, N], s: f32[N], y: out f32[K, N]):
    for k in parallel(range(0, K, 16)):
        y[k : k + 16, 0:64] = cast(w[k : k + 16, 0:64], f32) * s[0:64][None, :]
"""
    lib = dslc.compile(source, "cuda:sm_80", cache=False)
    w = np.random.default_rng(1).integers(0, 16, (32, 64)).astype(np.uint8)
    s, y = np.arange(64, dtype=np.float32), np.empty((32, 64), np.float32)
    lib.scaled(w, s, y)
    assert (y == w * s).all()


def test_the_command_says_that_it_is_emulated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["run", str(rows_file(tmp_path)), "-t", "cuda:sm_90a", "--emulate"]
    assert run([*words, "--dim", "M=5", "--dim", "H=64", "--verify"]) == 0
    shown = capsys.readouterr()
    assert "emulated here in" in shown.out
    assert "no time of the machine itself" in shown.out


def test_without_a_gpu_the_way_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from dslc.runtime.cuda import CudaDevice

    try:
        CudaDevice.get(0)
    except dslc.DiagnosticError:
        words = ["run", str(rows_file(tmp_path)), "-t", "cuda:sm_90a"]
        assert run([*words, "--dim", "M=5", "--dim", "H=64"]) == 3
        assert "--emulate" in capsys.readouterr().err
    else:
        pytest.skip("there is a GPU here")


def test_a_package_is_stood_in_for(tmp_path: Path) -> None:
    lib = dslc.compile(rows_file(tmp_path), "cuda:sm_90a")
    lib.save(tmp_path / "p", [lib.rows.specialize(H=64)])
    x, g = np.ones((3, 64), np.float16), np.ones(64, np.float16)
    y = np.empty_like(x)
    dslc.runtime.load(tmp_path / "p", simulate="cuda:sm_90a").rows(x, g, y)
    assert np.abs(y - 1).max() < 1e-2


def test_what_a_gpu_forbids_is_said(tmp_path: Path) -> None:
    from dslc.runtime.cuda.emulated import EmulatedCudaKernel

    made = dslc.compile(rows_file(tmp_path), "cuda:sm_80", cache=False).rows
    artifact = made.specialize(H=64).artifact
    text = artifact.files["kernel.cu"].decode()
    broken = text.replace("* 64", "* 6400")
    assert broken != text
    kernel = EmulatedCudaKernel(artifact)
    kernel._texts = dict.fromkeys(kernel._texts, broken)
    x, g = np.ones((3, 64), np.float16), np.ones(64, np.float16)
    with pytest.raises(dslc.DiagnosticError, match="DSL0861"):
        kernel.launch({"x": x, "g": g, "y": np.empty_like(x)}, {})
