"""The manifest of a package, package.json: what it holds, for whom, and the hash of every file.

    {"digest": "<SHA-256 of what follows>",
    "package": {...}}

`Index` is the object after `package`. Its text is hashed as it stands, so that a package has one name,
its digest, which locks and signatures speak of. Everything here is data: shapes and conditions are
texts of the closed grammar of `dslc.runtime.expression`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from dslc.compiler.artifact import decode, encode
from dslc.compiler.diagnostics import DiagnosticError, error
from dslc.runtime.entry import is_key

FORMAT = 2
CONVENTION = 1
"""How kernels are called: what `launch` of an artifact means to `dslc.runtime.cuda`, `.aarch64`."""

INDEX = "package.json"
SPECIALIZATIONS = "specializations"
MANIFEST = "manifest.json"
LARGEST_INDEX = 1 << 26  # bytes
LARGEST_FILE = 1 << 30
MOST_FILES = 100_000
DEEPEST = 6  # names of a path

_HEAD = b'{"digest": "%s",\n"package": '
_TAIL = b"}\n"
_DIGITS = slice(12, 76)  # of the digest within the head
_HEAD_BYTES = len(_HEAD) - 2 + 64
# Control characters but for tab and line feed, and those that change the direction of a line.
_UNSHOWN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_TARGET = re.compile(r"[a-z0-9]+(:[A-Za-z0-9_.+-]+)?\Z")
_SEGMENT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,99}\Z")


@dataclass(frozen=True, slots=True)
class IndexedParameter:
    """A parameter as its author wrote it: `dims` are texts, None for a scalar."""

    name: str
    dtype: str
    dims: tuple[str, ...] | None
    mode: Literal["in", "out", "inout"]
    packed: str | None


@dataclass(frozen=True, slots=True)
class Tuning:
    """Where measured choices are from: the device, its driver, the day, and the seconds of a launch."""

    device: str
    driver: str
    date: str
    seconds: float


@dataclass(frozen=True, slots=True)
class IndexedSpecialization:
    """One compiled form: `key` is the SHA-256 of its manifest, and the name of its folder.

    `forms` are the kinds of its files (`cubin`, `ptx`, `so`), `fixed` dims that were compiled in,
    `sizes` those that its choices are meant for, `requires` the conditions that a call must fulfil,
    `alignments` the tensors that may begin at multiples of fewer bytes than 16.
    """

    key: str
    target: str
    forms: tuple[str, ...]
    fixed: dict[str, int]
    config: dict[str, int | str]
    sizes: dict[str, int]
    requires: tuple[str, ...]
    alignments: dict[str, int]
    tuned: Tuning | None


@dataclass(frozen=True, slots=True)
class IndexedKernel:
    """A kernel's signature and its specialisations, those that are preferred first."""

    name: str
    doc: str | None
    parameters: tuple[IndexedParameter, ...]
    dims: tuple[str, ...]
    tunes: dict[str, tuple[int | str, ...]]
    specializations: tuple[IndexedSpecialization, ...]


@dataclass(frozen=True, slots=True)
class FileRecord:
    """A file's bytes and their SHA-256."""

    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Origins:
    """What a package was made of: hashes of the sources by path, of dslc, and the tools by target.

    `inputs` is the hash of all of it and of the specification: with the same, building again gives the
    same package.
    """

    inputs: str
    sources: dict[str, str]
    dslc: str
    compiler: str
    toolchains: dict[str, str]


@dataclass(frozen=True, slots=True)
class Index:
    """What a package holds; `files` has every file but package.json itself."""

    format: int
    convention: int
    name: str
    version: str
    targets: tuple[str, ...]
    kernels: tuple[IndexedKernel, ...]
    origins: Origins
    files: dict[str, FileRecord]


def index_text(index: Index) -> bytes:
    """The text of package.json."""
    body = json.dumps(encode(index), sort_keys=True, indent=1, allow_nan=False).encode()
    return _HEAD % hashlib.sha256(body).hexdigest().encode() + body + _TAIL


