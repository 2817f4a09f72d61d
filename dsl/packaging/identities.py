"""Signatures by an identity instead of a key: Sigstore (sigstore.dev), by its package `sigstore`.

A certificate authority (Fulcio) vouches for minutes that a key belongs to an identity, such as a
workflow of GitHub Actions; the signature is entered in a public log (Rekor). So no key is kept, and
what was signed is known to everyone: the digest of the package, and the identity.

    kernels.dslc.sigstore.json      a Sigstore bundle over the package's `signed_message`
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dslc.compiler.diagnostics import DiagnosticError, error
from dslc.runtime.package.folder import PackageFolder
from dslc.runtime.package.signatures import signed_message

TOKEN = "SIGSTORE_ID_TOKEN"
_LARGEST = 1 << 22  # bytes of a bundle


def bundle_path(package: str | os.PathLike[str]) -> Path:
    """Where a package's bundle lies unless one says otherwise."""
    path = Path(os.path.abspath(package))
    return path.with_name(f"{path.name}.sigstore.json")


def sign_as_identity(package: PackageFolder, output: Path | None = None) -> Path:
    """Sign a package whose every byte was checked, as whoever the environment says; the bundle's path.

    The identity is that of the CI job (GitHub Actions with `id-token: write`, GitLab), or the OpenID
    token in `SIGSTORE_ID_TOKEN`. DSL0833 where there is none or Sigstore does not sign, DSL0831 where
    the bundle cannot be written, DSL0951 without `sigstore`.
    """
    package.check()
    path = output or bundle_path(package.path)
    with _refusing("Sigstore did not sign it"):
        models, oidc = _sigstore("models"), _sigstore("oidc")
        raw = os.environ.get(TOKEN) or oidc.detect_credential()
        if not raw:
            raise _refused(f"there is no identity to sign with: no CI job, and no {TOKEN}")
        trust = models.ClientTrustConfig.production()
        context = _sigstore("sign").SigningContext.from_trust_config(trust)
        with context.signer(oidc.IdentityToken(raw)) as signer:
            bundle = signer.sign_artifact(signed_message(package.digest))
    try:
        path.write_text(bundle.to_json() + "\n", encoding="utf-8")
    except OSError as failure:
        text = f"{path} cannot be written: {failure.strerror or failure}"
        raise error("DSL0831", text) from None
    return path


def check_identity(
    package: PackageFolder,
    identity: str,
    issuer: str,
    bundle: Path | None = None,
    *,
    offline: bool = False,
) -> None:
    """DSL0833 unless this identity, by this issuer, signed the package's digest.

    `identity` is a mail address, or for GitHub Actions the workflow with its ref
    (`https://github.com/ORG/REPO/.github/workflows/release.yml@refs/tags/v1`); `issuer` is the OpenID
    provider that says so. With `offline` the roots of trust are those that came with `sigstore`, or
    were fetched before. DSL0951 without `sigstore`.
    """
    path = bundle or bundle_path(package.path)
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST)
    except OSError as failure:
        raise _refused(f"{path} cannot be read: {failure.strerror or failure}") from None
    with _refusing(f"{path} does not show that {identity} signed {package.path}"):
        signed = _sigstore("models").Bundle.from_json(content)
        verify = _sigstore("verify")
        policy = _sigstore("verify.policy").Identity(identity=identity, issuer=issuer)
        message = signed_message(package.digest)
        verify.Verifier.production(offline=offline).verify_artifact(message, signed, policy)


def _sigstore(module: str) -> Any:
    """A module of `sigstore`; DSL0951 where it is not installed."""
    try:
        return importlib.import_module(f"sigstore.{module}")
    except ImportError:
        raise error(
            "DSL0951",
            "signing as an identity needs the package sigstore, which is not installed",
            hint="pip install 'dslc[sigstore]'",
        ) from None


@contextmanager
def _refusing(what: str) -> Iterator[None]:
    """Whatever goes wrong within is a refusal: `sigstore` and the network have errors of many kinds."""
    try:
        yield
    except DiagnosticError:
        raise
    except Exception as failure:
        said = str(failure).strip().splitlines()
        raise _refused(f"{what}: {said[0] if said else type(failure).__name__}") from None


def _refused(text: str) -> DiagnosticError:
    return error(
        "DSL0833", text, hint="dslc sign --help and docs/security.md say who signs, and how"
    )
