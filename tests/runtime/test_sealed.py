"""Entries with a seal: what was written comes back, and no other text of it."""

from __future__ import annotations

import hashlib

import pytest
from dslc.runtime.entry import CorruptEntryError
from dslc.runtime.sealed import seal, unseal

_FILES = {"kernel.so": b"code", "notes": b""}
_MANIFEST = {"b": [1, 2.5, None], "a": {"name": "x"}}


@pytest.mark.parametrize("secret", [b"", b"known"])
def test_what_was_sealed_comes_back(secret: bytes) -> None:
    assert unseal("key", seal("key", _FILES, _MANIFEST, secret), secret) == (_FILES, _MANIFEST)


@pytest.mark.parametrize(("key", "secret"), [("other", b"known"), ("key", b""), ("key", b"guess")])
def test_another_key_or_secret_is_refused(key: str, secret: bytes) -> None:
    with pytest.raises(CorruptEntryError):
        unseal(key, seal("key", _FILES, _MANIFEST, b"known"), secret)


def test_every_byte_counts() -> None:
    content = seal("key", _FILES, _MANIFEST)
    for at in range(len(content)):
        changed = content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]
        with pytest.raises(CorruptEntryError):
            unseal("key", changed)


@pytest.mark.parametrize(
    "text", ['{"a":1}\n', '{"a": 1}', '{"b": 1, "a": 1}\n', "[]\n", '{"a": NaN}\n']
)
def test_a_manifest_has_one_text(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever writes it otherwise, under digests that fit, wrote no entry."""
    with monkeypatch.context() as patch:
        patch.setattr("dslc.runtime.sealed._text", lambda _: text.encode())
        content = seal("key", _FILES, {})
    assert hashlib.sha256(content[:-32]).digest() == content[-32:]
    with pytest.raises(CorruptEntryError, match="no entry"):
        unseal("key", content)
