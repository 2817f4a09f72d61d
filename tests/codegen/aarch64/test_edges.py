"""Kernels at edges of what chunks can do, in the emulator, against the interpreter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dslc
import numpy as np
import pytest
from dslc.codegen.aarch64.machine_code.stream import Stream

from support.aarch64 import needs_emulator

KERNELS = {
    "strided stores past the end": """
kernel k(x: f32[M, N], y: inout f32[M, N]):
    for n in parallel(range(0, N, 32)):
        y[0, 2 * n : 2 * n + 64 : 2] = x[1, n : n + 32] + 1
""",
    "scattered rows with columns past the end": """
kernel k(x: f32[M, N], y: inout f32[M, N]):
    for n in parallel(range(0, N, 32)):
        rows = cast(x[0 : 3, 0], i32)
        scatter(y[:, n : n + 32], rows, x[0 : 3, n : n + 32], 0)
""",
    "truths as integers of one bit": """
kernel k(x: f32[M, N], y: inout f32[M, N]):
    for n in parallel(range(0, N, 32)):
        y[0, n : n + 32] = cast(cast(x[0, n : n + 32] > 4, i1, saturate=True), f32)
        y[1, n : n + 32] = cast(cast(x[0, n : n + 32] > 4, i1), f32)
""",
    "places across the lanes": """
kernel k(x: f32[M, N], y: inout f32[M, N]):
    for n in parallel(range(0, N, 8)):
        y[0, n : n + 8] = cast(argmax(x[0 : 16, n : n + 8], 0), f32)
        y[1, n : n + 8] = cast(argmin(x[0 : 16, n : n + 8], 0), f32)
""",
    "a loop whose turns are not known": """
kernel k(x: f32[M, N], y: inout f32[M, N]):
    for m in parallel(range(M)):
        n = cast(m, i32)
        i = 0
        while i * i < n:
            i += 1
        y[m, 0 : 8] = x[m, 0 : 8] + cast(i, f32)
""",
}


@pytest.mark.parametrize("size", [37, 64])
@pytest.mark.parametrize("case", KERNELS)
def test_the_text_means_what_the_kernel_means(case: str, size: int, tmp_path: Path) -> None:
    needs_emulator()
    path = tmp_path / "k.tile"
    path.write_text(KERNELS[case])
    x = np.random.default_rng(7).integers(0, 9, (7, size)).astype(np.float32)
    x[:3, 0] = 5, 2, 11  # rows of the scatter
    found: dict[str, Any] = {}
    for target in ("interp", "aarch64:i8mm"):
        found[target] = np.full_like(x, -1)
        dslc.compile(path, target=target, cache=False).k(x, found[target])
    np.testing.assert_array_equal(found["aarch64:i8mm"], found["interp"])


def test_products_of_one_element_read_no_mask_behind_its_end(tmp_path: Path) -> None:
    """A register of sums has four columns, the mask beside them one byte."""
    needs_emulator()
    path = tmp_path / "k.tile"
    path.write_text("""
kernel k(x: bool[1, 1], y: out f32[1, 1]):
    total = full(f32, [1, 1], 1.0)
    for i in range(0, 3):
        ones = full(f32, [1, 1], 1.0)
        total = where(x[:, 0 : 1], ones, dot(ones, ones, transposed="b"))
    y[0 : 1, 0 : 1] = total
""")
    y = np.zeros((1, 1), np.float32)
    dslc.compile(path, target="aarch64:i8mm", cache=False).k(np.zeros((1, 1), bool), y)
    assert y[0, 0] == 1


def test_lanes_in_a_large_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    """A byte is out of an instruction's reach 4096 bytes into the frame."""
    needs_emulator()
    begin = Stream.__init__

    def large(stream: Stream) -> None:
        begin(stream)
        stream.frame_bytes = 8192

    monkeypatch.setattr(Stream, "__init__", large)
    source = """
kernel k(x: i8[N], y: out i8[N]):
    for n in parallel(range(0, N, 32)):
        y[n : n + 32] = x[n : n + 32] + 1
"""
    x, y = np.arange(37, dtype=np.int8), np.zeros(37, np.int8)
    dslc.compile(source, target="aarch64:i8mm", cache=False).k(x, y)
    np.testing.assert_array_equal(y, x + 1)
