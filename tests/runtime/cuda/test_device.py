"""Which device a kernel runs on: its code, its context, its driver."""

from __future__ import annotations

import numpy as np
import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.runtime.cuda import CudaDevice, CudaKernel
from dslc.runtime.cuda.device import fits

from support.gpu.fake_cuda import (
    FakeDriver,
    code,
    pair,
    scale_artifact,
)


def test_the_binary_is_that_of_the_device(driver: FakeDriver) -> None:
    assert CudaDevice.get(0).binary_for(scale_artifact()).startswith(b"scale for 90a")
    driver.reset(1, 8, 6)
    CudaDevice.get.cache_clear()
    assert CudaDevice.get(0).binary_for(scale_artifact()).startswith(b"scale for 80")
    driver.reset(1, 12, 0)
    CudaDevice.get.cache_clear()
    with pytest.raises(
        DiagnosticError, match=r"sm_80, sm_90a; device 0 \(Fake GPU\) is sm_120"
    ) as caught:
        CudaDevice.get(0).binary_for(scale_artifact())
    assert code(caught) == "DSL0841"


@pytest.mark.parametrize(
    ("architecture", "capability", "runs"),
    [
        ("sm_80", (8, 0), True),
        ("sm_80", (8, 9), True),
        ("sm_86", (8, 0), False),
        ("sm_80", (9, 0), False),
        ("sm_90a", (9, 0), True),
        ("sm_100a", (10, 3), False),
        ("sm_100f", (10, 3), True),
        ("sm_120", (12, 1), True),
        ("kernel", (8, 0), False),
    ],
)
def test_which_code_runs_where(architecture: str, capability: tuple[int, int], runs: bool) -> None:
    assert fits(architecture, capability) is runs


def test_an_error_of_the_driver_is_named(driver: FakeDriver) -> None:
    x, y = pair()
    kernel = CudaKernel(scale_artifact())
    kernel.launch({"x": x, "y": y, "s": 1.0})
    driver.fail_next(700)
    with pytest.raises(DiagnosticError, match=r"scale.*CUDA_ERROR_ILLEGAL_ADDRESS") as caught:
        kernel.launch({"x": x, "y": y, "s": 1.0})
    assert code(caught) == "DSL0842"
    kernel.launch({"x": x, "y": y, "s": 1.0})


def test_a_thread_without_a_context_gets_one(driver: FakeDriver) -> None:
    x, y = pair()
    kernel = CudaKernel(scale_artifact())
    for context in (0, 55):
        driver.context = context
        kernel.launch({"x": x, "y": y, "s": 2.0})
        assert driver.context == context
    assert driver.count("launches") == 2


def test_another_devices_context_is_put_aside(driver: FakeDriver) -> None:
    driver.reset(devices=2)
    CudaDevice.get.cache_clear()
    x, y = pair()
    kernel = CudaKernel(scale_artifact())
    driver.context = 1001
    kernel.launch({"x": x, "y": y, "s": 2.0})
    assert driver.context == 1001
    assert np.array_equal(y.array, x.array * 2)


def test_no_such_device(driver: FakeDriver) -> None:
    with pytest.raises(DiagnosticError, match="the last is 0") as caught:
        CudaDevice.get(3)
    assert code(caught) == "DSL0840"


def test_without_a_driver_the_error_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    from dslc.runtime.cuda.driver import load_driver

    monkeypatch.setenv("DSLC_LIBCUDA", "/nonexistent/libcuda.so.1")
    load_driver.cache_clear()
    CudaDevice.get.cache_clear()
    kernel = CudaKernel(scale_artifact())  # an artifact is loaded all the same
    with pytest.raises(DiagnosticError) as caught:
        kernel.launch({"x": np.zeros(4, np.float32), "y": np.zeros(4, np.float32), "s": 1.0})
    assert code(caught) == "DSL0840"
