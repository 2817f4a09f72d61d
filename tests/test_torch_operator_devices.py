"""Where torch dispatches a kernel's operator, as far as that can be told without torch."""

from __future__ import annotations

import pytest
from dslc.machines.registry import find_machine


@pytest.mark.parametrize(
    ("target", "where", "devices"),
    [
        ("cuda:sm_90a", "emulator", "CUDA"),
        ("hip:gfx950", "gpu", "CUDA"),
        ("hip:gfx950", "emulator", "CPU"),
        ("aarch64:all", "gpu", "CPU"),
        ("interp", "gpu", "CPU"),
    ],
)
def test_operators_run_where_kernels_do(
    target: str, where: str, devices: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DSLC_HIP", where)
    assert find_machine(target).torch_device() == devices
