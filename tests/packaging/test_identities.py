"""Signatures by identities: what is given to Sigstore, and that whatever it refuses is refused.

Sigstore's own arithmetic is its package's; no network is asked here.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dslc.cli.main import run
from dslc.packaging import build_package
from dslc.packaging.identities import TOKEN, check_identity, sign_as_identity
from dslc.runtime.package import PackageFolder
from dslc.runtime.package.signatures import signed_message

from support.packages import failure, write_spec

pytest.importorskip("sigstore", reason="pip install 'dslc[sigstore]'")
WHO, ISSUER = "ci@example.org", "https://accounts.example.org"


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> PackageFolder:
    folder = tmp_path_factory.mktemp("package")
    spec = write_spec(folder / "src", ["interp"])
    return build_package(spec, folder / "rows.dslc", jobs=0, cache=False).package


@pytest.mark.parametrize("content", [None, b"", b"{}", b"[", b"\xff", b'{"mediaType": 3}'])
def test_what_is_no_bundle_is_refused(
    package: PackageFolder, tmp_path: Path, content: bytes | None
) -> None:
    bundle = tmp_path / "bundle.json"
    if content is not None:
        bundle.write_bytes(content)
    found = failure(lambda: check_identity(package, WHO, ISSUER, bundle, offline=True))
    assert found.code == "DSL0833"
    assert str(bundle) in found.message


class Service:
    """Sigstore, as far as it is called: a bundle is the message and who signed it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        import sigstore.models
        import sigstore.oidc
        import sigstore.sign
        import sigstore.verify

        self.bundle = ""
        patch = monkeypatch.setattr
        patch(sigstore.models.ClientTrustConfig, "production", lambda: "trust")
        patch(sigstore.oidc, "IdentityToken", str)
        patch(sigstore.oidc, "detect_credential", lambda: None)
        patch(sigstore.sign.SigningContext, "from_trust_config", lambda trust: self)
        patch(sigstore.models.Bundle, "from_json", lambda content: content.decode().strip())
        patch(sigstore.verify.Verifier, "production", lambda offline: self)

    @contextlib.contextmanager
    def signer(self, token: str) -> Iterator[Any]:
        self.token = token
        yield self

    def sign_artifact(self, message: bytes) -> Service:
        self.bundle = f"{self.token} {message.hex()}"
        return self

    def to_json(self) -> str:
        return self.bundle

    def verify_artifact(self, message: bytes, bundle: str, policy: Any) -> None:
        if bundle != f"{policy._identity} {message.hex()}":
            raise ValueError("the certificate is of another identity")


def test_the_digest_is_signed_and_checked_for_one_identity(
    package: PackageFolder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    service = Service(monkeypatch)
    assert "no identity" in failure(lambda: sign_as_identity(package)).message
    monkeypatch.setenv(TOKEN, WHO)
    assert run(["sign", str(package.path), "--sigstore"]) == 0
    assert service.bundle == f"{WHO} {signed_message(package.digest).hex()}"
    said = ["verify", str(package.path), "--issuer", ISSUER, "--identity"]
    assert run([*said, WHO]) == 0
    assert f"signed by {WHO}" in capsys.readouterr().out
    assert run([*said, "someone@example.org"]) == 4
    assert "another identity" in capsys.readouterr().err
    assert run(["verify", str(package.path), "--identity", WHO]) == 2
