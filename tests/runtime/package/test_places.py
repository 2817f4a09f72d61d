"""Where a machine runs code of a package."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from dslc.runtime import aarch64
from dslc.runtime.package import places


@pytest.mark.parametrize(
    ("is_arm", "targets", "found"),
    [
        (True, ["aarch64:i8mm", "interp"], ["cpu"]),
        (True, ["cuda:sm_90a", "aarch64:base"], ["cpu"]),
        (False, ["aarch64:i8mm"], []),
        (True, ["interp"], []),
    ],
)
def test_an_arm_cpu_runs_what_there_is_for_it(
    is_arm: bool, targets: list[str], found: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aarch64, "is_host", lambda: is_arm)
    monkeypatch.setattr(places, "cpu_place", lambda _: "cpu")
    monkeypatch.setitem(places._PRESENT, "cuda", lambda _folder, _native: None)
    folder: Any = SimpleNamespace(index=SimpleNamespace(targets=targets))
    assert places.present_places(folder, native=False) == found
