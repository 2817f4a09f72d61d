"""Calls through the face that a GPU's kernels cannot serve, or only just; on the driver's stand-in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dslc
import numpy as np
import pytest
from dslc.codegen.cuda.tools.locate import find_library
from dslc.compiler.diagnostics import DiagnosticError

from support.gpu.fake_cuda import FakeDriver, OnDevice, aligned

pytestmark = pytest.mark.skipif(
    find_library("nvrtc") is None, reason="needs NVRTC: pip install nvidia-cuda-nvrtc"
)
EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture(scope="module")
def gemm() -> Any:
    return dslc.compile(EXAMPLES / "gemm_quantized.tile", "cuda:sm_90a", cache=False).gemm_quantized


def on_device(*shape: int, dtype: str = "float16") -> OnDevice:
    return OnDevice(aligned(shape, dtype))


def operands(m: int, n: int, k: int) -> list[Any]:
    groups = k // 128
    codes = np.zeros((k, n), np.uint8)
    return [on_device(m, k), codes, on_device(groups, n), on_device(m, n)]


def refused(kernel: Any, *args: Any) -> str:
    with pytest.raises(DiagnosticError) as caught:
        kernel(*args, BN=64, BK=64)
    return str(caught.value.diagnostics[0])


def test_no_rows(gemm: Any, driver: FakeDriver) -> None:
    gemm(*operands(0, 64, 128), BN=64, BK=64)
    gemm(*operands(16, 0, 128), BN=64, BK=64)
    assert driver.count("launches") == 0


def test_nothing_to_sum_is_a_result(gemm: Any, driver: FakeDriver) -> None:
    gemm(*operands(16, 64, 0), BN=64, BK=64)
    assert driver.count("launches") == 1


def test_a_part_of_a_group(gemm: Any, driver: FakeDriver) -> None:
    found = refused(gemm, *operands(16, 64, 192))
    assert "DSL0217" in found  # K is compiled in: the weights are packed for one value of it
    assert "K % G == 0 does not hold: G = 128, K = 192" in found


def test_scales_of_another_shape(gemm: Any, driver: FakeDriver) -> None:
    a, w, _, c = operands(16, 64, 256)
    found = refused(gemm, a, w, on_device(1, 64), c)
    assert "DSL0752" in found
    assert "argument s has shape (1, 64)" in found


def test_another_element_type_is_seen_before_a_kernel_is_compiled(driver: FakeDriver) -> None:
    kernel = dslc.compile(EXAMPLES / "softmax.tile", "cuda:sm_90a", cache=False).softmax
    x, y = on_device(4, 64, dtype="float64"), on_device(4, 64, dtype="float32")
    with pytest.raises(DiagnosticError, match="argument x is an array of float64") as caught:
        kernel(x, y)
    assert caught.value.diagnostics[0].code == "DSL0761"
    assert not kernel._origin._made


def test_packed_bytes_of_another_size(gemm: Any, driver: FakeDriver) -> None:
    a, w, s, c = operands(16, 64, 256)
    packed = gemm.pack("w", w, BN=64, BK=64)
    gemm(a, packed, s, c, BN=64, BK=64)
    assert "DSL0752" in refused(gemm, a, packed[:-1].copy(), s, c)


def test_a_packed_tensor_may_begin_anywhere(gemm: Any, driver: FakeDriver) -> None:
    a, w, s, c = operands(16, 64, 256)
    packed = gemm.pack("w", w, BN=64, BK=64)
    moved = aligned(packed.shape, "uint8", past=1)
    moved[...] = packed
    gemm(a, OnDevice(moved), s, c, BN=64, BK=64)
    assert driver.count("launches") == 1
