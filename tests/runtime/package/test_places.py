"""Where a machine runs code of a package."""

from __future__ import annotations

import platform
from types import SimpleNamespace
from typing import Any

import pytest
from dslc.runtime.package import places


@pytest.mark.parametrize(
    ("machine", "targets", "found"),
    [
        ("aarch64", ["aarch64:i8mm", "interp"], ["cpu"]),
        ("arm64", ["cuda:sm_90a", "aarch64:base"], ["gpu", "cpu"]),
        ("arm64", ["hip:gfx950", "cuda:sm_90a"], ["gpu", "amd"]),
        ("x86_64", ["aarch64:i8mm"], []),
        ("aarch64", ["interp"], []),
    ],
)
def test_gpus_come_before_the_cpu_for_which_there_is_code(
    machine: str, targets: list[str], found: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: machine)
    monkeypatch.setattr(places, "cpu_place", lambda _: "cpu")
    monkeypatch.setitem(places.PRESENT, "cuda", lambda *_: "gpu")
    monkeypatch.setitem(places.PRESENT, "hip", lambda *_: "amd")
    folder: Any = SimpleNamespace(index=SimpleNamespace(targets=targets))
    assert places.present_places(folder, native=False) == found
