"""C programs with a package's interface, on an emulated Arm CPU and the stand-in of a GPU."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dslc.codegen.aarch64.tools.assemblers import assemblers
from dslc.codegen.cuda.tools.locate import find_library
from dslc.loading import load
from dslc.packaging import build_package
from dslc.runtime.aarch64_emulator import qemu_path

from support.gpu.fake_cuda import FakeDriver, aligned
from support.packages import SOURCE, failure, write_spec

PROGRAM = (
    SOURCE
    + '''
program twice(x: f32[M, N], by: f32, y: out f32[M, N]):
    """y = x * by * 0.5."""
    t = buffer(f32, [M + 1, N])
    scale(x, by, t[1:])
    if M > 0:
        scale(t[1:], 0.5, y)
'''
)
KERNELS = '[[kernel]]\nsource = "rows.tile"\ndims = { N = [16, 32] }\nsizes = { M = 8 }\n'
TINY = Path(__file__).parents[2] / "support" / "tiny_libc.c"

ARM = r"""
#include "rows.h"
void say(const char *text);

static float x[5][32], y[5][32], a[5][16];
static uint8_t w[16 * 32];

static dslc_tensor tensor(void *data, int code, int bits, int64_t *shape) {
  dslc_tensor t = {data, {1, 0}, 2, {(uint8_t)code, (uint8_t)bits, 1}, shape, 0, 0};
  return t;
}

