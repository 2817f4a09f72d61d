"""Libraries that simulators have made: where they are kept, and who may write there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.runtime.host_libraries import kept_folder


def test_the_folder_is_the_users_alone_whatever_the_umask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DSLC_CACHE_DIR", str(tmp_path))
    before = os.umask(0)
    try:
        folder = kept_folder("emulator")
    finally:
        os.umask(before)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert kept_folder("emulator") == folder


def test_one_that_others_can_write_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DSLC_CACHE_DIR", str(tmp_path))
    (tmp_path / "emulator").mkdir()
    (tmp_path / "emulator").chmod(0o777)
    with pytest.raises(DiagnosticError, match="DSL0820"):
        kept_folder("emulator")
