"""Casts between all dtypes on CUDA, AMD and Arm machines: what the interpreter gives, bit by bit."""

from __future__ import annotations

import pytest

from support.generated.cast_table import NAMES, codes, differences

MACHINES = ("cuda:sm_90a", "hip:gfx950", "aarch64:base")
# One source of each kind, to one dtype of each kind and width.
SOURCES = ("bool", "i3", "u8", "i64", "f8e5m2", "f64")
TARGETS = (
    "bool", "i1", "u4", "i8", "u16", "i32", "u32", "i64", "u64", "f4e2m1", "f8e4m3", "f8e5m2", "e8m0",
    "f16", "bf16", "tf32", "f32", "f64",
)  # fmt: skip


def _pairs(names: tuple[str, ...]) -> list[tuple[str, bool]]:
    return [(name, saturate) for name in names for saturate in (False, True)]


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("target", MACHINES)
def test_some_casts(target: str, source: str) -> None:
    assert not differences(target, source, codes(source, everything=False), _pairs(TARGETS))


@pytest.mark.deep
@pytest.mark.parametrize("source", NAMES)
@pytest.mark.parametrize("target", [*MACHINES, "hip:gfx942", "aarch64:bf16", "cpu"])
def test_every_cast(target: str, source: str) -> None:
    assert not differences(target, source, codes(source, everything=True), _pairs(NAMES))
