"""`dslc verify`: who vouches for a package is asked, and a refusal is one."""

from __future__ import annotations

from pathlib import Path

import pytest
from dslc.cli.main import run
from dslc.compiler.diagnostics import error
from dslc.packaging import build_package

from support.packages import write_spec

WHO, ISSUER = "ci@example.org", "https://accounts.example.org"


def test_an_identity_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = write_spec(tmp_path / "src", ["interp"])
    path = build_package(spec, tmp_path / "rows.dslc", jobs=0, cache=False).package.path

    def check(_folder: object, identity: str, issuer: str, *_: object, **_named: object) -> None:
        if (identity, issuer) != (WHO, ISSUER):
            raise error("DSL0833", "the certificate is of another identity")

    monkeypatch.setattr("dslc.packaging.identities.check_identity", check)
    said = ["verify", str(path), "--issuer", ISSUER, "--identity"]
    assert run([*said, WHO]) == 0
    assert f"signed by {WHO}" in capsys.readouterr().out
    assert run([*said, "someone@example.org"]) == 4
    assert "another identity" in capsys.readouterr().err