def parse_index(text: bytes) -> tuple[str, Index]:
    """The digest and the index; DSL0830 where the text is none, DSL0803 where it was changed.

    DSL0801 for another format, DSL0802 for a key or value that is not as the format asks.
    """
    digest, body = text[_DIGITS].decode("latin-1"), text[_HEAD_BYTES : -len(_TAIL)]
    framed = text[:_HEAD_BYTES] == _HEAD % digest.encode("latin-1") and text.endswith(_TAIL)
    if not framed or not is_key(digest):
        raise error("DSL0830", f"{INDEX} is no manifest of a package")
    if hashlib.sha256(body).hexdigest() != digest:
        raise error("DSL0803", f"{INDEX} is not as it was written")
    try:
        data = json.loads(body, object_pairs_hook=_unique, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as problem:
        raise error("DSL0830", f"{INDEX} is no manifest of a package: {problem}") from None
    _check_format(data)
    index = decode(Index, data, "package")
    _check(index)
    if not all(map(_is_shown_as_it_is, _texts({**data, "files": None}))):  # paths were checked
        raise _wrong("a text in it has characters that do not show as they are")
    return digest, index


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    unique = dict(pairs)
    if len(unique) != len(pairs):
        raise ValueError("a key stands twice")
    return unique


def _refuse_constant(word: str) -> None:
    raise ValueError(f"{word} is no number")


def _texts(data: Any) -> Iterator[str]:
    """Every text of JSON data, the keys too."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, dict):
        for key, value in data.items():
            yield key
            yield from _texts(value)
    elif isinstance(data, list):
        for value in data:
            yield from _texts(value)


def _is_shown_as_it_is(text: str) -> bool:
    """Whether a terminal shows it and does nothing else: no cursor moves, no direction changes."""
    return _UNSHOWN.search(text) is None


def _check_format(data: Any) -> None:
    stated = data.get("format") if isinstance(data, dict) else None
    if stated != FORMAT or type(stated) is not int:
        raise error(
            "DSL0801",
            f"the package is of format {stated!r}; this version reads format {FORMAT}",
            hint="build it again with this version",
        )
    if data.get("convention") != CONVENTION:
        text = f"its kernels are called by convention {data.get('convention')!r}, not {CONVENTION}"
        raise error("DSL0801", text, hint="build it again with this version")


def _check(index: Index) -> None:
    """What no single field says: plain paths, one kernel of a name, a manifest for every key."""
    if len(index.files) > MOST_FILES:
        raise _wrong(f"{len(index.files)} files are more than {MOST_FILES}")
    for path, record in index.files.items():
        check_path(path)
        if not 0 <= record.size <= LARGEST_FILE or not is_key(record.sha256):
            raise _wrong(f"{path} has no size and SHA-256")
    names = [k.name for k in index.kernels]
    if len({*names}) != len(names) or not all(n.isidentifier() for n in names):
        raise _wrong("kernels have names of their own, which are identifiers")
    if not all(map(_TARGET.match, index.targets)):
        raise _wrong("a target has no name such as cuda:sm_90a")
    for specialization in (s for k in index.kernels for s in k.specializations):
        manifest = (
            index.files.get(manifest_path(specialization.key))
            if is_key(specialization.key)
            else None
        )
        if manifest is None or manifest.sha256 != specialization.key:
            raise _wrong(f"the specialisation {specialization.key[:64]!r} has no manifest")
        if specialization.target not in index.targets:
            raise _wrong(
                f"a specialisation is for {specialization.target}, which is none of its targets"
            )


def check_path(path: str) -> None:
    """DSL0803 for a path that is not plain: relative, down only, letters and digits."""
    parts = path.split("/")
    if len(parts) > DEEPEST or not all(map(_SEGMENT.match, parts)) or path == INDEX:
        raise error("DSL0803", f"{path[:200]!r} cannot be the path of a package's file")


def manifest_path(key: str) -> str:
    """Where the manifest of a specialisation lies."""
    return f"{SPECIALIZATIONS}/{key}/{MANIFEST}"


def _wrong(what: str) -> DiagnosticError:
    return error("DSL0802", f"{INDEX}: {what}")
