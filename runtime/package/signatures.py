"""Signatures of packages: Ed25519 over a package's digest, in a file beside its folder.

    {"format": 2, "algorithm": "ed25519", "digest": "3f0c...", "date": "2026-11-23T14:00:00Z",
     "signature": "<base64>"}

The date is signed with the digest, so that a loader may refuse what is too old; format 1 had none. The
key is the verifier's own, never one that comes with the package. The package `cryptography` does the
arithmetic (`pip install 'dslc[sign]'`); without it nothing is taken for signed.
"""

from __future__ import annotations

import base64
import importlib
import json
import os
from datetime import date
from pathlib import Path
from typing import Any

from dslc.compiler.diagnostics import DiagnosticError, error
from dslc.runtime.package.folder import PackageFolder
from dslc.runtime.package.freshness import check_date, parse_stamp

ALGORITHM = "ed25519"
FORMAT = 2
_FIELDS = {"format", "algorithm", "digest", "signature"}
_UNDATED = 1  # the format before, which is still read
_LARGEST = 1 << 16


def signed_message(digest: str, date: str | None = None) -> bytes:
    """What a signature is over; the words keep it from meaning anything elsewhere."""
    if date is None:
        return b"dslc package, format 1\n" + digest.encode() + b"\n"
    return f"dslc package, format 2\n{digest}\n{date}\n".encode()


def signature_path(package: str | os.PathLike[str]) -> Path:
    """Where a package's signature lies unless one says otherwise: `kernels.dslc.sig`."""
    path = Path(os.path.abspath(package))
    return path.with_name(f"{path.name}.sig")


def check_signature(
    package: PackageFolder,
    key: str | os.PathLike[str],
    signature: str | os.PathLike[str] | None = None,
    *,
    signed_since: str | date | None = None,
) -> None:
    """DSL0833 unless the owner of the public key (a PEM file) signed this package's digest.

    DSL0836 where that was before the day `signed_since`. DSL0951 without `cryptography`.
    """
    path = signature_path(package.path) if signature is None else Path(signature)
    data = _read(path)
    if data.get("digest") != package.digest:
        raise _refused(f"{path} signs another package than {package.path}")
    load = cryptography("hazmat.primitives.serialization").load_pem_public_key
    exceptions = cryptography("exceptions")
    try:
        public = load(_bytes(Path(key)))
    except (ValueError, TypeError, exceptions.UnsupportedAlgorithm) as problem:
        raise _refused(f"{key} is no public key: {problem}") from None
    if not isinstance(
        public, cryptography("hazmat.primitives.asymmetric.ed25519").Ed25519PublicKey
    ):
        raise _refused(f"{key} is no public key of {ALGORITHM}")
    try:
        public.verify(_decoded(data), signed_message(package.digest, data.get("date")))
    except exceptions.InvalidSignature:
        raise _refused(f"{path} was not made with the key of {key}") from None
    if signed_since is not None:
        check_date(package, data.get("date"), signed_since)


def cryptography(module: str) -> Any:
    """A module of `cryptography`; DSL0951 where it is not installed."""
    try:
        return importlib.import_module(f"cryptography.{module}")
    except ImportError:
        raise error(
            "DSL0951",
            "signatures need the package cryptography, which is not installed",
            hint="pip install 'dslc[sign]'",
        ) from None


def _read(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(_bytes(path))
    except (ValueError, RecursionError):
        data = None
    known = {_UNDATED: _FIELDS, FORMAT: _FIELDS | {"date"}}
    form = data.get("format") if isinstance(data, dict) else None
    if not isinstance(data, dict) or type(form) is not int or set(data) != known.get(form):
        raise _refused(f"{path} is no signature of format {FORMAT}")
    if form == FORMAT:
        try:
            parse_stamp(data["date"])
        except ValueError as problem:
            raise _refused(f"{path} has no date: {problem}") from None
    if data["algorithm"] != ALGORITHM:
        raise _refused(f"{path} is by {data['algorithm']!r}, not {ALGORITHM}")
    return data


def _bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_LARGEST)
    except OSError as failure:
        raise _refused(f"{path} cannot be read: {failure.strerror or failure}") from None


def _decoded(data: dict[str, Any]) -> bytes:
    try:
        return base64.b64decode(data["signature"], validate=True)
    except (ValueError, TypeError):
        return b""


def _refused(text: str) -> DiagnosticError:
    return error("DSL0833", text, hint="do not load it: ask whoever made the package")
