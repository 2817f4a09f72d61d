"""A cache entry as one text of bytes, to be kept where files cannot be renamed: an object of a store.

    the line "dslc entry 1", 8 bytes of length, the header in JSON, every file's bytes in the order of
    the header, 32 bytes of a seal

The header has the key and each file with its size and SHA-256. The seal is an HMAC-SHA256 over all that
stands before it, with a secret that writers and readers share (RFC 2104); without a secret it is a
plain hash, which tells damage and nothing of who wrote it.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from typing import Any

from dslc.compiler.artifact import MANIFEST, check_file_name, file_record
from dslc.compiler.diagnostics import DiagnosticError
from dslc.runtime.entry import CorruptEntryError

_HEAD = b"dslc entry 1\n"
_SEAL = 32


def seal(
    key: str, files: Mapping[str, bytes], manifest: Mapping[str, Any], secret: bytes = b""
) -> bytes:
    """The bytes of an entry."""
    contents = {**dict(sorted(files.items())), MANIFEST: _text(manifest)}
    records = [[name, file_record(content)] for name, content in contents.items()]
    header = json.dumps({"key": key, "files": records}, sort_keys=True).encode()
    parts = [_HEAD, len(header).to_bytes(8, "little"), header, *contents.values()]
    body = b"".join(parts)
    return body + _sealed(body, secret)


def unseal(
    key: str, content: bytes, secret: bytes = b""
) -> tuple[dict[str, bytes], dict[str, Any]]:
    """Files and manifest of an entry; CorruptEntryError where a byte, the key or the seal differs."""
    body, stated = content[:-_SEAL], content[-_SEAL:]
    if not hmac.compare_digest(_sealed(body, secret), stated):
        raise CorruptEntryError("its seal is broken" if secret else "it has other bytes")
    try:
        files = _files(key, body)
        text = files.pop(MANIFEST)
        manifest = json.loads(text)
        if not isinstance(manifest, dict) or _text(manifest) != text:
            raise ValueError("its manifest is another text than was written")
    except (ValueError, KeyError, TypeError, RecursionError, DiagnosticError) as problem:
        raise CorruptEntryError(f"it is no entry: {problem}") from None
    return files, manifest


def _text(manifest: Mapping[str, Any]) -> bytes:
    """A manifest's one text; ValueError for a number that JSON has not."""
    return (json.dumps(manifest, sort_keys=True, allow_nan=False) + "\n").encode()


def _sealed(body: bytes, secret: bytes) -> bytes:
    return hmac.digest(secret, body, "sha256") if secret else hashlib.sha256(body).digest()


def _files(key: str, body: bytes) -> dict[str, bytes]:
    if not body.startswith(_HEAD):
        raise ValueError("another format")
    at = len(_HEAD) + 8
    end = at + int.from_bytes(body[len(_HEAD) : at], "little")
    header = json.loads(body[at:end])
    if header["key"] != key:
        raise ValueError("another key")
    files: dict[str, bytes] = {}
    for name, record in header["files"]:
        if name != MANIFEST:
            check_file_name(name)
        content = body[end : end + record["size"]]
        if file_record(content) != record or name in files:
            raise ValueError(f"{name} has other bytes")
        files[name] = content
        end += len(content)
    if end != len(body):
        raise ValueError("bytes are left over")
    return files
