"""Key pairs, and signatures of packages with them: Ed25519 (RFC 8032), by `cryptography`."""

from __future__ import annotations

import base64
import json
import os
from datetime import UTC, datetime
from pathlib import Path

from dslc.compiler.diagnostics import error
from dslc.runtime.package.folder import PackageFolder
from dslc.runtime.package.freshness import stamp
from dslc.runtime.package.signatures import (
    ALGORITHM,
    FORMAT,
    cryptography,
    signature_path,
    signed_message,
)


def new_key(path: Path) -> Path:
    """Make a key pair: the private half at `path`, the user's alone, the public one with .pub behind.

    Nothing is replaced: DSL0831 where a file is there. The public half's path is the result.
    """
    private = cryptography("hazmat.primitives.asymmetric.ed25519").Ed25519PrivateKey.generate()
    forms = cryptography("hazmat.primitives.serialization")
    secret = private.private_bytes(
        forms.Encoding.PEM, forms.PrivateFormat.PKCS8, forms.NoEncryption()
    )
    shown = private.public_key().public_bytes(
        forms.Encoding.PEM, forms.PublicFormat.SubjectPublicKeyInfo
    )
    public = path.with_name(f"{path.name}.pub")
    for file, content, mode in ((path, secret, 0o600), (public, shown, 0o644)):
        try:
            opened = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        except OSError as failure:
            text = f"{file} cannot be written: {failure.strerror or failure}"
            raise error("DSL0831", text, hint="keys are never replaced") from None
        with open(opened, "wb") as stream:
            stream.write(content)
    return public


def sign(
    package: PackageFolder, key: Path, output: Path | None = None, now: datetime | None = None
) -> Path:
    """Sign a package whose every byte was checked, and the moment; the signature's path is the result.

    DSL0833 for what is no private key of Ed25519, DSL0831 where the signature cannot be written.
    """
    package.check()
    path = output or signature_path(package.path)
    date = stamp(now or datetime.now(UTC))
    signature = _private(key).sign(signed_message(package.digest, date))
    data = {
        "format": FORMAT,
        "algorithm": ALGORITHM,
        "digest": package.digest,
        "date": date,
        "signature": base64.b64encode(signature).decode(),
    }
    try:
        path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    except OSError as failure:
        text = f"{path} cannot be written: {failure.strerror or failure}"
        raise error("DSL0831", text) from None
    return path


def _private(key: Path):  # type: ignore[no-untyped-def]  # of a library that may not be there
    """The private key of a PEM file."""
    try:
        content = key.read_bytes()
        private = cryptography("hazmat.primitives.serialization").load_pem_private_key(
            content, None
        )
    except OSError as failure:
        text = f"{key} cannot be read: {failure.strerror or failure}"
        raise error("DSL0833", text) from None
    except (ValueError, TypeError, cryptography("exceptions").UnsupportedAlgorithm) as problem:
        raise error("DSL0833", f"{key} is no private key: {problem}") from None
    kind = cryptography("hazmat.primitives.asymmetric.ed25519").Ed25519PrivateKey
    if not isinstance(private, kind):
        raise error("DSL0833", f"{key} is no private key of {ALGORITHM}")
    return private
