"""Programs: several kernels, one call."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from dslc.compiler.artifact import Artifact, Hashes, Param, Signature
from dslc.compiler.diagnostics import DiagnosticError
from dslc.runtime.cuda import CudaKernel

from support.fake_cuda import FakeDriver, OnDevice, aligned, scale_artifact


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


def test_the_kernels_run_one_after_another(driver: FakeDriver) -> None:
    program = CudaKernel(twice())
    for n, s in ((8, 2.0), (8, -1.5), (64, 0.5)):
        x, y = OnDevice(aligned(n)), OnDevice(aligned(n))
        x.array[:] = np.arange(n)
        program.launch({"x": x, "s": s, "y": y}, 5)
        assert np.array_equal(y.array, x.array * np.float32(s) * 3)
        assert driver.last.stream == 5
    assert driver.count("launches") == 6
    assert driver.count("allocations") == 2  # the buffer of the stream, and a larger one


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
    for launch in ({"calls": [{"kernel": 4}]}, {"buffers": [{}]}, {"kernels": [{"format": 1}]}):
        with pytest.raises(DiagnosticError) as caught:
            CudaKernel(replace(twice(), launch={**twice().launch, **launch}))
        assert caught.value.diagnostics[0].code == "DSL0802" or "kernels" in launch
