"""Signatures: made with one key, checked with its public half, refused in every other case."""

from __future__ import annotations

import base64
import json
import shutil
from datetime import UTC, date, datetime
from pathlib import Path

import dslc.runtime
import pytest
from dslc.cli.main import run
from dslc.packaging import build_package
from dslc.packaging.signing import new_key, sign
from dslc.runtime.package import PackageFolder
from dslc.runtime.package.freshness import check_version
from dslc.runtime.package.signatures import (
    check_signature,
    cryptography,
    signature_path,
    signed_message,
)

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
    [
        {"format": 1},
        {"format": 3},
        {"format": True},
        {"date": 5},
        {"date": "yesterday"},
        {"date": "2030-01-01T00:00:00Z"},
        {"algorithm": "none"},
        {"signature": ""},
        {"signature": 3},
        {"more": 1},
    ],
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


def undated(package: PackageFolder, key: Path) -> None:
    """The signature that versions before made."""
    forms = cryptography("hazmat.primitives.serialization")
    private = forms.load_pem_private_key(key.read_bytes(), None)
    made = base64.b64encode(private.sign(signed_message(package.digest))).decode()
    data = {"format": 1, "algorithm": "ed25519", "digest": package.digest, "signature": made}
    signature_path(package.path).write_text(json.dumps(data))


def test_a_signature_has_a_day(signed: tuple[PackageFolder, Path, Path], tmp_path: Path) -> None:
    package, _, public = signed
    sign(package, tmp_path / "release.key", now=datetime(2026, 11, 23, 23, 59, tzinfo=UTC))
    for day in ("2026-11-23", "2026-01-01", date(2026, 11, 22)):
        check_signature(package, public, signed_since=day)
    for day in ("2026-11-24", date(2027, 1, 1), "soon"):
        found = failure(lambda d=day: check_signature(package, public, signed_since=d))
        assert found.code == "DSL0836"


def test_a_signature_without_a_day_serves_where_none_is_asked_for(
    signed: tuple[PackageFolder, Path, Path], tmp_path: Path
) -> None:
    package, _, public = signed
    undated(package, tmp_path / "release.key")
    check_signature(package, public)
    found = failure(lambda: check_signature(package, public, signed_since="2000-01-01"))
    assert found.code == "DSL0836"


IN_ORDER = [
    "0.9",
    "1.2.0a1",
    "1.2.0a9",
    "1.2.0a10",
    "1.2.0b1",
    "1.2.0rc1",
    "1.2",
    "1.2.post1",
    "1.2.1",
    "1.10",
    "2",
]


@pytest.mark.parametrize("i", range(len(IN_ORDER)))
def test_versions_have_an_order(built: Path, tmp_path: Path, i: int) -> None:
    path = shutil.copytree(built, tmp_path / "rows.dslc")
    rewrite(path, lambda index: index.update(version=IN_ORDER[i]))
    package = PackageFolder(path)
    for older in IN_ORDER[: i + 1]:
        check_version(package, older)
    for newer in IN_ORDER[i + 1 :]:
        assert failure(lambda v=newer: check_version(package, v)).code == "DSL0836"


def test_what_is_no_version(built: Path) -> None:
    assert failure(lambda: check_version(PackageFolder(built), "newest")).code == "DSL0836"
    check_version(PackageFolder(built), "0.0.0")


def test_loading_asks_for_version_and_day(signed: tuple[PackageFolder, Path, Path]) -> None:
    package, _, public = signed
    dslc.runtime.load(package.path, key=public, signed_since="2020-01-01", min_version="0.0.0")
    for options in (
        {"min_version": "9"},
        {"signed_since": "2020-01-01"},
        {"key": public, "signed_since": "2999-01-01"},
    ):
        found = failure(lambda o=options: dslc.runtime.load(package.path, **o))
        assert found.code == "DSL0836"


def test_the_command_asks_too(signed: tuple[PackageFolder, Path, Path]) -> None:
    package, _, public = signed
    command = ["verify", str(package.path), "--key", str(public)]
    assert run([*command, "--min-version", "0.0.0", "--signed-since", "2020-01-01"]) == 0
    assert run([*command, "--min-version", "9.9"]) == 4
    assert run([*command, "--signed-since", "2999-01-01"]) == 4
    assert run(["verify", str(package.path), "--signed-since", "2020-01-01"]) == 2
