"""Programs of all kinds on a GPU in place of the emulator: the assembler's faults show nowhere else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from corpus.cases import cases
from support import corpus
from support.machines import call
from support.oracle.generator import generate
from support.oracle.profiles import profile
from support.oracle.running import run

TARGET = "cuda:sm_90a"
pytestmark = pytest.mark.gpu

# ptxas 13.0 to 13.3 make one instruction of a maximum of a minimum, and compares it the wrong way
# round with the bound; of a maximum of three negative numbers it forgets a sign.
BOUNDS = """
kernel bound(x: f32[N], y: out f32[N]):
    for n in parallel(range(0, N, 2)):
        part = x[n : n + 2]
        y[n : n + 2] = where(cast(part, u8, saturate=True) >= 255, part * 2, part)
"""
SIGNS = """
kernel signs(x: i8[3, N], y: out f32[N]):
    for n in parallel(range(0, N, 4)):
        y[n : n + 4] = cast(max(cast(x[:, n : n + 4], i1), 0), f32)
"""
BRANCH = """
kernel branch(x: f32[N], y: out f32[N]):
    for n in parallel(range(0, N, 2)):
        part = x[n : n + 2]
        if max(full(u7, [1], 127)) != cast(max(part), u7):
            part = part + 1
        y[n : n + 2] = part
"""


@pytest.fixture(autouse=True)
def _gpu(torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    if torch.cuda.get_device_capability()[0] != 9:
        pytest.skip("needs a Hopper GPU")
    monkeypatch.setenv("DSLC_TEST_GPU", "1")


@pytest.mark.parametrize("source", [BOUNDS, SIGNS, BRANCH])
def test_bounds_and_signs(source: str) -> None:
    dtype = np.int8 if source is SIGNS else np.float32
    x = np.array([1, 2, -4, 127, 100, 0, -128, 3] * 3, dtype).reshape(3, 8)
    x = x.reshape(-1) * 3 if source is not SIGNS else x
    count = x.shape[-1]
    found, wanted = np.zeros(count, np.float32), np.ones(count, np.float32)
    call(TARGET, source, {"x": x, "y": found})
    call("interp", source, {"x": x, "y": wanted})
    assert found.tolist() == wanted.tolist()


def test_host_arrays_with_strides_that_a_kernel_binds() -> None:
    source = """
kernel double(x: f16[M, N] strides (a, b), y: out f16[M, N] strides (c, d)):
    for m in parallel(range(0, M, 8)):
        y[m : m + 8, 0:32] = x[m : m + 8, 0:32] * 2
"""
    for step in (1, 2, 3):
        whole = (np.arange(34 * 24 * step) % 64).astype(np.float16)
        x = whole.reshape(34, -1)[::2, ::step]
        y = np.zeros((34, 24 * step), np.float16)[::2, ::step]
        call(TARGET, source, {"x": x, "y": y})
        assert (y == x * 2).all()


@pytest.mark.parametrize("name", cases())
def test_a_program_of_the_corpus(name: str) -> None:
    corpus.run(cases()[name], TARGET)


@pytest.mark.parametrize("first", range(0, 600, 20))
def test_random_programs(first: int) -> None:
    found = {s: run(TARGET, generate(s, profile(TARGET))) for s in range(first, first + 20)}
    assert {seed: o for seed, o in found.items() if o.is_failure} == {}
