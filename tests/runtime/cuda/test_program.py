"""Programs: several kernels, one call."""

from __future__ import annotations

import gc
import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from dslc.compiler.artifact import Artifact, Hashes, Param, Signature
from dslc.compiler.diagnostics import DiagnosticError
from dslc.runtime.cuda import CudaDevice, CudaKernel
from dslc.runtime.cuda.arrays import device_array

from support.gpu.fake_cuda import FakeDriver, OnDevice, aligned, scale_artifact


def twice(**launch: Any) -> Artifact:
    """y = (x * s) * 3, by two calls of one kernel through a buffer; s is a parameter."""
    scale = scale_artifact()
    params = (
        Param("x", "f32", "in", ("M",)),
        Param("s", "f32", "in"),
        Param("y", "f32", "out", ("M",)),
    )
    calls = [
        {"kernel": 0, "tensors": {"x": "x", "y": "t"}, "dims": {"N": "M"}, "scalars": {"s": "s"}},
        {"kernel": 0, "tensors": {"x": "t", "y": "y"}, "dims": {"N": "M"}, "scalars": {"s": "2.0 + 1"}},
    ]  # fmt: skip
    return Artifact(
        "twice", "program", "cuda:sm_90a", "twice", Signature(params, ("M",)), Hashes("", "", "", ""),
        launch={
            "buffers": [{"name": "t", "bytes": "M * 4"}],
            "kernels": [scale.to_manifest()],
            "calls": calls,
            **launch,
        },
        files={f"0.{name}": content for name, content in scale.files.items()},
    )  # fmt: skip


def call(program: CudaKernel, n: int, s: float, stream: int = 5) -> None:
    x, y = OnDevice(aligned(n)), OnDevice(aligned(n))
    x.array[:] = np.arange(n)
    program.launch({"x": x, "s": s, "y": y}, stream)
    assert np.array_equal(y.array, x.array * np.float32(s) * 3)


def test_the_first_call_launches_kernels_and_later_ones_a_graph(driver: FakeDriver) -> None:
    program = CudaKernel(twice())
    for n, s in ((8, 2.0), (8, -1.5), (8, 4.0), (64, 0.5)):
        call(program, n, s)
        assert driver.last.stream == 5
    assert driver.count("launches") == 4
    assert driver.count("graph_launches") == 2
    assert driver.count("edges") == driver.count("graphs") == 2
    assert driver.count("allocations") == 2  # the buffer of the stream, and a larger one


def test_views_and_conditions(driver: FakeDriver) -> None:
    """The second half of x, scaled where s is above 2; one call's kernel alone is launched else."""
    halves = [
        {"name": "x_1", "of": "x", "offset": "M // 2 * 4"},
        {"name": "y_1", "of": "y", "offset": "M // 2 * 4"},
        {"name": "t_1", "of": "t", "offset": "M // 2 * 4"},
    ]
    half = {"kernel": 0, "dims": {"N": "M // 2"}}
    calls = [
        {**half, "tensors": {"x": "x_1", "y": "t_1"}, "scalars": {"s": "s"}},
        {**half, "tensors": {"x": "t_1", "y": "y_1"}, "scalars": {"s": "2.0"}, "when": "s > 2"},
    ]
    program = CudaKernel(twice(views=halves, calls=calls))
    x, y = OnDevice(aligned(16)), OnDevice(aligned(16))
    x.array[:] = np.arange(16)
    for s in (3.0, 4.0, 1.0, 5.0, 5.0):
        y.array[:] = -1
        program.launch({"x": x, "s": s, "y": y})
        second = x.array[8:] * np.float32(s) * 2 if s > 2 else -1
        assert (y.array[:8] == -1).all()
        assert (y.array[8:] == second).all()
    assert driver.count("edges") == driver.count("graphs") == 1


def test_a_call_like_one_before_only_launches(driver: FakeDriver) -> None:
    program = CudaKernel(twice())
    x, y = OnDevice(aligned(8)), OnDevice(aligned(8))
    for _ in range(5):
        program.launch({"x": x, "s": 2.0, "y": y})
    assert driver.count("graphs") == 1
    assert driver.count("updates") == 0
    assert driver.count("graph_launches") == 4


def test_many_addresses_share_few_graphs(driver: FakeDriver) -> None:
    program = CudaKernel(twice())
    outputs = [OnDevice(aligned(8)) for _ in range(10)]
    x = OnDevice(aligned(8))
    x.array[:] = np.arange(8)
    for y in [*outputs, *outputs]:
        y.array[:] = -1
        program.launch({"x": x, "s": 2.0, "y": y})
        assert np.array_equal(y.array, x.array * 6)
    assert driver.count("graphs") == 8
    assert driver.count("updates") == 19 - 8  # the kernel that writes y, alone


