"""Views of bits: numbers as the interpreter has them, whatever the dtypes."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from support.machines import call

KINDS = {
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
    "bf16": ml_dtypes.bfloat16,
    "f8e4m3": ml_dtypes.float8_e4m3fn,
    "u8": np.uint8,
    "u16": np.uint16,
    "i16": np.int16,
    "i32": np.int32,
    "u32": np.uint32,
    "u64": np.uint64,
}
ONE, MANY = "spatial(8).local({n})", "local({n}).spatial(8)"


def viewed(source: str, here: str, target: str, there: str, made: str, machine: str) -> Any:
    """What a machine stores of a view of 24 elements a thread, of 8 threads."""
    bits = np.dtype(KINDS[source]).itemsize
    n, m = 24, 24 * bits // np.dtype(KINDS[target]).itemsize
    text = (
        f"kernel k(x: {source}[{8 * n}], y: out {target}[{8 * m}]):\n    grid(1)\n"
        f"    t = load(x[:], layout={here.format(n=n)})\n"
        f"    y[:] = view({made}, {target}, {there.format(n=m)})\n"
    )
    x = np.random.default_rng(4).integers(0, 120, 8 * n * bits, np.uint8).view(KINDS[source])
    y = np.zeros(8 * m, KINDS[target])
    call(machine, text, {"x": x, "y": y})
    return y.view(np.uint8)


CASES = [
    ("f32", ONE, "i32", ONE, "t"),
    ("f32", ONE, "i32", ONE, "t * 2.0"),
    ("i32", ONE, "f32", ONE, "t + 1"),
    ("f16", ONE, "u16", ONE, "t * 2.0"),
    ("bf16", ONE, "i16", MANY, "t"),
    ("u16", MANY, "f16", ONE, "t"),
    ("u16", MANY, "bf16", ONE, "t"),
    ("f8e4m3", ONE, "u8", MANY, "t"),
    ("u8", ONE, "f8e4m3", ONE, "t"),
    ("f32", ONE, "u16", ONE, "t"),
    ("f16", ONE, "u8", ONE, "t + 1.0"),
    ("u8", ONE, "f32", ONE, "t"),
    ("f8e4m3", ONE, "f16", MANY, "t"),
    ("f64", ONE, "u64", ONE, "-t"),
    ("f64", MANY, "u32", ONE, "t"),
    ("u32", ONE, "f64", ONE, "t"),
]
LONG = ("f64", "u64")


@pytest.mark.sampled(4)
@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c[0]} {c[2]} {c[4]}")
@pytest.mark.parametrize("machine", ["aarch64:base", "cpu", "aie:npu2"])
def test_floats_are_seen_as_other_types(machine: str, case: tuple[str, ...]) -> None:
    if machine.startswith("aie") and (case[0] in LONG or case[2] in LONG):
        pytest.skip("an NPU has no elements of 64 bits")
    np.testing.assert_array_equal(viewed(*case, machine), viewed(*case, "interp"))


@pytest.mark.parametrize("machine", ["aarch64:base", "cpu", "aie:npu2"])
def test_codes_of_a_few_bits_are_seen_as_others(machine: str) -> None:
    text = """kernel k(x: u8[8, 3], y: out u8[8, 4], z: out u8[8, 6]):
    grid(1)
    t = load(x[:, :], layout=spatial(8, 1).local(1, 3))
    six = view(t, u6, spatial(8, 1).local(1, 4))
    y[:, :] = cast(six, u8)
    four = view(six, f4e2m1, spatial(8, 1).local(1, 6))
    z[:, :] = cast(cast(four, f32) * 2.0 + 20.0, u8)
"""
    x = np.random.default_rng(5).integers(0, 256, (8, 3), np.uint8)
    stored = []
    for one in (machine, "interp"):
        y, z = np.zeros((8, 4), np.uint8), np.zeros((8, 6), np.uint8)
        call(one, text, {"x": x, "y": y, "z": z})
        stored.append((y, z))
    for own, expected in zip(*stored, strict=True):
        np.testing.assert_array_equal(own, expected)
