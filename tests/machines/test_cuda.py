"""Kernels for CUDA through the face, with the driver's stand-in: compiled for real, run by nobody."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import dslc
import dslc.machines.cuda
import numpy as np
import pytest
from dslc.codegen.cuda.tools.locate import find_library, find_tool
from dslc.compiler.diagnostics import DiagnosticError
from dslc.runtime.cuda.device import CudaDevice

from support.gpu.fake_cuda import FakeDriver, OnDevice, aligned

SOURCE = """
kernel scale(x: f32[M, N], factor: f32, y: out f32[M, N]):
    tune BN = 256 | 128

    for m in parallel(range(M)):
        for n in range(0, N, BN):
            y[m, n : n + BN] = x[m, n : n + BN] * factor

kernel widen(w: u4[K, N], y: out f32[K, N]):
    for k in parallel(range(0, K, 16)):
        for n in range(0, N, 64):
            y[k : k + 16, n : n + 64] = cast(w[k : k + 16, n : n + 64], f32)

program twice(x: f32[M, N], factor: f32, y: out f32[M, N]):
    t = buffer(f32, [M, N])
    scale(x, factor, t)
    scale(t, 2.0, y, BN=128)
"""

pytestmark = pytest.mark.skipif(
    find_library("nvrtc") is None, reason="needs NVRTC: pip install nvidia-cuda-nvrtc"
)


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DSLC_CACHE", "off")


@pytest.fixture
def lib() -> Any:
    return dslc.compile(SOURCE, "cuda:sm_90a")


def arrays(m: int = 4, n: int = 64) -> tuple[OnDevice, OnDevice]:
    return OnDevice(aligned((m, n))), OnDevice(aligned((m, n)))


def test_it_compiles_without_a_driver(lib: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DSLC_LIBCUDA", "/nonexistent/libcuda.so")
    made = lib.scale.specialize(BN=128)
    assert made.artifact.files["sm_90a.cubin"].startswith(b"\x7fELF")
    assert made.artifact.target == "cuda:sm_90a"
    assert made.config == {"BN": 128}
    assert "scale_kernel(" in made.source("cu") == made.source()
    assert ".target sm_90a" in made.source("ptx")
    assert made.artifact.launch["resources"]["registers"] > 0
    if find_tool("nvdisasm") is not None:
        assert "EXIT" in made.source("sass")


def test_how_code_is_compiled_is_an_option(lib: Any) -> None:
    usual = lib.scale.specialize()
    assert "__fmul_rn" in usual.source()
    lines = dslc.compile(SOURCE, "cuda:sm_90a", line_info=True).scale.specialize()
    assert b".debug_line" in lines.artifact.files["sm_90a.cubin"]
    assert b".debug_line" not in usual.artifact.files["sm_90a.cubin"]
    assert ".loc" in lines.source("ptx")
    assert ".loc" not in usual.source("ptx")
    contracted = dslc.compile(SOURCE, "cuda:sm_90a", fmad=True).scale.specialize()
    toolchains = {m.artifact.hashes.toolchain for m in (usual, lines, contracted)}
    assert len(toolchains) == 3


def test_profilers_may_show_the_source(lib: Any) -> None:
    made = dslc.compile(SOURCE, "cuda:sm_90a", source_lines=True).scale.specialize()
    assert "#line " in made.source("cu")
    assert '.file\t1 "' in made.source("ptx")
    assert "<source>" in made.source("ptx")
    assert "#line" not in lib.scale.specialize().source("cu")


def test_a_call_launches(lib: Any, driver: FakeDriver) -> None:
    x, y = arrays()
    lib.scale(x, 2.0, y)
    assert driver.count("launches") == 1
    assert driver.last.grid[0] == 4
    lib.scale(y=y, x=x, factor=1.0, BN=128)
    assert driver.count("launches") == 2


def test_the_stream_is_an_option(lib: Any, driver: FakeDriver) -> None:
    x, y = arrays()
    with dslc.options(stream=12):
        lib.scale(x, 2.0, y)
    assert driver.last.stream == 12
    lib.scale(x, 2.0, y)
    assert driver.last.stream is None


def test_arrays_of_the_host_go_there_and_back(lib: Any, driver: FakeDriver) -> None:
    lib.scale(np.ones((3, 8), np.float32), 2.0, np.zeros((3, 8), np.float32))
    assert driver.count("launches") == 1
    assert driver.count("allocations") == driver.count("frees") == 2


def test_codes_of_the_host_are_packed(lib: Any, driver: FakeDriver) -> None:
    codes = np.zeros((32, 64), np.uint8)
    y = OnDevice(aligned((32, 64)))
    lib.widen(codes, y)
    packed = lib.widen.pack("w", codes)
    lib.widen(packed, y)
    lib.widen(OnDevice(_aligned_copy(packed)), y)
    assert driver.count("launches") == 3


def test_codes_on_the_device_are_refused_where_bytes_are_wanted(
    lib: Any, driver: FakeDriver
) -> None:
    y = OnDevice(aligned((32, 64)))
    storage = lib.widen.specialize().artifact.signature.params[0].packed
    assert storage is not None
    with pytest.raises(DiagnosticError, match="packed bytes") as caught:
        lib.widen(OnDevice(aligned((32, 64), "uint8")), y)
    assert "kernel.pack" in str(caught.value.diagnostics[0].hint)


WEIGHTS = """
kernel product(a: f16[M, K], w: i8[K, N], c: out f32[M, N]):
    for m, n in parallel(range(0, M, 16), range(0, N, 64)):
        acc = zeros(f32, [16, 64])
        for k in range(0, K, 64):
            acc += dot(a[m : m + 16, k : k + 64], cast(w[k : k + 64, n : n + 64], f16))
        c[m : m + 16, n : n + 64] = acc