def test_zeros_of_both_signs_are_two_numbers(driver: FakeDriver) -> None:
    program = CudaKernel(twice())
    x, y = OnDevice(aligned(8)), OnDevice(aligned(8))
    x.array[:] = 1
    for s in (1.0, 0.0, -0.0, 0.0):
        program.launch({"x": x, "s": s, "y": y})
        assert np.signbit(y.array).all() == np.signbit(s)


@pytest.mark.parametrize(
    ("dtype", "numbers"),
    [("bf16", (0.5, -2)), ("f64", (1e300, 0.1)), ("bool", (True, False)), ("u64", (0, 2**64 - 1)),
     ("i8", (-128, 127)), ("index", (0, 7))],
)  # fmt: skip
def test_scalars_of_every_kind(driver: FakeDriver, dtype: str, numbers: tuple[Any, ...]) -> None:
    artifact = twice()
    x, s, y = artifact.signature.params
    calls = [{**c, "scalars": {"s": "2.0"}} for c in artifact.launch["calls"]]
    signature = replace(artifact.signature, params=(x, replace(s, dtype=dtype), y))
    launch = {**artifact.launch, "calls": calls}
    program = CudaKernel(replace(artifact, signature=signature, launch=launch))
    x, y = OnDevice(aligned(8)), OnDevice(aligned(8))
    x.array[:] = 1
    for number in (*numbers, *numbers):
        program.launch({"x": x, "s": number, "y": y})
        assert np.array_equal(y.array, x.array * 4)
    assert driver.count("graphs") == 2


def test_choices_of_dims_share_a_number_of_graphs(driver: FakeDriver) -> None:
    gc.collect()  # what other tests left
    before = driver.count("destroyed")
    program = CudaKernel(twice())
    for n in range(4, 4 + 4 * 40, 4):
        call(program, n, 1.0)
        call(program, n, 2.0)
    assert driver.count("graphs") == 40
    gc.collect()
    assert driver.count("destroyed") == before + 8


def test_streams_have_buffers_and_graphs_of_their_own(driver: FakeDriver) -> None:
    program = CudaKernel(twice())
    for stream in (1, 2, 1, 2, 1, 2):
        call(program, 8, 1.0, stream)
    assert driver.count("allocations") == 2
    assert driver.count("launches") == 2  # those of the first call


def test_the_stream_of_each_thread_has_buffers_and_graphs_of_its_own(driver: FakeDriver) -> None:
    program = CudaKernel(twice())
    x, y = OnDevice(aligned(8)), OnDevice(aligned(8))

    def work() -> None:
        for _ in range(3):
            program.launch({"x": x, "s": 2.0, "y": y}, 2)

    for number in (1, 2):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert driver.count("graphs") == driver.count("allocations") == number


def test_a_capture_records_kernels(driver: FakeDriver) -> None:
    program = CudaKernel(twice())
    call(program, 8, 1.0, 1)
    driver.capture(True)
    call(program, 8, 1.0, 1)
    call(program, 8, 2.0, 1)
    driver.capture(False)
    assert driver.count("launches") == 6
    assert driver.count("graphs") == 0
    assert driver.count("allocations") == 2  # the captured graph has a buffer of its own
    call(program, 8, 2.0, 1)
    assert driver.count("graph_launches") == 1


def test_a_program_first_called_in_a_capture(driver: FakeDriver) -> None:
    program = CudaKernel(twice())
    driver.capture(True)
    call(program, 8, 1.0)
    driver.capture(False)
    assert driver.count("launches") == 2
    assert driver.count("synchronisations") == 1  # of the stream that clears the buffer


