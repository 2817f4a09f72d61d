"""Signatures: made with one key, checked with its public half, refused in every other case."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from dslc.packaging import build_package
from dslc.packaging.signing import new_key, sign
from dslc.runtime.package import PackageFolder
from dslc.runtime.package.signatures import check_signature

from support.packages import failure, rewrite, write_spec

pytest.importorskip("cryptography", reason="signatures need it: pip install 'dslc[sign]'")


# Public keys of P-256, and of an algorithm that nobody has.
OTHER_ALGORITHM = """-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE0ZijpgeZ01yrR2+V5dCoKb2FUOgC
3318cqzPS2elQ6r5WPO2d6Ou3kH0r+Aqpo0uWQdg476KpdHegK4e21UoIw==
-----END PUBLIC KEY-----
"""
UNKNOWN_ALGORITHM = """-----BEGIN PUBLIC KEY-----
MCowBQYDK2V/AyEADKa6gmpfMpDHrBssk3dqGX/5xdatNeOF9PhiInmUB2A=
-----END PUBLIC KEY-----
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("package")
    build_package(write_spec(folder / "src", ["interp"]), folder / "rows.dslc", jobs=0, cache=False)
    return folder / "rows.dslc"


@pytest.fixture
def signed(built: Path, tmp_path: Path) -> tuple[PackageFolder, Path, Path]:
    """A package, its signature and the public key."""
    package = PackageFolder(shutil.copytree(built, tmp_path / "rows.dslc"))
    public = new_key(tmp_path / "release.key")
    return package, sign(package, tmp_path / "release.key"), public


def test_the_owner_of_the_key_signed_it(signed: tuple[PackageFolder, Path, Path]) -> None:
    package, signature, public = signed
    assert signature == package.path.with_name("rows.dslc.sig")
    check_signature(package, public)
    check_signature(package, public, signature)


def test_a_private_key_is_the_users_alone(tmp_path: Path) -> None:
    new_key(tmp_path / "k")
    assert (tmp_path / "k").stat().st_mode & 0o077 == 0
    assert failure(lambda: new_key(tmp_path / "k")).code == "DSL0831"


def test_another_key_another_package_and_no_signature(
    signed: tuple[PackageFolder, Path, Path], tmp_path: Path
) -> None:
    package, signature, public = signed
    other = new_key(tmp_path / "other.key")
    assert failure(lambda: check_signature(package, other)).code == "DSL0833"
    rewrite(package.path, lambda index: index.update(version="6"))
    changed = PackageFolder(package.path)
    assert failure(lambda: check_signature(changed, public)).code == "DSL0833"
    signature.unlink()
    assert failure(lambda: check_signature(package, public)).code == "DSL0833"


def test_a_signature_under_another_digest_is_refused(
    signed: tuple[PackageFolder, Path, Path],
) -> None:
    """Only the words of the file are changed, so that it speaks of a package it was not made for."""
    package, signature, public = signed
    rewrite(package.path, lambda index: index.update(version="6"))
    changed = PackageFolder(package.path)
    data = {**json.loads(signature.read_text()), "digest": changed.digest}
    signature.write_text(json.dumps(data))
    assert "was not made with the key" in failure(lambda: check_signature(changed, public)).message


@pytest.mark.parametrize(
    "change",
    [{"format": 2}, {"algorithm": "none"}, {"signature": ""}, {"signature": 3}, {"more": 1}],
)
def test_a_strange_signature_is_refused(
    signed: tuple[PackageFolder, Path, Path], change: dict[str, object]
) -> None:
    package, signature, public = signed
    signature.write_text(json.dumps({**json.loads(signature.read_text()), **change}))
    assert failure(lambda: check_signature(package, public)).code == "DSL0833"


def test_what_is_no_key(signed: tuple[PackageFolder, Path, Path], tmp_path: Path) -> None:
    package, signature, _ = signed
    assert failure(lambda: check_signature(package, signature)).code == "DSL0833"
    assert failure(lambda: check_signature(package, tmp_path / "none")).code == "DSL0833"
    assert failure(lambda: sign(package, signature)).code == "DSL0833"
    assert failure(lambda: check_signature(package, tmp_path / "release.key")).code == "DSL0833"
    for name, key in (("other.pub", OTHER_ALGORITHM), ("unknown.pub", UNKNOWN_ALGORITHM)):
        (tmp_path / name).write_text(key)
        assert failure(lambda n=name: check_signature(package, tmp_path / n)).code == "DSL0833"
