"""The artifact: what a compilation gives and a runtime loads. Pure data, standard library only.

An artifact is a manifest (strict JSON) and files (source text, a binary). Whatever depends on dims is
an expression in the closed grammar of `dslc.runtime.expression`, as text: nothing of it is code.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import re
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, TypeVar

from dslc.compiler.diagnostics import error

FORMAT = 1
MANIFEST = "manifest.json"
INDEX = "index.json"  # the cache's own

Json: TypeAlias = Any
"""What JSON can hold: None, bool, int, float, str, and lists and dicts of these."""

T = TypeVar("T")

_KINDS = {int: "an integer", str: "a string", float: "a number", bool: "true or false"}
_FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,99}\Z")


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter: a tensor, or a scalar where `dims` is None.

    `dims` and `strides` (in elements; row-major and dense where None) are expressions over the dims'
    names. `packed` describes the packed storage of a low-bit tensor for `dslc.runtime.packing`:
    None for plain codes, `{"scheme": "row"}` for compact row-major bits.
    """

    name: str
    dtype: str
    mode: Literal["in", "out", "inout"]
    dims: tuple[str, ...] | None = None
    strides: tuple[str, ...] | None = None
    packed: dict[str, Json] | None = None


@dataclass(frozen=True, slots=True)
class Requirement:
    """A condition on dims and scalars that holds at every call; `text` is the user's own words."""

    condition: str
    text: str


@dataclass(frozen=True, slots=True)
class Workspace:
    """Device memory that the runtime gives, zero when a launch begins; `bytes` is an expression."""

    name: str
    dtype: str
    bytes: str


@dataclass(frozen=True, slots=True)
class Signature:
    """How a kernel or program is called: parameters in order, and what binds and limits them.

    `dims` are the free dims, bound by the shapes of the arguments; `fixed` those that the compilation
    fixed; `config` the choice of every `tune`.
    """

    params: tuple[Param, ...]
    dims: tuple[str, ...] = ()
    fixed: dict[str, int] = field(default_factory=dict)
    config: dict[str, int | str] = field(default_factory=dict)
    requires: tuple[Requirement, ...] = ()
    doc: str | None = None


@dataclass(frozen=True, slots=True)
class Hashes:
    """What the artifact was made of, each a SHA-256 in hex: a cache key covers all four."""

    source: str
    options: str
    compiler: str
    toolchain: str


UNKNOWN = Hashes("", "", "", "")
"""Of an artifact that a generator has made: whoever builds knows what it was made of."""


@dataclass(frozen=True, slots=True)
class Artifact:
    """A compiled kernel or program for one target.

    `entry` is the symbol to launch, `grid` an expression of the number of turns for each grid axis,
    `shared_bytes` what a turn needs of on-chip memory. `launch` is what only the target's own launcher
    reads (threads of a block, descriptors, ...).
    """

    name: str
    kind: Literal["kernel", "program"]
    target: str
    entry: str
    signature: Signature
    hashes: Hashes
    grid: tuple[str, ...] = ()
    shared_bytes: int = 0
    workspaces: tuple[Workspace, ...] = ()
    launch: dict[str, Json] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in self.files:
            check_file_name(name)

    def file(self, name: str) -> bytes:
        """One of its files; DSL0803 where it has none of that name."""
        if name not in self.files:
            raise error("DSL0803", f"the artifact {self.name} has no file {name}")
        return self.files[name]

    def each(self, name: str) -> list[bytes]:
        """The file of a kernel, or those of a program's kernels in order; DSL0803 where none is."""
        contents = [c for n, c in self.files.items() if n == name or n.endswith(f".{name}")]
        return contents or [self.file(name)]

    def to_manifest(self) -> dict[str, Json]:
        """The artifact as JSON data; of the files their sizes and SHA-256."""
        data = {name: encode(getattr(self, name)) for name in _manifest_types()}
        files = {name: file_record(content) for name, content in sorted(self.files.items())}
        return {"format": FORMAT, **data, "files": files}

    @staticmethod
    def from_manifest(manifest: Mapping[str, Json], files: Mapping[str, bytes]) -> Artifact:
        """The artifact of a manifest and its files; DSL0801 to DSL0803 where they are not right."""
        data = dict(manifest)
        if (stated := data.pop("format", None)) != FORMAT or type(stated) is not int:
            raise error(
                "DSL0801",
                f"the artifact's format is {stated!r}; this version reads format {FORMAT}",
                hint="build it again with this version",
            )
        _check_files(data.pop("files", None), files)
        decoded = _decode_fields(Artifact, data, "manifest", _manifest_types())
        return Artifact(**decoded, files=dict(files))


