"""What a caller may get wrong, and sizes at the edge: a result or an error that says what is wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from dslc.compiler.artifact import Artifact, Param, Signature
from dslc.compiler.diagnostics import DiagnosticError
from dslc.runtime.cuda import CudaDevice, CudaKernel
from dslc.runtime.cuda.arrays import DeviceArray

from support.gpu.fake_cuda import FakeDriver, OnDevice, aligned, scale_artifact

LIMIT = (1 << 31) - (1 << 20)


def matrix_artifact(strided: bool = False) -> Artifact:
    """A kernel of two matrices that does nothing; their rows lie `sx` and `sy` apart if asked."""
    strides = {"x": ("sx", "1"), "y": ("sy", "1")} if strided else {}
    params = (
        Param("x", "f16", "in", ("M", "N"), strides.get("x")),
        Param("y", "f16", "out", ("M", "N"), strides.get("y")),
    )
    dims = ("M", "N", "sx", "sy") if strided else ("M", "N")
    launch = {
        "threads": 128, "grid": ["cdiv(M, 16)"],
        "arguments": [
            {"kind": "tensor", "name": "x"}, {"kind": "tensor", "name": "y"},
            *({"kind": "value", "value": d, "type": "i32"} for d in dims),
        ],
    }  # fmt: skip
    files = {"sm_90a.cubin": b"none\0"}
    return scale_artifact(
        entry="none", signature=Signature(params, dims), launch=launch, files=files
    )


def device_array(
    shape: tuple[int, ...], strides: tuple[int, ...] | None = None, **changes: Any
) -> DeviceArray:
    """An array of the GPU that nobody reads: it may be of any size."""
    dense = tuple(int(np.prod(shape[k + 1 :])) for k in range(len(shape)))
    made = DeviceArray(changes.pop("address", 1 << 40), shape, strides or dense, "float16", 0)
    return replace(made, **changes)


def launch(kernel: CudaKernel, x: Any, y: Any) -> None:
    kernel.launch({"x": x, "y": y})


def refused(kernel: CudaKernel, x: Any, y: Any) -> str:
    with pytest.raises(DiagnosticError) as caught:
        launch(kernel, x, y)
    found = caught.value.diagnostics[0]
    return f"{found.code} {found.message}"


@pytest.mark.parametrize("shape", [(0, 8), (0, 0)])
def test_no_rows_are_no_launch(driver: FakeDriver, shape: tuple[int, int]) -> None:
    launch(CudaKernel(matrix_artifact()), device_array(shape), device_array(shape, address=1 << 41))
    assert driver.count("launches") == 0


def test_empty_tensors_may_have_no_address(driver: FakeDriver) -> None:
    nothing = device_array((0, 8), address=0)
    launch(CudaKernel(matrix_artifact()), nothing, nothing)
    assert driver.count("launches") == 0


def test_more_elements_than_32_bits_count(driver: FakeDriver) -> None:
    shape = (1 << 20, 1 << 14)
    launch(CudaKernel(matrix_artifact()), device_array(shape), device_array(shape, address=1 << 50))
    assert driver.last.grid[0] == 1 << 16


@pytest.mark.parametrize("shape", [(LIMIT + 1, 1), (1, LIMIT + 1), (1 << 33, 1)])
def test_a_dim_beyond_32_bits(driver: FakeDriver, shape: tuple[int, int]) -> None:
    found = refused(
        CudaKernel(matrix_artifact()), device_array(shape), device_array(shape, address=1 << 50)
    )
    assert found.startswith("DSL0843")
    assert f"= {max(shape)} is more than a kernel can index" in found


def test_two_dims_whose_sum_is_beyond_32_bits(driver: FakeDriver) -> None:
    shape = (1 << 30, 1 << 30)
    found = refused(
        CudaKernel(matrix_artifact()), device_array(shape), device_array(shape, address=1 << 62)
    )
    assert found.startswith("DSL0843 M + N")


def test_a_fixed_dim_beyond_32_bits(driver: FakeDriver) -> None:
    artifact = matrix_artifact()
    params = tuple(replace(p, dims=("M", str(1 << 32))) for p in artifact.signature.params)
    signature = Signature(params, ("M",), {"N": 1 << 32})
    arguments = artifact.launch["arguments"][:3]
    fixed = replace(
        artifact, signature=signature, launch={**artifact.launch, "arguments": arguments}
    )
    shape = (16, 1 << 32)
    found = refused(CudaKernel(fixed), device_array(shape), device_array(shape, address=1 << 50))
    assert found.startswith("DSL0843 N = 4294967296")


def test_rows_apart_that_are_not_declared(driver: FakeDriver) -> None:
    x, y = device_array((4, 8), (16, 1)), device_array((4, 8), address=1 << 41)
    found = refused(CudaKernel(matrix_artifact()), x, y)
    assert found == "DSL0753 argument x has strides (16, 1), expected [8, 1] (row-major)"


def test_rows_apart_that_are_declared(driver: FakeDriver) -> None:
    x, y = device_array((4, 8), (16, 1)), device_array((4, 8), (32, 1), address=1 << 41)
    launch(CudaKernel(matrix_artifact(strided=True)), x, y)
    assert driver.count("launches") == 1


def test_one_row_has_any_stride(driver: FakeDriver) -> None:
    x, y = device_array((1, 8), (99, 1)), device_array((1, 8), (-7, 1), address=1 << 41)
    launch(CudaKernel(matrix_artifact()), x, y)
    assert driver.count("launches") == 1


@pytest.mark.parametrize("strided", [False, True])
def test_an_axis_that_runs_backwards(driver: FakeDriver, strided: bool) -> None:
    x, y = device_array((4, 8), (-8, 1)), device_array((4, 8), address=1 << 41)
    found = refused(CudaKernel(matrix_artifact(strided)), x, y)
    assert found.startswith("DSL0753 argument x has strides (-8, 1): a kernel reads no axis back")


def test_a_broadcast_row_is_read(driver: FakeDriver) -> None:
    x, y = device_array((4, 8), (0, 1)), device_array((4, 8), address=1 << 41)
    launch(CudaKernel(matrix_artifact(strided=True)), x, y)
    assert refused(CudaKernel(matrix_artifact()), x, y).startswith("DSL0753")


@pytest.mark.parametrize("strides", [(0, 1), (4, 1), (7, 1)])
def test_rows_of_an_output_that_share_memory(driver: FakeDriver, strides: tuple[int, int]) -> None:
    x, y = device_array((4, 8)), device_array((4, 8), strides, address=1 << 41)
    found = refused(CudaKernel(matrix_artifact(strided=True)), x, y)
    assert found.startswith(f"DSL0742 argument y (out) has strides {strides}, by which elements")


def test_an_output_that_overlaps_an_input_in_part(driver: FakeDriver) -> None:
    x = device_array((4, 8))
    y = device_array((4, 8), address=x.address + 32)
    found = refused(CudaKernel(matrix_artifact()), x, y)
    assert found == "DSL0742 the arguments y (out) and x share memory"


def test_an_output_between_the_rows_of_an_input(driver: FakeDriver) -> None:
    x = device_array((4, 8), (16, 1))
    y = device_array((4, 8), (16, 1), address=x.address + 16)
    launch(CudaKernel(matrix_artifact(strided=True)), x, y)
    assert driver.count("launches") == 1


def test_two_inputs_may_share_memory(driver: FakeDriver) -> None:
    artifact = matrix_artifact()
    params = tuple(replace(p, mode="in") for p in artifact.signature.params)
    kernel = CudaKernel(replace(artifact, signature=replace(artifact.signature, params=params)))
    launch(kernel, device_array((4, 8)), device_array((4, 8)))
    assert driver.count("launches") == 1


def test_tensors_of_two_devices(driver: FakeDriver) -> None:
    driver.reset(devices=2)
    CudaDevice.get.cache_clear()
    x, y = device_array((4, 8)), device_array((4, 8), address=1 << 41, device=1)
    found = refused(CudaKernel(matrix_artifact()), x, y)
    assert found == "DSL0765 the arguments are on different devices: x on cuda:0, y on cuda:1"
    launch(CudaKernel(matrix_artifact()), replace(x, device=1), y)
    assert driver.count("launches") == 1


def test_another_element_type(driver: FakeDriver) -> None:
    y = device_array((4, 8), address=1 << 41)
    for element in ("float32", "bfloat16", "int16", "bool"):
        found = refused(CudaKernel(matrix_artifact()), device_array((4, 8), element=element), y)
        assert found.startswith(f"DSL0761 argument x is an array of {element}, expected f16")


@pytest.mark.parametrize("wrong", [None, [[1.0]], 3.0, "x"])
def test_what_is_no_array(driver: FakeDriver, wrong: Any) -> None:
    found = refused(CudaKernel(matrix_artifact()), wrong, device_array((4, 8)))
    assert found.startswith("DSL0760 argument x")


def test_arrays_of_the_host_beside_those_of_a_gpu(driver: FakeDriver) -> None:
    y = OnDevice(aligned((4, 8), "float16"))
    launch(CudaKernel(matrix_artifact()), np.ones((4, 8), np.float16)[::-1], y)
    assert driver.count("launches") == driver.count("allocations") == driver.count("frees") == 1


def test_an_array_of_the_host_may_begin_anywhere(driver: FakeDriver) -> None:
    x = aligned((4, 8), "float16", past=2)
    launch(CudaKernel(matrix_artifact()), x, np.zeros((4, 8), np.float16))
    assert driver.count("launches") == 1
