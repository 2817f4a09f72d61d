from __future__ import annotations

import sys
import threading
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from dslc.compiler.artifact import Param, Signature
from dslc.compiler.diagnostics import DiagnosticError
from dslc.runtime.cuda import CudaDevice, CudaKernel
from dslc.runtime.cuda.device import fits

from support.fake_cuda import FakeDriver, OnDevice, aligned, count_artifact, scale_artifact


def pair(n: int = 8) -> tuple[OnDevice, OnDevice]:
    x = aligned(n)
    x[:] = np.arange(n)
    return OnDevice(x), OnDevice(aligned(n))


def code(caught: pytest.ExceptionInfo[DiagnosticError]) -> str:
    return caught.value.diagnostics[0].code


def test_a_launch_fills_the_output(driver: FakeDriver) -> None:
    x, y = pair(1000)
    CudaKernel(scale_artifact()).launch({"x": x, "y": y, "s": 2.5})
    assert np.array_equal(y.array, x.array * np.float32(2.5))
    assert list(driver.last.grid) == [8, 1, 1]
    assert list(driver.last.block) == [128, 1, 1]
    assert driver.last.stream is None
    assert driver.count("synchronisations") == driver.count("allocations") == 0


def test_a_second_launch_takes_other_addresses_and_scalars(driver: FakeDriver) -> None:
    kernel = CudaKernel(scale_artifact())
    for s in (1.0, -3.0, 0.5):
        x, y = pair()
        kernel.launch({"x": x, "y": y, "s": s})
        assert np.array_equal(y.array, x.array * s)
    x, y = pair(400)
    kernel.launch({"x": x, "y": y, "s": 2})
    assert np.array_equal(y.array, x.array * 2)
    assert driver.last.grid[0] == 4


def test_no_turns_no_launch(driver: FakeDriver) -> None:
    x, y = pair(0)
    CudaKernel(scale_artifact()).launch({"x": x, "y": y, "s": 1.0})
    assert driver.count("launches") == 0


def test_host_arrays_are_copied_there_and_back(driver: FakeDriver) -> None:
    x, y = np.arange(8, dtype=np.float32), np.zeros(16, np.float32)[::2]
    CudaKernel(scale_artifact()).launch({"x": x, "y": y, "s": 3.0})
    assert np.array_equal(y, x * 3)
    assert driver.count("allocations") == driver.count("frees") == 2


def test_host_and_device_arrays_mix(driver: FakeDriver) -> None:
    x, y = np.arange(8, dtype=np.float32), OnDevice(aligned(8))
    CudaKernel(scale_artifact()).launch({"x": x, "y": y, "s": 3.0})
    assert np.array_equal(y.array, x * 3)


def test_host_copies_are_freed_after_a_failure(driver: FakeDriver) -> None:
    x, y = np.arange(6, dtype=np.float32), np.zeros(6, np.float32)
    with pytest.raises(DiagnosticError, match="requires"):
        CudaKernel(scale_artifact()).launch({"x": x, "y": y, "s": 3.0})
    assert driver.count("allocations") == driver.count("frees") == 2


class Stream:
    def __cuda_stream__(self) -> tuple[int, int]:
        return (0, 77)


class TorchStream:
    cuda_stream = 78


@pytest.mark.parametrize(
    ("stream", "handle"), [(5, 5), (0, None), (Stream(), 77), (TorchStream(), 78)]
)
def test_the_callers_stream(driver: FakeDriver, stream: Any, handle: int | None) -> None:
    x, y = pair()
    CudaKernel(scale_artifact()).launch({"x": x, "y": y, "s": 1.0}, stream)
    assert driver.last.stream == handle


def test_the_stream_that_an_array_names(driver: FakeDriver) -> None:
    x, y = pair()
    x.__cuda_array_interface__["stream"] = 9
    kernel = CudaKernel(scale_artifact())
    kernel.launch({"x": x, "y": y, "s": 1.0})
    assert driver.last.stream == 9
    kernel.launch({"x": x, "y": y, "s": 1.0}, stream=4)
    assert driver.last.stream == 4


