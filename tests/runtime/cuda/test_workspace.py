"""Workspaces of streams and captured graphs, and memory that libraries keep."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import SimpleNamespace

import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.runtime.cuda import CudaKernel

from support.gpu.fake_cuda import (
    FakeDriver,
    OnDevice,
    aligned,
    code,
    count_artifact,
    pair,
    scale_artifact,
)


def test_a_stream_has_a_workspace_of_its_own_that_stays(driver: FakeDriver) -> None:
    kernel = CudaKernel(count_artifact())
    y = OnDevice(aligned(16))
    y.array[:] = 7
    for stream in (1, 2, 1, 2, 1):
        kernel.launch({"y": y}, stream)
    assert driver.count("allocations") == 2
    assert not y.array.any()
    kernel.launch({"y": OnDevice(aligned(8))}, 1)  # a smaller one has room in it
    assert driver.count("allocations") == 2
    kernel.launch({"y": OnDevice(aligned(64))}, 1)
    assert driver.count("allocations") == 3


def in_a_thread(work: Callable[[], None]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def test_the_stream_of_each_thread_has_a_workspace_of_its_own(driver: FakeDriver) -> None:
    """CU_STREAM_PER_THREAD is one handle and many streams, which run side by side."""
    kernel = CudaKernel(count_artifact())
    for _ in range(2):
        kernel.launch({"y": OnDevice(aligned(16))}, 2)
    assert driver.count("allocations") == 1
    for number in (2, 3):
        in_a_thread(lambda: kernel.launch({"y": OnDevice(aligned(16))}, 2))
        assert driver.count("allocations") == number
    in_a_thread(lambda: kernel.launch({"y": OnDevice(aligned(16))}, 5))
    in_a_thread(lambda: kernel.launch({"y": OnDevice(aligned(16))}, 5))
    assert driver.count("allocations") == 4


def test_memory_that_libraries_keep_is_given_back(
    driver: FakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    cleared = []

    def empty_cache() -> None:
        cleared.append(True)
        driver.room(1 << 20)

    capturing = SimpleNamespace(now=False)
    cuda = SimpleNamespace(
        is_initialized=lambda: True,
        is_current_stream_capturing=lambda: capturing.now,
        empty_cache=empty_cache,
    )
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda, Tensor=type(None)))
    kernel, y = CudaKernel(count_artifact()), OnDevice(aligned(64))
    driver.room(16)
    capturing.now = True
    with pytest.raises(DiagnosticError, match="allocating 256 bytes on device 0 failed") as caught:
        kernel.launch({"y": y}, 1)
    assert code(caught) == "DSL0842"
    assert not cleared
    capturing.now = False
    kernel.launch({"y": y}, 1)
    assert cleared == [True]
    assert not y.array.any()


def test_a_captured_graph_has_a_workspace_of_its_own(driver: FakeDriver) -> None:
    kernel = CudaKernel(count_artifact())
    y = OnDevice(aligned(16))
    kernel.launch({"y": y}, 1)
    for _ in range(2):
        driver.capture(True)
        kernel.launch({"y": y}, 1)
        kernel.launch({"y": y}, 1)
        driver.capture(False)
    kernel.launch({"y": y}, 1)
    assert driver.count("allocations") == 3
    assert driver.count("allocated_in_capture") == 2
    assert driver.count("capture_mode") == 0


def test_a_launch_in_a_capture_neither_allocates_nor_waits(driver: FakeDriver) -> None:
    x, y = pair()
    driver.capture(True)
    CudaKernel(scale_artifact()).launch({"x": x, "y": y, "s": 1.0}, 3)
    assert driver.count("allocations") == driver.count("synchronisations") == 0
    assert driver.count("launches") == 1