program both(a: f16[M, K], w: i8[K, N], c: out f32[M, N], d: out f32[M, N]):
    product(a, w, c)
    product(a, w, d)
"""


@pytest.mark.parametrize("name", ["product", "both"])
def test_bytes_on_the_device_are_read_as_they_are_and_packed_ones_in_tiles(
    name: str, driver: FakeDriver
) -> None:
    kernel = dslc.compile(WEIGHTS, "cuda:sm_90a")[name]
    a = OnDevice(aligned((16, 128), "float16"))
    outs = [OnDevice(aligned((16, 64))) for _ in kernel.parameters[2:]]
    packed = kernel.pack("w", np.zeros((128, 64), np.int8))
    assert packed.shape == (2, 4, 64 * 16)  # fragments of 64 x 16
    kernel(a, OnDevice(aligned((128, 64), "int8")), *outs)
    kernel(a, OnDevice(_aligned_copy(packed)), *outs)
    kernel(a, np.zeros((128, 64), np.int8), *outs)  # packed at the call
    assert driver.count("launches") == 3 * len(outs)
    whole = kernel.specialize()
    with pytest.raises(DiagnosticError, match="packed bytes"):
        whole(a, OnDevice(aligned((128, 64), "int8")), *outs)
    plain = kernel.specialize(["w"])
    plain(a, OnDevice(aligned((128, 64), "int8")), *outs)
    with pytest.raises(DiagnosticError, match="axes, expected 2"):
        plain(a, OnDevice(_aligned_copy(packed)), *outs)


def _aligned_copy(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    copy: np.ndarray[Any, Any] = aligned(array.shape, str(array.dtype))
    copy[...] = array
    return copy


def test_divisors_of_dims_make_specialisations(lib: Any, driver: FakeDriver) -> None:
    choice = {"BN": 128}
    ragged = lib.scale.specialize_for({"M": 3, "N": 101}, choice)
    wide = lib.scale.specialize_for({"M": 3, "N": 96}, choice)
    assert wide is lib.scale.specialize_for({"M": 5, "N": 4096}, choice)
    assert wide is not ragged
    assert [r.text for r in wide.artifact.signature.requires] == ["N % 16 == 0"]
    assert not ragged.artifact.signature.requires
    halves = lib.scale.specialize_for({"M": 8, "N": 104}, choice)  # 8 of 2 bytes are 16 bytes
    assert [r.text for r in halves.artifact.signature.requires] == ["N % 8 == 0"], "M counts rows"
    assert not lib.scale.specialize().artifact.signature.requires
    x, y = arrays(3, 101)
    ragged(x, 1.0, y)
    with pytest.raises(DiagnosticError) as caught:
        wide(x, 1.0, y)
    assert caught.value.diagnostics[0].code == "DSL0759"


def test_the_interpreter_relies_on_no_divisors() -> None:
    kernel = dslc.compile(SOURCE, "interp").scale
    assert kernel.specialize_for({"M": 3, "N": 96}) is kernel.specialize_for({"M": 1, "N": 100})


def test_fixed_dims_need_no_divisors() -> None:
    kernel = dslc.compile(SOURCE, "cuda:sm_90a", define={"N": 96}).scale
    assert not kernel.specialize_for({"M": 3, "N": 96}).artifact.signature.requires


def test_a_package_chooses_by_divisors(lib: Any, driver: FakeDriver, tmp_path: Path) -> None:
    wide = lib.scale.specialize_for({"M": 3, "N": 96})
    ragged = lib.scale.specialize_for({"M": 3, "N": 100})
    lib.save(tmp_path / "package", [wide, ragged])
    loaded = dslc.load(tmp_path / "package")
    assert loaded.target == "cuda:sm_90a"
    for n in (96, 100):
        x, y = arrays(3, n)
        loaded.scale(x, 1.0, y)
    assert driver.count("launches") == 2
    lib.save(tmp_path / "narrow", [wide])
    x, y = arrays(3, 100)
    with pytest.raises(DiagnosticError) as caught:
        dslc.load(tmp_path / "narrow").scale(x, 1.0, y)
    assert caught.value.diagnostics[0].code == "DSL0747"


WHOLE = r"(load_global|copy_async)_16\([^;]*\bx \+"  # 16 bytes of x at once


def past(shape: tuple[int, ...], bytes_: int, dtype: str = "float32") -> OnDevice:
    return OnDevice(aligned(shape, dtype, past=bytes_))


def test_a_tensor_that_begins_in_between_gets_a_kernel_of_its_own(
    lib: Any, driver: FakeDriver
) -> None:
    y = OnDevice(aligned((4, 64)))
    for bytes_ in (4, 8, 12, 16):
        lib.scale(past((4, 64), bytes_), 2.0, y)
    assert driver.count("launches") == 4
    made = lib.scale.specialize_for({"M": 4, "N": 64}, unaligned=["x"])
    assert made.alignments == {"x": 4}
    assert not re.search(WHOLE, made.source())
    assert "store_16(" in made.source().partition("__global__")[2]
    usual = lib.scale.specialize_for({"M": 4, "N": 64})
    assert usual.alignments == {}
    assert re.search(WHOLE, usual.source())
    with pytest.raises(DiagnosticError, match="argument x begins") as caught:
        usual(past((4, 64), 4), 2.0, y)
    assert caught.value.diagnostics[0].code == "DSL0766"
    assert "--unaligned" in str(caught.value.diagnostics[0].hint)


def test_an_address_between_elements_is_refused(lib: Any, driver: FakeDriver) -> None:
    with pytest.raises(DiagnosticError, match="no multiple of 4 bytes") as caught:
        lib.scale(past((4, 64), 2), 2.0, OnDevice(aligned((4, 64))))
    assert caught.value.diagnostics[0].code == "DSL0766"


def test_a_program_takes_tensors_that_begin_in_between(lib: Any, driver: FakeDriver) -> None:
    lib.twice(past((4, 64), 4), 3.0, past((4, 64), 8))
    made = lib.twice.specialize_for({"M": 4, "N": 64}, unaligned=["x", "y"])
    assert made.alignments == {"x": 4, "y": 4}
    assert driver.count("launches") == 2


def test_a_package_has_kernels_for_what_begins_anywhere(
    lib: Any, driver: FakeDriver, tmp_path: Path
) -> None:
    usual = lib.scale.specialize()
    lib.save(tmp_path / "one", [usual])
    x, y = past((4, 64), 4), OnDevice(aligned((4, 64)))
    with pytest.raises(DiagnosticError) as caught:
        dslc.load(tmp_path / "one").scale(x, 2.0, y)
    assert caught.value.diagnostics[0].code == "DSL0766"
    lib.save(tmp_path / "two", [usual, lib.scale.specialize_for({}, unaligned=["x", "y"])])
    loaded = dslc.load(tmp_path / "two")
    loaded.scale(x, 2.0, y)
    loaded.scale(y, 2.0, past((4, 64), 12))
    assert driver.count("launches") == 2


def test_a_program_launches_its_kernels(lib: Any, driver: FakeDriver, tmp_path: Path) -> None:
    x, y = arrays()
    lib.twice(x, 3.0, y)
    assert driver.count("launches") == 2
    assert driver.count("allocations") == 1
    made = lib.twice.specialize()
    assert made.source().count("__global__") == 2
    assert len(made.artifact.launch["calls"]) == 2
    lib.save(tmp_path / "package", [made])
    loaded = dslc.load(tmp_path / "package")
    for _ in range(3):
        loaded.twice(x, 3.0, y)
    assert driver.count("launches") == 4
    assert driver.count("graph_launches") == 2


def test_cuda_is_the_gpu_that_is_there(driver: FakeDriver) -> None:
    assert dslc.compile(SOURCE, "cuda").scale.specialize().artifact.target == "cuda:sm_90a"
    driver.reset(1, 8, 6)
    CudaDevice.get.cache_clear()
    assert dslc.machines.cuda.present_target() == "cuda:sm_80.132"  # not an A100's 108
    made = dslc.compile(SOURCE, "cuda").scale.specialize().artifact
    assert made.target == "cuda:sm_80.132"
    assert "sm_80.cubin" in made.files
    for capability, name in (((8, 9), "sm_89"), ((10, 3), "sm_103a"), ((12, 0), "sm_120a")):
        driver.reset(1, *capability)
        CudaDevice.get.cache_clear()
        assert dslc.machines.cuda.present_target() == f"cuda:{name}.132"
    driver.reset(1, 12, 1)
    CudaDevice.get.cache_clear()
    with pytest.raises(DiagnosticError, match="no target for Fake GPU"):
        dslc.compile(SOURCE, "cuda")


def test_another_gpu_is_refused(lib: Any, driver: FakeDriver) -> None:
    driver.reset(1, 8, 0)
    CudaDevice.get.cache_clear()
    x, y = arrays()
    with pytest.raises(DiagnosticError, match="sm_90a; device 0") as caught:
        lib.scale(x, 1.0, y)
    assert caught.value.diagnostics[0].code == "DSL0841"