def test_what_is_no_stream_is_refused(driver: FakeDriver) -> None:
    x, y = pair()
    with pytest.raises(DiagnosticError) as caught:
        CudaKernel(scale_artifact()).launch({"x": x, "y": y, "s": 1.0}, stream="default")
    assert code(caught) == "DSL0767"


def wrong_dtype() -> OnDevice:
    return OnDevice(aligned(8, "float64"))


@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [
        (OnDevice(aligned((2, 4))), pair()[1], "DSL0751"),
        (pair()[0], OnDevice(aligned(12)), "DSL0752"),
        (OnDevice(aligned(16)[::2]), pair()[1], "DSL0753"),
        (OnDevice(aligned(6)), OnDevice(aligned(6)), "DSL0759"),
        ([1.0] * 8, pair()[1], "DSL0760"),
        (wrong_dtype(), pair()[1], "DSL0761"),
        (pair()[0], OnDevice(aligned(8), read_only=True), "DSL0763"),
        (OnDevice(aligned(8, past=4)), pair()[1], "DSL0766"),
    ],
)
def test_arguments_that_do_not_fit(driver: FakeDriver, x: Any, y: Any, expected: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        CudaKernel(scale_artifact()).launch({"x": x, "y": y, "s": 1.0})
    assert code(caught) == expected
    assert driver.count("launches") == 0


def test_an_output_that_overlaps_an_input(driver: FakeDriver) -> None:
    memory = aligned(16)
    x, y = OnDevice(memory[:8]), OnDevice(memory[4:12])
    with pytest.raises(DiagnosticError, match="share memory") as caught:
        CudaKernel(scale_artifact()).launch({"x": x, "y": y, "s": 1.0})
    assert code(caught) == "DSL0742"
    CudaKernel(scale_artifact()).launch({"x": x, "y": OnDevice(memory[8:]), "s": 1.0})


def test_a_scalar_that_does_not_fit(driver: FakeDriver) -> None:
    x, y = pair()
    artifact = scale_artifact()
    arguments = [dict(a, **({"type": "i32"} if a.get("name") == "s" else {})) for a in
                 artifact.launch["arguments"]]  # fmt: skip
    params = (*artifact.signature.params[:2], Param("s", "i32", "in"))
    whole = replace(
        artifact,
        signature=Signature(params, ("N",)),
        launch={**artifact.launch, "arguments": arguments},
    )
    with pytest.raises(DiagnosticError) as caught:
        CudaKernel(whole).launch({"x": x, "y": y, "s": 1 << 40})
    assert code(caught) == "DSL0758"


def test_strides_of_the_signature_are_bound(driver: FakeDriver) -> None:
    artifact = scale_artifact()
    x = Param("x", "f32", "in", ("N",), ("sx",))
    signature = Signature((x, *artifact.signature.params[1:]), ("N", "sx"))
    arguments = [
        *artifact.launch["arguments"][:3],
        {"kind": "value", "value": "N * sx", "type": "i32"},
    ]
    strided = replace(
        artifact, signature=signature, launch={**artifact.launch, "arguments": arguments}
    )
    memory = OnDevice(aligned(16)[::2])
    memory.array[:] = 1
    CudaKernel(strided).launch({"x": memory, "y": OnDevice(aligned(8)), "s": 1.0})
    assert driver.count("launches") == 1


def test_attributes_of_the_launch(driver: FakeDriver) -> None:
    artifact = scale_artifact(shared_bytes=100_000)
    more = {
        "grid": ["2 * cdiv(N, 128)", "3"],
        "cluster": [2, 1, 1],
        "cooperative": True,
        "dependent": True,
    }
    kernel = CudaKernel(replace(artifact, launch={**artifact.launch, **more}))
    x, y = pair()
    kernel.launch({"x": x, "y": y, "s": 1.0})
    assert list(driver.last.grid) == [2, 3, 1]
    assert driver.last.shared == driver.count("dynamic_shared") == 100_000
    found = driver.attributes
    assert set(found) == {2, 4, 6}
    assert found[4][:3] == [2, 1, 1]
    assert found[2][0] == found[6][0] == 1


@pytest.mark.parametrize(
    ("changes", "launch", "text"),
    [
        ({"shared_bytes": 240_000}, {}, "shared memory"),
        ({}, {"threads": 768}, "threads"),
        ({}, {"grid": ["N * 1000000000"]}, "blocks along x"),
        ({}, {"grid": ["1", "65536"]}, "blocks along y"),
        ({}, {"grid": ["3"], "cluster": [2, 1, 1]}, "clusters"),
    ],
)
def test_more_than_the_device_has(
    driver: FakeDriver, changes: dict[str, Any], launch: dict[str, Any], text: str
) -> None:
    artifact = scale_artifact(**changes)
    x, y = pair()
    with pytest.raises(DiagnosticError, match=text) as caught:
        CudaKernel(replace(artifact, launch={**artifact.launch, **launch})).launch(
            {"x": x, "y": y, "s": 1.0}
        )
    assert code(caught) == "DSL0843"


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


def test_waiting_after_every_launch_is_an_option(
    driver: FakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DSLC_CUDA_SYNC", "1")
    x, y = pair()
    CudaKernel(scale_artifact()).launch({"x": x, "y": y, "s": 1.0})
    assert driver.count("synchronisations") == 1


def test_threads_share_a_kernel(driver: FakeDriver) -> None:
    kernel = CudaKernel(scale_artifact())
    wrong = []

    def work(seed: int) -> None:
        for k in range(200):
            x, y = pair(4 * (1 + k % 3))
            kernel.launch({"x": x, "y": y, "s": float(seed)})
            if not np.array_equal(y.array, x.array * seed):
                wrong.append((seed, k))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


@pytest.mark.parametrize(
    "launch",
    [
        {},
        {"threads": 0},
        {"cluster": [2]},
        {"grid": []},
        {"unknown": 1},
        {"arguments": [{"kind": "tensor", "name": "s"}]},
        {"arguments": [{"kind": "scalar", "name": "s", "type": "f16"}]},
        {"arguments": [{"kind": "descriptor"}]},
    ],
)
def test_a_description_is_read_strictly(launch: dict[str, Any]) -> None:
    artifact = scale_artifact()
    changed = {**artifact.launch, **launch} if launch else {}
    with pytest.raises(DiagnosticError) as caught:
        CudaKernel(replace(artifact, launch=changed))
    assert code(caught) == "DSL0802"


def packed_artifact(storage: dict[str, Any]) -> Any:
    artifact = scale_artifact()
    w = Param("w", "u4", "in", ("N", "8"), None, storage)
    arguments = [*artifact.launch["arguments"], {"kind": "tensor", "name": "w"}]
    signature = replace(artifact.signature, params=(*artifact.signature.params, w))
    return replace(
        artifact, signature=signature, launch={**artifact.launch, "arguments": arguments}
    )


def test_packed_bytes_are_counted(driver: FakeDriver) -> None:
    kernel = CudaKernel(packed_artifact({"scheme": "row", "bits": 4, "signed": False}))
    x, y = pair()
    kernel.launch({"x": x, "y": y, "s": 1.0, "w": OnDevice(aligned(32, "uint8"))})
    with pytest.raises(DiagnosticError, match="packed bytes") as caught:
        kernel.launch({"x": x, "y": y, "s": 1.0, "w": OnDevice(aligned(33, "uint8"))})
    assert code(caught) == "DSL0752"
    with pytest.raises(DiagnosticError, match=r"kernel\.pack|packed bytes"):
        kernel.launch({"x": x, "y": y, "s": 1.0, "w": OnDevice(aligned((8, 8), "uint8"))})
    kernel.launch({"x": x, "y": y, "s": 1.0, "w": np.zeros((8, 8), np.uint8)})  # codes of the host
