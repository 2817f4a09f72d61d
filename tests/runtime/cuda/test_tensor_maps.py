"""Tensor maps among a launch's parameters, encoded by the driver's stand-in."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from dslc.compiler.artifact import Artifact, Param
from dslc.compiler.diagnostics import DiagnosticError
from dslc.runtime.cuda import CudaKernel

from support.gpu.fake_cuda import FakeDriver, OnDevice, aligned, scale_artifact

MAP: dict[str, Any] = {
    "kind": "tensor_map", "name": "x", "bytes": 4, "swizzle": 128,
    "extents": ["n", "8"], "strides": ["(n) * 4"], "box": [32, 8],
}  # fmt: skip


def artifact(box: dict[str, Any] = MAP, name: str = "mapped", *more: dict[str, Any]) -> Artifact:
    plain = scale_artifact()
    params = (Param("x", "f32", "in", ("8", "n")), Param("y", "f32", "out", ("16",)))
    tensors = [{"kind": "tensor", "name": name} for name in ("x", "y")]
    launch = {"threads": 32, "grid": ["1"], "arguments": [*tensors, *more, box]}
    signature = replace(plain.signature, params=params, dims=("n",), requires=())
    files = dict.fromkeys(plain.files, name.encode())
    return replace(plain, name=name, entry=name, signature=signature, launch=launch, files=files)


def launch(kernel: CudaKernel, n: int) -> np.ndarray[Any, Any]:
    x, y = aligned(8 * n).reshape(8, n), aligned(16)
    kernel.launch({"x": OnDevice(x), "y": OnDevice(y)})
    return y


def test_a_map_says_where_the_tensor_is_and_what_box_is_copied(driver: FakeDriver) -> None:
    found = launch(CudaKernel(artifact()), 64)
    assert found[0] == 1  # the address is that of x
    assert found[1:4].tolist() == [2, 2, 3]  # axes, 32-bit elements, 128 bytes
    assert found[4:6].tolist() == [64, 8]
    assert found[9:11].tolist() == [32, 8]
    assert found[14] == 256


def test_an_address_of_before_is_not_encoded_again(driver: FakeDriver) -> None:
    kernel = CudaKernel(artifact())
    x, y = OnDevice(aligned(512).reshape(8, 64)), OnDevice(aligned(16))
    before = driver.library.fake_encoded()
    for _ in range(3):
        kernel.launch({"x": x, "y": y})
    assert driver.library.fake_encoded() == before + 1
    kernel.launch({"x": OnDevice(aligned(512).reshape(8, 64)), "y": y})
    assert driver.library.fake_encoded() == before + 2


def test_a_map_lies_behind_all_other_arguments(driver: FakeDriver) -> None:
    """Eighteen of them fill more bytes than a map has."""
    values = [{"kind": "value", "value": str(i + 1), "type": "i32"} for i in range(16)]
    found = launch(CudaKernel(artifact(MAP, "numbers", *values)), 64)
    assert found.tolist() == list(range(1, 17))


def test_an_empty_axis_has_a_map_too(driver: FakeDriver) -> None:
    assert launch(CudaKernel(artifact()), 0)[4] == 1


@pytest.mark.parametrize("change", [{"bytes": 3}, {"swizzle": 16}, {"box": [32]}, {"name": "z"}])
def test_a_map_is_read_strictly(change: dict[str, Any]) -> None:
    with pytest.raises(DiagnosticError) as caught:
        CudaKernel(artifact({**MAP, **change}))
    assert caught.value.diagnostics[0].code == "DSL0802"