int main(void) {
  int64_t shape[2] = {5, 32}, narrow[2] = {5, 31};
  for (int i = 0; i < 160; ++i) x[0][i] = (float)i;
  dslc_tensor tx = tensor(x, 2, 32, shape), ty = tensor(y, 2, 32, shape);
  if (rows_scale(&tx, 3.0f, &ty, 0)) return say(rows_last_error()), 1;
  for (int i = 0; i < 160; ++i) if (y[0][i] != 3 * x[0][i]) return say("scale is wrong"), 2;
  if (rows_twice(&tx, 3.0f, &ty, 0)) return say(rows_last_error()), 3;
  for (int i = 0; i < 160; ++i) if (y[0][i] != 1.5f * x[0][i]) return say("twice is wrong"), 4;
  tx.shape = ty.shape = narrow;
  if (rows_scale(&tx, 3.0f, &ty, 0) != DSLC_ARGUMENT) return 5;
  say(rows_last_error());
  tx.shape = ty.shape = shape;
  ty.device.type = 2;
  if (rows_scale(&tx, 3.0f, &ty, 0) != DSLC_ARGUMENT) return 6;
  say(rows_last_error());
  ty.device.type = 1;
  tx.dtype.bits = 64;
  if (rows_scale(&tx, 3.0f, &ty, 0) != DSLC_ARGUMENT) return 7;
  say(rows_last_error());
  int64_t strides[2] = {1, 5};
  tx.dtype.bits = 32;
  tx.strides = strides;
  if (rows_scale(&tx, 3.0f, &ty, 0) != DSLC_ARGUMENT) return 8;
  say(rows_last_error());
  if (rows_scale(0, 3.0f, &ty, 0) != DSLC_ARGUMENT) return 9;
  say(rows_last_error());
  int64_t packed[1] = {PACKED_BYTES}, left[2] = {5, 16};
  for (int i = 0; i < 80; ++i) a[0][i] = 1;
  uint8_t codes[16][32];
  int64_t whole[2] = {16, 32}, bytes = 0;
  for (int i = 0; i < 512; ++i) codes[0][i] = (uint8_t)(i % 32 / 2);
  dslc_tensor tc = tensor(codes, 1, 8, whole);
  if (rows_weigh_pack_w(&tc, 0, &bytes, 0)) return say(rows_last_error()), 13;
  if (bytes != PACKED_BYTES || rows_weigh_pack_w(&tc, w, &bytes, 0)) return say(rows_last_error()), 14;
  dslc_tensor ta = tensor(a, 2, 32, left), tw = tensor(w, 1, 8, packed);
  tw.ndim = 1;
  tx.strides = 0;
  if (rows_weigh(&ta, &tw, &ty, 0)) return say(rows_last_error()), 10;
  for (int i = 0; i < 160; ++i) if (y[0][i] != i % 32 / 2 * 16) return say("weigh is wrong"), 11;
  packed[0] -= 1;
  if (rows_weigh(&ta, &tw, &ty, 0) != DSLC_ARGUMENT) return 12;
  say(rows_last_error());
  return 0;
}
"""


@pytest.fixture(scope="module")
def arm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if (
        sys.platform != "linux"
        or not any(a.name == "zig" for a in assemblers())
        or qemu_path() is None
    ):
        pytest.skip("needs ziglang, which compiles C for AArch64, and qemu-aarch64")
    folder = tmp_path_factory.mktemp("arm")
    spec = write_spec(folder / "src", ["aarch64:all"], KERNELS, consumers='["c"]')
    (folder / "src" / "rows.tile").write_text(PROGRAM)
    build_package(spec, folder / "rows.dslc", jobs=0, cache=False)
    return folder / "rows.dslc"


@pytest.fixture(scope="module")
def program(arm: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The test's program, linked statically with the sources of the package."""
    folder = tmp_path_factory.mktemp("program")
    # 16 x 32 codes of 4 bits.
    (folder / "main.c").write_text(ARM.replace("PACKED_BYTES", "256"))
    zig = [sys.executable, "-m", "ziglang", "cc", "-target", "aarch64-linux-gnu"]
    flags = [
        "-std=gnu11", "-O1", "-g0", "-fno-sanitize=all", "-fno-stack-protector", "-fno-builtin",
        "-ftls-model=local-exec", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function",
        "-Wno-unused-variable", "-I", str(arm / "include"),
    ]  # fmt: skip
    sources = [
        folder / "main.c",
        TINY,
        arm / "c" / "rows_aarch64.c",
        *sorted((arm / "c").glob("*.s")),
    ]
    environment = {
        "ZIG_GLOBAL_CACHE_DIR": str(folder),
        "ZIG_LOCAL_CACHE_DIR": str(folder),
        "PATH": "/usr/bin:/bin",
    }
    objects = []
    for number, source in enumerate(sources):
        objects.append(str(folder / f"{number}.o"))
        own = flags if source.suffix == ".c" else []
        command = [*zig, *own, "-c", "-o", objects[-1], str(source)]
        subprocess.run(command, check=True, env=environment, timeout=120)
    out = folder / "program"
    link = [*zig, "-nostdlib", "-static", "-no-pie", "-o", str(out), *objects]
    subprocess.run(link, check=True, env=environment, timeout=120)
    return out


@pytest.mark.parametrize("cpu", ["cortex-a57", "neoverse-n1", "max"])
def test_a_c_program_on_an_arm_cpu(program: Path, cpu: str) -> None:
    qemu = qemu_path()
    assert qemu is not None
    done = subprocess.run(
        [str(qemu), "-cpu", cpu, str(program)], capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert done.stdout.splitlines() == [
        "scale: nothing was compiled for this call: M=5 N=31",
        "argument y is on device (2, 0), expected (1, 0)",
        "argument x has elements of type (2, 64 bits), expected (2, 32 bits)",
        "axis 1 of argument x has the stride 5, expected 1",
        "argument x is NULL",
        "argument w has 255 bytes, expected 256 packed ones",
    ]


# NVIDIA GPUs: the driver's stand-in


class Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p), ("device", ctypes.c_int32), ("ordinal", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64),
    )  # fmt: skip


def tensor(array: np.ndarray[Any, Any], device: int = 2, offset: int = 0) -> Tensor:
    shape = (ctypes.c_int64 * array.ndim)(*array.shape)
    bits = 8 * array.itemsize
    code = {"f": 2, "i": 0, "u": 1}[array.dtype.kind]
    return Tensor(
        array.ctypes.data - offset, device, 0, array.ndim, code, bits, 1, shape, None, offset
    )


