"""The fixture of a CUDA device without a GPU: the driver's stand-in of fake_libcuda.c."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from dslc.runtime.cuda.device import CudaDevice
from dslc.runtime.cuda.driver import load_driver

from support.gpu.fake_cuda import FakeDriver

SOURCE = Path(__file__).with_name("fake_libcuda.c")


@pytest.fixture(scope="session")
def fake_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("needs a C compiler for the driver's stand-in")
    path = tmp_path_factory.mktemp("fake") / "libcuda.so"
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", str(path), str(SOURCE)], check=True)
    return path


@pytest.fixture
def driver(fake_library: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDriver]:
    monkeypatch.setenv("DSLC_LIBCUDA", str(fake_library))
    fake = FakeDriver(fake_library)
    fake.reset()
    load_driver.cache_clear()
    CudaDevice.get.cache_clear()
    yield fake
    load_driver.cache_clear()
    CudaDevice.get.cache_clear()
