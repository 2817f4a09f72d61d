"""Where a machine runs code of a package."""

from __future__ import annotations

import platform
from types import SimpleNamespace
from typing import Any

import pytest
from dslc.runtime.package import places


@pytest.mark.parametrize(
    ("is_arm", "targets", "found"),
    [
        (True, ["aarch64:i8mm", "interp"], ["cpu"]),
        (True, ["cuda:sm_90a", "aarch64:base"], ["gpu", "cpu"]),
        (True, ["hip:gfx950", "cuda:sm_90a"], ["gpu", "amd"]),
        (False, ["aarch64:i8mm"], []),
        (True, ["interp"], []),
        (True, ["cpu:apple-m1", "aarch64:base"], ["cpu"]),
        (False, ["cpu:znver4", "aarch64:base"], ["cpu"]),
    ],
)
def test_gpus_come_before_the_cpu_for_which_there_is_code(
    is_arm: bool, targets: list[str], found: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "arm64" if is_arm else "x86_64")
    monkeypatch.setattr(places, "cpu_place", lambda _: "cpu")
    monkeypatch.setitem(places.PRESENT, "cuda", lambda *_: "gpu")
    monkeypatch.setitem(places.PRESENT, "hip", lambda *_: "amd")
    folder: Any = SimpleNamespace(index=SimpleNamespace(targets=targets))
    assert places.present_places(folder, native=False) == found
