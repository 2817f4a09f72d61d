"""Packages on an NVIDIA GPU: built here for its target, loaded by the runtime, and run."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from dslc.machines.cuda import present_target
from dslc.packaging import build_package

from support.packages import write_spec

pytestmark = pytest.mark.gpu
KERNELS = '[[kernel]]\nsource = "rows.tile"\ndims = { N = [16, 32] }\nunaligned = true\n'


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("package")
    targets = list(dict.fromkeys(["cuda:sm_80", present_target()]))
    spec = write_spec(folder / "src", targets, KERNELS, ptx='"cuda:sm_80"', consumers='["c"]')
    build_package(spec, folder / "rows.dslc", jobs=2, cache=False)
    return folder / "rows.dslc"


def test_arrays_of_the_host(package: Path) -> None:
    import dslc.runtime

    rows = dslc.runtime.load(package, require_native=True)
    rng = np.random.default_rng(3)
    for n in (16, 32):
        x = rng.standard_normal((37, n)).astype(np.float32)
        y = np.zeros_like(x)
        rows.scale(x, 1.5, y)
        np.testing.assert_array_equal(y, x * np.float32(1.5))
    a = rng.standard_normal((9, 48)).astype(np.float32)
    codes = rng.integers(0, 16, (48, 32), np.uint8)
    c = np.zeros((9, 32), np.float32)
    rows.weigh(a, rows.weigh.pack("w", codes), c)
    # f32 products may go through tf32 units.
    np.testing.assert_allclose(c, a @ codes.astype(np.float32), rtol=5e-3, atol=0.3)


def test_tensors_of_torch_that_begin_anywhere(package: Path) -> None:
    torch = pytest.importorskip("torch")
    import dslc.runtime

    rows = dslc.runtime.load(package)
    memory = torch.randn(37 * 32 + 1, device="cuda")
    x, y = memory[1:].reshape(37, 32), torch.zeros(37, 32, device="cuda")
    rows.scale(x, 2.0, y)
    torch.cuda.synchronize()
    assert torch.equal(y, 2 * x)


def test_no_compiler_is_loaded(package: Path) -> None:
    code = (
        "import sys, numpy as np, dslc.runtime\n"
        f"rows = dslc.runtime.load({str(package)!r})\n"
        "x = np.ones((5, 16), np.float32); y = np.zeros_like(x)\n"
        "rows.scale(x, 3.0, y); assert (y == 3).all()\n"
        "bad = [m for m in sys.modules if m.startswith(('lark', 'msgspec', 'dslc.codegen', 'torch'))]\n"
        "assert not bad, bad"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_c_interface(package: Path, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    out = tmp_path / "librows.so"
    command = [compiler, "-std=gnu11", "-O2", "-fPIC", "-shared", "-I", "include", "-o", str(out)]
    subprocess.run([*command, "c/rows_cuda.c", "-ldl", "-lpthread"], check=True, cwd=package)
    library = ctypes.CDLL(str(out))
    library.rows_last_error.restype = ctypes.c_char_p
    x = torch.randn(37, 32, device="cuda")
    y = torch.zeros_like(x)
    shape = (ctypes.c_int64 * 2)(37, 32)
    made = [dl_tensor(t.data_ptr(), shape) for t in (x, y)]
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
    status = library.rows_scale(
        ctypes.byref(made[0]), ctypes.c_float(2.0), ctypes.byref(made[1]), stream
    )
    assert status == 0, library.rows_last_error()
    assert torch.equal(y, 2 * x)


class DlTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("ndim", ctypes.c_int32),
        ("dtype", ctypes.c_uint8 * 2), ("lanes", ctypes.c_uint16), ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p), ("offset", ctypes.c_uint64),
    )  # fmt: skip


def dl_tensor(address: int, shape: ctypes.Array[ctypes.c_int64]) -> DlTensor:
    device, dtype = (ctypes.c_int32 * 2)(2, 0), (ctypes.c_uint8 * 2)(2, 32)
    return DlTensor(address, device, len(shape), dtype, 1, ctypes.addressof(shape), None, 0)
