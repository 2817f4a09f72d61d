"""The short way of torch tensors, with tensors of the host in the place of a GPU's."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import pytest
from dslc.compiler.artifact import Param
from dslc.compiler.diagnostics import DiagnosticError
from dslc.runtime.cuda import CudaKernel, arrays, native_path, short_path

from support.gpu.fake_cuda import FakeDriver, scale_artifact

torch: Any = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


@pytest.fixture(autouse=True, params=["native", "guards", "compared"])
def _tensors_of_the_host(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "torch_device", lambda tensor: 0)
    monkeypatch.setattr(torch._C, "_cuda_getCurrentRawStream", lambda device: 6, raising=False)
    if request.param != "native":
        monkeypatch.setattr(native_path, "extension", lambda: None)
    elif native_path.extension() is None:
        pytest.skip("the extension is not built (no C compiler)")
    if request.param == "compared":
        monkeypatch.setattr(short_path, "_torch_guards", lambda tensors: None)


def tensor(n: int = 8, **options: Any) -> Any:
    memory = torch.arange(n + 64, **options).to(options.get("dtype", torch.float32))
    start = -memory.data_ptr() % 64 // memory.element_size()
    return memory[start : start + n]


def short(kernel: CudaKernel, *arguments: Any) -> Any:
    params = [p.name for p in kernel.artifact.signature.params]
    kernel.launch(dict(zip(params, arguments, strict=True)))
    call = kernel.short_call(arguments)
    assert call is not None
    return call


def test_other_tensors_of_the_same_look(driver: FakeDriver) -> None:
    call = short(CudaKernel(scale_artifact()), tensor(), tensor(), 1.0)
    x, y = tensor(), tensor()
    assert call((x, y, 3.0), None)
    assert torch.equal(y, x * 3)
    assert call((x, y, 4), None)
    assert torch.equal(y, x * 4)


def test_the_stream_is_torchs_or_the_callers(driver: FakeDriver) -> None:
    call = short(CudaKernel(scale_artifact()), tensor(), tensor(), 1.0)
    assert call((tensor(), tensor(), 1.0), None)
    assert driver.last.stream == 6
    assert call((tensor(), tensor(), 1.0), 9)
    assert driver.last.stream == 9


def unlike() -> list[tuple[Any, Any, Any]]:
    x, y = tensor(), tensor()
    memory = tensor(32)
    return [
        (tensor(12), y, 1.0),
        (tensor(12), tensor(12), 1.0),
        (tensor(dtype=torch.int32), y, 1.0),
        (tensor(16)[::2], y, 1.0),
        (x.reshape(2, 4), y, 1.0),
        (memory[1:9], y, 1.0),
        (memory[:8], memory[4:12], 1.0),
        (x, x, 1.0),
        (x, y, True),
        (x, y, "1"),
        (x, y, 1e300),
        (x, y, torch.tensor(1.0)),
        (x, None, 1.0),
        (torch.nn.Parameter(x), y, 1.0),
        (x.numpy(), y, 1.0),
        (x, y),
        (x, y, 1.0, 2.0),
    ]


@pytest.mark.parametrize("number", range(17))
def test_arguments_of_another_look_take_the_long_way(driver: FakeDriver, number: int) -> None:
    call = short(CudaKernel(scale_artifact()), tensor(), tensor(), 1.0)
    before = driver.count("launches")
    assert call(unlike()[number], None) is False
    assert driver.count("launches") == before


def test_a_tensor_changed_in_place_is_seen(driver: FakeDriver) -> None:
    x, y = tensor(), tensor()
    call = short(CudaKernel(scale_artifact()), x, y, 1.0)
    assert call((x, y, 1.0), None)
    x.resize_(4)
    assert call((x, y, 1.0), None) is False


def test_scalars_that_the_plan_depends_on_must_be_the_same(driver: FakeDriver) -> None:
    artifact = scale_artifact()
    params = (*artifact.signature.params, Param("k", "i32", "in"))
    launch = {
        **artifact.launch,
        "grid": ["k"],
        "arguments": [
            *artifact.launch["arguments"],
            {"kind": "scalar", "name": "k", "type": "i32"},
        ],
    }
    signature = replace(artifact.signature, params=params)
    call = short(
        CudaKernel(replace(artifact, signature=signature, launch=launch)),
        tensor(),
        tensor(),
        1.0,
        3,
    )
    assert call((tensor(), tensor(), 2.0, 3), None)
    assert driver.last.grid[0] == 3
    assert call((tensor(), tensor(), 2.0, 4), None) is False


def test_an_error_of_the_driver_is_raised(driver: FakeDriver) -> None:
    call = short(CudaKernel(scale_artifact()), tensor(), tensor(), 1.0)
    driver.fail_next(700)
    with pytest.raises(DiagnosticError, match="ILLEGAL_ADDRESS"):
        call((tensor(), tensor(), 1.0), None)


def test_no_short_way_with_arrays_of_the_host(driver: FakeDriver) -> None:
    kernel = CudaKernel(scale_artifact())
    assert kernel.short_call((tensor().numpy(), tensor(), 1.0)) is None


def test_threads_share_a_short_way(driver: FakeDriver) -> None:
    call = short(CudaKernel(scale_artifact()), tensor(1000), tensor(1000), 1.0)
    wrong = []

    def work(factor: int) -> None:
        x, y = tensor(1000), tensor(1000)
        for k in range(300):
            if not call((x, y, float(factor + k)), None) or not torch.equal(y, x * (factor + k)):
                wrong.append((factor, k))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_a_tensor_of_another_alignment_takes_the_long_way(driver: FakeDriver) -> None:
    """There may be a better kernel for it, or none."""
    artifact = scale_artifact()
    loose = replace(artifact, launch={**artifact.launch, "alignments": {"x": 4}})
    memory, y = tensor(64), tensor()
    call = short(CudaKernel(loose), memory[1:9], y, 1.0)
    for start, fits in ((1, True), (2, True), (3, True), (4, False), (0, False), (5, True)):
        assert call((memory[start : start + 8], y, 2.0), None) is fits
    assert torch.equal(y, memory[5:13] * 2)
    call = short(CudaKernel(loose), memory[4:12], y, 1.0)
    assert [call((memory[s : s + 8], y, 2.0), None) for s in (0, 1, 4)] == [True, False, True]


def test_a_tensor_forgotten_on_the_host_is_refused(
    driver: FakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    y = tensor()
    monkeypatch.setattr(arrays, "torch_device", lambda t: 0 if t is y else None)
    kernel = CudaKernel(scale_artifact())
    with pytest.raises(
        DiagnosticError, match="argument x is a torch tensor on cpu, and y"
    ) as caught:
        kernel.launch({"x": tensor(), "y": y, "s": 1.0})
    assert caught.value.diagnostics[0].code == "DSL0765"
    kernel.launch({"x": tensor().numpy(), "y": y, "s": 1.0})
    monkeypatch.setattr(arrays, "torch_device", lambda t: None)
    kernel.launch({"x": tensor(), "y": y, "s": 2.0})  # all on the host: copied there and back
    assert torch.equal(y, tensor() * 2)


def test_a_call_repeated_launches_in_the_right_context(driver: FakeDriver) -> None:
    call = short(CudaKernel(scale_artifact()), tensor(), tensor(), 1.0)
    x, y = tensor(), tensor()
    for context in (1000, 0, 55, 0, 55, 1000):
        driver.context = context
        y.zero_()
        assert call((x, y, 3.0), None)
        assert torch.equal(y, x * 3)
        assert driver.context == context


def test_a_call_repeated_takes_streams_and_scalars_as_they_are(driver: FakeDriver) -> None:
    call = short(CudaKernel(scale_artifact()), tensor(), tensor(), 1.0)
    x, y = tensor(), tensor()
    x.fill_(1)
    for _ in range(3):
        for stream in (None, 9, 3):
            for s in (0.0, -0.0, 1, 1.0, -2.5, float("nan")):
                y.fill_(7)
                assert call((x, y, s), stream)
                assert driver.last.stream == (stream or 6)
                assert torch.equal(y.view(torch.int32), (x * s).view(torch.int32))
    driver.fail_next(700)
    with pytest.raises(DiagnosticError, match="ILLEGAL_ADDRESS"):
        call((x, y, 1.0), None)


def test_many_addresses_are_forgotten_in_time(driver: FakeDriver) -> None:
    call = short(CudaKernel(scale_artifact()), tensor(), tensor(), 1.0)
    memory, y = tensor(4 * 2000), tensor()
    for _ in range(3):
        for k in range(0, 4 * 1500, 4):
            assert call((memory[k : k + 8], y, 1.0), None)
            assert y[0] == memory[k]


def test_equal_addresses_of_other_shapes_are_checked_again(driver: FakeDriver) -> None:
    kernel = CudaKernel(scale_artifact())
    memory = tensor(64)
    small = short(kernel, memory[:8], memory[8:16], 1.0)
    for _ in range(3):
        assert small((memory[:8], memory[8:16], 1.0), None)
    large = short(kernel, memory[:16], memory[16:32], 1.0)
    for _ in range(3):
        assert large((memory[:16], memory[8:24], 1.0), None) is False