def _manifest_types() -> dict[str, Any]:
    """The fields that a manifest has: of the files it says more than their bytes."""
    return {n: t for n, t in _field_types(Artifact).items() if n != "files"}


def file_record(content: bytes) -> dict[str, Json]:
    """What a manifest says of a file."""
    return {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def check_file_name(name: str) -> None:
    """Refuse (DSL0803) what is not a plain file name: no folders, no leading dot."""
    if not _FILE_NAME.match(name) or name in (MANIFEST, INDEX):
        raise error("DSL0803", f"{name!r} cannot be the name of an artifact's file")


def _check_files(records: Json, files: Mapping[str, bytes]) -> None:
    if not isinstance(records, dict):
        raise error("DSL0802", "manifest.files: expected an object")
    for name in sorted({*records, *files}):
        check_file_name(name)
        if name not in files:
            raise error("DSL0803", f"the artifact's file {name!r} is missing")
        if name not in records:
            raise error("DSL0803", f"the file {name!r} is not in the artifact's manifest")
        if records[name] != file_record(files[name]):
            raise error("DSL0803", f"the artifact's file {name!r} is not the one that was written")


# A manifest follows from the dataclasses: one way out, one strict way in.


def encode(value: Any) -> Json:
    """A dataclass, and what it is made of, as JSON data."""
    if dataclasses.is_dataclass(value):
        return {f.name: encode(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, tuple | list):
        return [encode(v) for v in value]
    if isinstance(value, dict):
        return {k: encode(v) for k, v in value.items()}
    return value


def decode(cls: type[T], data: Json, where: str, *, partial: bool = False) -> T:
    """The dataclass of JSON data; DSL0802 where a key or a value's kind is not as its fields say.

    In `partial` data, fields that have a default may be missing.
    """
    known = _field_types(cls)  # type: ignore[arg-type]  # a class is hashable
    if partial and isinstance(data, dict):
        known = {n: t for n, t in known.items() if n in data or n in _required(cls)}
    return cls(**_decode_fields(cls, data, where, known))


@functools.cache
def _field_types(cls: Any) -> dict[str, Any]:
    hints = typing.get_type_hints(cls)
    return {f.name: hints[f.name] for f in dataclasses.fields(cls)}


def _required(cls: Any) -> set[str]:
    missing = dataclasses.MISSING
    return {
        f.name
        for f in dataclasses.fields(cls)
        if f.default is missing and f.default_factory is missing
    }


def _wrong(where: str, expected: str) -> Exception:
    return error("DSL0802", f"{where}: expected {expected}")


def _decode_fields(cls: Any, data: Json, where: str, types_: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise _wrong(where, "an object")
    for key in sorted(types_.keys() ^ set(map(str, data))):
        problem = "is missing" if key in types_ else "is not a known key"
        raise error("DSL0802", f"{where}: {key!r} {problem}")
    return {n: _decode(types_[n], data[n], f"{where}.{n}") for n in data}


def _decode(hint: Any, data: Json, where: str) -> Any:
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return data
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return decode(hint, data, where)
    if origin is types.UnionType:
        return _decode_union(args, data, where)
    if origin is Literal:
        if data not in args:
            raise _wrong(where, "one of " + ", ".join(map(repr, args)))
        return data
    if origin is tuple:
        if not isinstance(data, list):
            raise _wrong(where, "a list")
        return tuple(_decode(args[0], v, f"{where}[{i}]") for i, v in enumerate(data))
    if origin is dict:
        if not isinstance(data, dict):
            raise _wrong(where, "an object")
        return {k: _decode(args[1], v, f"{where}.{k}") for k, v in data.items()}
    if type(data) is not hint:
        raise _wrong(where, _KINDS[hint])
    return data


def _decode_union(options: tuple[Any, ...], data: Json, where: str) -> Any:
    if data is None and types.NoneType in options:
        return None
    kinds = [o for o in options if o is not types.NoneType]
    plain = [o for o in kinds if o is type(data)]
    return _decode((plain or kinds)[0], data, where)
