from __future__ import annotations

import threading
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from dslc.compiler.artifact import Param, Signature
from dslc.compiler.diagnostics import DiagnosticError
from dslc.runtime.cuda import CudaKernel, arrays

from support.gpu.fake_cuda import (
    FakeDriver,
    OnDevice,
    aligned,
    code,
    pair,
    scale_artifact,
)


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


def test_a_launch_goes_by_the_dims_that_no_shape_tells(driver: FakeDriver) -> None:
    """Packed weights do not say how many rows of codes they hold: the same arrays, another grid."""
    made = scale_artifact()
    signature = replace(made.signature, dims=("N", "T"))
    kernel = CudaKernel(replace(made, signature=signature, launch={**made.launch, "grid": ["T"]}))
    x, y = pair(16)
    for turns in (1, 3, 1):
        kernel.launch({"x": x, "y": y, "s": 2.0}, dims={"T": turns})
        assert list(driver.last.grid) == [turns, 1, 1]


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


@pytest.mark.parametrize(("stream", "told"), [(None, 1), (5, 5)])
def test_arrays_of_others_are_told_the_stream(
    driver: FakeDriver, monkeypatch: pytest.MonkeyPatch, stream: int | None, told: int
) -> None:
    """DLPack's producer waits for its work on the consumer's stream; 1 is the default stream."""
    x, y = pair()
    asked: list[int] = []

    def read(_: object, stream: int) -> SimpleNamespace:
        asked.append(stream)
        return SimpleNamespace(
            address=x.__cuda_array_interface__["data"][0], shape=x.array.shape, strides=None,
            dtype=x.array.dtype, device=0, read_only=False, owner=x,
        )  # fmt: skip

    monkeypatch.setattr(arrays, "read_tensor", read)
    other = SimpleNamespace(__dlpack__=None, __dlpack_device__=lambda: (2, 0))
    CudaKernel(scale_artifact()).launch({"x": other, "y": y, "s": 2.0}, stream)
    assert asked == [told]
    assert np.array_equal(y.array, 2 * x.array)


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
    arguments = [
        dict(a, **({"type": "i32"} if a.get("name") == "s" else {}))
        for a in artifact.launch["arguments"]
    ]
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


def test_host_arrays_keep_the_strides_that_a_kernel_binds(driver: FakeDriver) -> None:
    artifact = scale_artifact()
    params = [replace(p, strides=("sx",)) if p.dims else p for p in artifact.signature.params]
    span = {"kind": "value", "value": "(N - 1) * sx + 1", "type": "i32"}
    strided = replace(
        artifact,
        signature=Signature(tuple(params), ("N", "sx")),
        launch={**artifact.launch, "arguments": [*artifact.launch["arguments"][:3], span]},
    )
    x, y = np.arange(16, dtype=np.float32), np.full(16, -1, np.float32)
    CudaKernel(strided).launch({"x": x[::2], "y": y[::2], "s": 3.0}, dims={})
    assert y.reshape(8, 2).tolist() == [[3 * n, -1] for n in range(0, 16, 2)]


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
    ("blocks", "older", "shared"),
    # of 233472 bytes: one block a multiprocessor, two, as many as there is room for anyway
    [(128, False, 115_713), (132, False, 115_713), (160, False, 76_801), (900, False, 60_000),
     (128, True, 60_000)],
)  # fmt: skip
def test_blocks_that_begin_early_are_dealt_evenly(
    driver: FakeDriver, blocks: int, older: bool, shared: int
) -> None:
    driver.reset(minor=0, major=8 if older else 9)
    artifact = scale_artifact(shared_bytes=60_000)
    more = {"grid": [str(blocks)], "dependent": True, "spread": True}
    kernel = CudaKernel(replace(artifact, launch={**artifact.launch, **more}))
    x, y = pair()
    kernel.launch({"x": x, "y": y, "s": 1.0})
    assert driver.last.shared == shared
    assert driver.count("dynamic_shared") == (60_000 if older else 115_713)
    assert (6 in driver.attributes) is not older


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
        {"arguments": [{"kind": "scalar", "name": "s", "type": {}}]},
        {"arguments": [{"kind": "tensor", "name": []}]},
        {"arguments": [{"kind": "descriptor"}]},
        {"arguments": [["kind"]]},
        {"arguments": 3},
        {"grid": 1},
        {"cluster": [1, 1, "2"]},
        {"alignments": 4},
        {"alignments": {"s": 4}},
        {"alignments": {"x": 0}},
        {"alignments": {"x": "4"}},
    ],
)
def test_a_description_is_read_strictly(launch: dict[str, Any]) -> None:
    artifact = scale_artifact()
    changed = {**artifact.launch, **launch} if launch else {}
    with pytest.raises(DiagnosticError) as caught:
        CudaKernel(replace(artifact, launch=changed))
    assert code(caught) == "DSL0802"


def test_a_tensor_may_begin_where_the_kernel_allows(driver: FakeDriver) -> None:
    x, y = OnDevice(aligned(8, past=4)), OnDevice(aligned(8))
    artifact = scale_artifact()
    with pytest.raises(DiagnosticError) as caught:
        CudaKernel(artifact).launch({"x": x, "y": y, "s": 1.0})
    assert code(caught) == "DSL0766"
    launch = {**artifact.launch, "alignments": {"x": 4}}
    CudaKernel(replace(artifact, launch=launch)).launch({"x": x, "y": y, "s": 1.0})
    assert driver.count("launches") == 1


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
