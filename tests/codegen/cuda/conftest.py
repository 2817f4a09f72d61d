"""Tests of CUDA's toolchain: they need the compiler's wheel, and neither a GPU nor a driver."""

from __future__ import annotations

import pytest
from dslc.codegen.cuda.tools.locate import find_library, find_tool


@pytest.fixture(scope="session")
def nvrtc() -> None:
    if find_library("nvrtc") is None:
        pytest.skip("needs NVRTC: pip install nvidia-cuda-nvrtc")


@pytest.fixture(scope="session")
def nvdisasm(nvrtc: None) -> None:
    if find_tool("nvdisasm") is None:
        pytest.skip("needs nvdisasm: pip install nvidia-cuda-nvdisasm")