def test_waiting_after_every_launch_tells_kernels_apart(
    driver: FakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DSLC_CUDA_SYNC", "1")
    program = CudaKernel(twice())
    call(program, 8, 1.0)
    before = driver.count("synchronisations")
    call(program, 8, 1.0)
    assert driver.count("synchronisations") == before + 2
    assert driver.count("graphs") == 0


def test_a_graph_that_is_refused_is_an_error(driver: FakeDriver) -> None:
    program = CudaKernel(twice())
    for _ in range(2):
        call(program, 8, 1.0)
    driver.fail_next(700)
    with pytest.raises(DiagnosticError, match=r"launching scale.*ILLEGAL_ADDRESS") as caught:
        call(program, 8, 1.0)
    assert caught.value.diagnostics[0].code == "DSL0842"


def test_a_graph_runs_in_the_context_of_its_device(driver: FakeDriver) -> None:
    program = CudaKernel(twice())
    for _ in range(3):
        driver.context = 0
        call(program, 8, 1.0)
        assert driver.context == 0
    assert driver.count("graph_launches") == 2


def test_no_turns_no_graph(driver: FakeDriver) -> None:
    program = CudaKernel(twice())
    for _ in range(3):
        call(program, 0, 1.0)
    assert driver.count("launches") == driver.count("graphs") == 0


def test_threads_share_a_program(driver: FakeDriver) -> None:
    program = CudaKernel(twice())
    failures: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            for k in range(100):
                call(program, 8, float(seed + k), stream=seed)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(1, 7)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures


def branches() -> Artifact:
    """p = 2 x, q = 3 x, y = 5 p: two calls that may run at once, and one that waits for the first."""
    params = (Param("x", "f32", "in", ("M",)), Param("q", "f32", "out", ("M",)),
              Param("y", "f32", "out", ("M",)))  # fmt: skip
    calls = [
        {"kernel": 0, "tensors": {"x": a, "y": b}, "dims": {"N": "M"}, "scalars": {"s": s}}
        for a, b, s in (("x", "p", "2.0"), ("x", "q", "3.0"), ("p", "y", "5.0"))
    ]
    signature = Signature(params, ("M",))
    buffers = [{"name": "p", "bytes": "M * 4"}]
    return replace(twice(calls=calls, buffers=buffers), signature=signature)


def test_calls_that_need_not_wait_do_not(driver: FakeDriver) -> None:
    program = CudaKernel(branches())
    x, q, y = (OnDevice(aligned(8)) for _ in range(3))
    x.array[:] = np.arange(8)
    for _ in range(3):
        q.array[:] = y.array[:] = 0
        program.launch({"x": x, "q": q, "y": y})
        assert np.array_equal(q.array, x.array * 3)
        assert np.array_equal(y.array, x.array * 10)
    assert driver.count("nodes_run") == 6
    assert driver.count("edges") == 1


def test_the_requirements_of_the_kernels_hold(driver: FakeDriver) -> None:
    with pytest.raises(DiagnosticError, match="N % 4 == 0") as caught:
        CudaKernel(twice()).launch({"x": OnDevice(aligned(6)), "s": 1.0, "y": OnDevice(aligned(6))})
    assert caught.value.diagnostics[0].code == "DSL0759"
    assert driver.count("launches") == 0


def test_a_scalar_within_an_expression_is_part_of_the_plan(driver: FakeDriver) -> None:
    calls = twice().launch["calls"]
    changed = [calls[0], {**calls[1], "scalars": {"s": "s * 2.0"}}]
    program = CudaKernel(twice(calls=changed))
    x, y = OnDevice(aligned(8)), OnDevice(aligned(8))
    x.array[:] = 1
    for s in (1.0, 3.0):
        program.launch({"x": x, "s": s, "y": y})
        assert np.array_equal(y.array, np.full(8, 2 * s * s, np.float32))


def test_what_is_no_description_is_refused() -> None:
    right = twice().launch
    call = right["calls"][0]
    for launch in (
        {"calls": [{"kernel": 4}]}, {"buffers": [{}]}, {"kernels": [{"format": 1}]}, {"kernels": 1},
        {"calls": [{**call, "kernel": 1}]}, {"calls": [{**call, "kernel": -1}]},
        {"calls": [{**call, "tensors": {**call["tensors"], "x": "nowhere"}}]},
        {"calls": [{**call, "scalars": {}}]}, {"calls": [{**call, "dims": {"N": 4}}]},
        {"buffers": [*right["buffers"], *right["buffers"]]},
    ):  # fmt: skip
        with pytest.raises(DiagnosticError) as caught:
            CudaKernel(replace(twice(), launch={**right, **launch}))
        assert caught.value.diagnostics[0].code == "DSL0802"


def test_every_device_has_graphs_and_buffers_of_its_own(driver: FakeDriver) -> None:
    driver.reset(devices=2)
    CudaDevice.get.cache_clear()
    program = CudaKernel(twice())
    x, y = OnDevice(aligned(8)), OnDevice(aligned(8))
    x.array[:] = np.arange(8)
    arrays = {n: device_array(a, n) for n, a in (("x", x), ("y", y))}
    for current in (1000, 1001, 1001, 1000, 0):
        for device in (0, 1):
            driver.context = current
            there = {n: replace(a, device=device) for n, a in arrays.items() if a is not None}
            y.array[:] = 0
            program.launch({**there, "s": 2.0})
            assert np.array_equal(y.array, x.array * 6)
            assert driver.context == current
    assert driver.count("graphs") == driver.count("allocations") == 2
    assert driver.count("launches") == 4


def test_kernels_that_wait_themselves_begin_early(driver: FakeDriver) -> None:
    plain = twice()
    (scale,) = plain.launch["kernels"]
    early = {**scale, "launch": {**scale["launch"], "dependent": True}}
    for artifact, count in ((plain, 0), (twice(kernels=[early]), 1)):
        program = CudaKernel(artifact)
        for _ in range(2):
            call(program, 8, 2.0)
        assert driver.count("early_edges") == count
    assert driver.count("edges") == 2
