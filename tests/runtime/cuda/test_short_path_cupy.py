"""The short way of CuPy's arrays, with arrays that say of themselves that they are CuPy's."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from dslc.runtime.cuda import CudaKernel, short_path

from support.gpu.fake_cuda import FakeDriver, OnDevice, aligned, scale_artifact


class Array(OnDevice):
    """What the short way reads of a cupy.ndarray."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        super().__init__(array)
        self.dtype, self.shape, self.strides = array.dtype, array.shape, array.strides
        self.data = SimpleNamespace(ptr=array.ctypes.data, device_id=0)


Array.__module__ = "cupy.fake"


@pytest.fixture(autouse=True)
def _cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = SimpleNamespace(ptr=11)
    cuda = SimpleNamespace(get_current_stream=lambda: stream)
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=cuda))


def array(n: int = 8, dtype: str = "float32", past: int = 0) -> Array:
    made = aligned(n, dtype, past)
    made[:] = np.arange(n)
    return Array(made)


def test_arrays_of_the_same_look(driver: FakeDriver) -> None:
    kernel = CudaKernel(scale_artifact())
    x, y = array(), array()
    kernel.launch({"x": x, "y": y, "s": 1.0})
    call = kernel.short_call((x, y, 1.0))
    assert call is not None
    x, y = array(), array()
    assert call((x, y, 3.0), None)
    assert np.array_equal(y.array, x.array * 3)
    assert driver.last.stream == 11
    assert call((x, y, 4), 5)
    assert driver.last.stream == 5


def test_others_take_the_long_way(driver: FakeDriver) -> None:
    kernel = CudaKernel(scale_artifact())
    x, y = array(), array()
    call = kernel.short_call((x, y, 1.0))
    assert call is not None
    elsewhere = array()
    elsewhere.data.device_id = 1
    strided = Array(aligned(16)[::2])
    for other in (array(12), array(dtype="int32"), elsewhere, strided, array(past=4), x.array):
        assert call((other, y, 1.0), None) is False
    assert call((x, x, 1.0), None) is False
    assert driver.count("launches") == 0


def test_torch_is_not_asked_about_them(driver: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(short_path, "_torch_guards", lambda tensors: pytest.fail("it is"))
    assert CudaKernel(scale_artifact()).short_call((array(), array(), 1.0)) is not None


def test_arrays_of_two_libraries_have_no_short_way(driver: FakeDriver) -> None:
    kernel = CudaKernel(scale_artifact())
    assert kernel.short_call((array(), OnDevice(aligned(8)), 1.0)) is None
