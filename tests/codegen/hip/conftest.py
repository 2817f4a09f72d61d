"""Tests of HIP's toolchain: they need a clang for AMD GPUs, and neither a GPU nor ROCm."""

from __future__ import annotations

import pytest
from dslc.codegen.hip.compilers import compilers


@pytest.fixture(scope="session")
def clang() -> None:
    if next(compilers(), None) is None:
        pytest.skip("needs a clang for AMD GPUs: pip install ziglang")