@pytest.fixture(scope="module")
def gpu(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or find_library("nvrtc") is None:
        pytest.skip("needs a C compiler and NVRTC")
    folder = tmp_path_factory.mktemp("gpu")
    text = KERNELS.replace("sizes = { M = 8 }", "unaligned = true") + (
        '\n[[kernel]]\nsource = "gemm.tile"\nkernel = "gemm"\ndims = { N = 512, K = 512 }\n'
        "set = { BM = 128, BN = 128, BK = 64 }\n"
    )
    spec = write_spec(folder / "src", ["cuda:sm_80", "cuda:sm_90a"], text, consumers='["c"]')
    (folder / "src" / "rows.tile").write_text(PROGRAM)
    shutil.copy(Path(__file__).parents[3] / "examples" / "gemm.tile", folder / "src")
    package = folder / "rows.dslc"
    build_package(spec, package, jobs=0, cache=False)
    command = [
        compiler, "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function",
        "-Wno-unused-variable", "-Wno-missing-field-initializers", "-fvisibility=hidden", "-fPIC",
        "-shared", "-I", "include", "-o", str(folder / "librows.so"), "c/rows_cuda.c", "-ldl",
        "-lpthread",
    ]  # fmt: skip
    subprocess.run(command, check=True, cwd=package, timeout=120)
    return folder


@pytest.fixture
def library(gpu: Path, driver: FakeDriver, tmp_path: Path) -> ctypes.CDLL:
    """A copy of its own: the driver's state is the library's."""
    path = shutil.copy(gpu / "librows.so", tmp_path)
    found = ctypes.CDLL(str(path))
    found.rows_last_error.restype = ctypes.c_char_p
    return found


def scaled(library: ctypes.CDLL, m: int, n: int, stream: int = 5, **changes: Any) -> int:
    x, y = aligned((m, n)), aligned((m, n))
    made = tensor(x, **changes), tensor(y, **changes)
    status: int = library.rows_scale(
        ctypes.byref(made[0]), ctypes.c_float(2), ctypes.byref(made[1]), ctypes.c_void_p(stream)
    )
    return status


def test_a_call_is_one_launch_on_the_callers_stream(
    library: ctypes.CDLL, driver: FakeDriver
) -> None:
    assert scaled(library, 9, 32) == 0, library.rows_last_error()
    assert driver.count("launches") == 1
    assert driver.last.stream == 5
    assert list(driver.last.grid) == [3, 1, 1]  # tiles of 4 rows
    assert scaled(library, 1, 16) == 0
    assert list(driver.last.grid) == [1, 1, 1]
    assert driver.context == 0  # the caller's own, as before


def test_what_does_not_fit_is_refused(library: ctypes.CDLL, driver: FakeDriver) -> None:
    assert scaled(library, 9, 31) == 1
    assert library.rows_last_error() == b"scale: nothing was compiled for this call: M=9 N=31"
    assert scaled(library, 9, 32, device=1) == 1
    assert b"device" in library.rows_last_error()
    assert scaled(library, 0, 32) == 0  # nothing to do
    assert driver.count("launches") == 0
    driver.fail_next(700)
    assert scaled(library, 9, 32) == 2
    assert b"CUDA_ERROR_ILLEGAL_ADDRESS" in library.rows_last_error()


@pytest.mark.parametrize("machine", [80, 86, 90])
def test_codes_are_packed_for_a_gpu_that_is_named(
    gpu: Path, library: ctypes.CDLL, machine: int
) -> None:
    codes = np.random.default_rng(3).integers(0, 16, (48, 32)).astype(np.uint8)
    kernels = load(gpu / "rows.dslc", "cuda:sm_90a" if machine == 90 else "cuda:sm_80")
    expected = kernels.weigh.pack("w", codes, M=4)
    out, bytes_ = np.zeros(expected.size, np.uint8), ctypes.c_int64(expected.size)
    given = ctypes.byref(tensor(codes, 1)), ctypes.c_void_p(out.ctypes.data), ctypes.byref(bytes_)
    assert library.rows_weigh_pack_w(*given, machine) == 0, library.rows_last_error()
    np.testing.assert_array_equal(out, expected.reshape(-1))
    bytes_.value -= 1
    assert library.rows_weigh_pack_w(*given, machine) == 1
    assert b"packed w takes" in library.rows_last_error()
    assert library.rows_weigh_pack_w(*given, 70) == 1
    assert b"nothing that was compiled reads w" in library.rows_last_error()


def test_a_gpu_that_nothing_was_compiled_for(gpu: Path, driver: FakeDriver, tmp_path: Path) -> None:
    driver.reset(major=12, minor=0)
    found = ctypes.CDLL(str(shutil.copy(gpu / "librows.so", tmp_path)))
    assert scaled(found, 9, 32) == 1


def test_a_tensor_between_multiples_gets_its_own_kernel(
    library: ctypes.CDLL, driver: FakeDriver
) -> None:
    memory = aligned(9 * 32 + 4)
    x, y = memory[1 : 9 * 32 + 1].reshape(9, 32), aligned((9, 32))
    made = tensor(x), tensor(y)
    args = ctypes.byref(made[0]), ctypes.c_float(2), ctypes.byref(made[1]), None
    assert library.rows_scale(*args) == 0, library.rows_last_error()
    assert driver.count("launches") == 1


def test_a_program_and_its_buffers(library: ctypes.CDLL, driver: FakeDriver) -> None:
    x, y = aligned((9, 32)), aligned((9, 32))
    made = tensor(x), tensor(y)
    args = ctypes.byref(made[0]), ctypes.c_float(2), ctypes.byref(made[1]), None
    assert library.rows_twice(*args) == 0, library.rows_last_error()
    assert driver.count("launches") == 2
    assert driver.count("allocations") == driver.count("frees") == 1


def test_tensor_maps(library: ctypes.CDLL, gpu: Path, driver: FakeDriver) -> None:
    assert "dslc_map(a" in (gpu / "rows.dslc" / "c" / "rows_cuda.c").read_text()
    arrays = (
        aligned((256, 512), "float16"),
        aligned((512, 512), "float16"),
        aligned((256, 512), "float16"),
    )
    made = [tensor(a) for a in arrays]
    assert library.rows_gemm(*map(ctypes.byref, made), None) == 0, library.rows_last_error()
    assert driver.count("launches") == 1
    assert driver.last.shared > 48 * 1024


def test_the_same_convention_as_tvm_ffi(gpu: Path) -> None:
    tvm_ffi = pytest.importorskip("tvm_ffi", reason="needs apache-tvm-ffi")
    module = tvm_ffi.load_module(str(gpu / "librows.so"))
    x = tvm_ffi.from_dlpack(np.ones((3, 16), np.float32))
    with pytest.raises(ValueError, match="argument x is on device"):
        module["scale"](x, 2.0, x)
    with pytest.raises(TypeError, match="takes 3 arguments, got 1"):
        module["scale"](x)
    with pytest.raises(TypeError, match="argument by is no number"):
        module["scale"](x, x, x)


def test_the_shims_know_no_headers_of_tvm_ffi(gpu: Path) -> None:
    text = (gpu / "rows.dslc" / "c" / "rows_cuda.c").read_text()
    assert not re.search(r"#include.*tvm", text)
    assert text.count("__attribute__((weak)) extern") == 2


def test_a_dim_that_only_packed_bytes_have_is_refused(tmp_path: Path) -> None:
    spec = write_spec(
        tmp_path / "src", ["aarch64:base"], '[[kernel]]\nsource = "rows.tile"\n', consumers='["c"]'
    )
    (tmp_path / "src" / "rows.tile").write_text(
        "kernel fill(w: u4[K, 16] packed row, y: out u8[16]):\n"
        "    for n in parallel(range(0, 16, 16)):\n"
        "        y[n : n + 16] = cast(w[K - 1, n : n + 16], u8)\n"
    )
    found = failure(lambda: build_package(spec, tmp_path / "out", jobs=0, cache=False))
    assert found.code == "DSL0754"
