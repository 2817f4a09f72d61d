"""The index of a package, package.json: strict data, read without trust."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec
from dslc.compiler.artifact import Artifact
from dslc.compiler.diagnostics import DiagnosticError, error
from dslc.compiler.dtypes import parse_dtype
from dslc.compiler.manifest import plain_choice
from dslc.runtime.entry import is_key
from dslc.schedule import OPTIONS
from dslc.signature import Parameter, Signature

FORMAT = 1
INDEX = "package.json"
_LARGEST = 1 << 24  # bytes


class IndexedParameter(msgspec.Struct, forbid_unknown_fields=True):
    """A parameter; its dtype by name."""

    name: str
    dtype: str
    dims: list[str] | None
    mode: str
    packed: str | None


class IndexedKernel(msgspec.Struct, forbid_unknown_fields=True):
    """A kernel's signature and the keys of its specialisations, in the order of preference."""

    name: str
    parameters: list[IndexedParameter]
    dims: list[str]
    tunes: dict[str, list[int | str]]
    doc: str | None
    specializations: list[str] = []

    @staticmethod
    def of(signature: Signature) -> IndexedKernel:
        """The signature as data, without specialisations so far."""
        parameters = [
            IndexedParameter(
                p.name, p.dtype.name, None if p.dims is None else list(p.dims), p.mode, p.packed
            )
            for p in signature.parameters
        ]
        tunes = {n: [plain_choice(c) for c in choices] for n, choices in signature.tunes.items()}
        return IndexedKernel(signature.name, parameters, list(signature.dims), tunes, signature.doc)

    def signature(self) -> Signature:
        """The signature; DSL0830 for a dtype or mode that does not exist."""
        tunes = {n: tuple(choices) for n, choices in self.tunes.items()}
        parameters = tuple(_parameter(p) for p in self.parameters)
        return Signature(self.name, parameters, tuple(self.dims), tunes, self.doc)

    def check(self, artifact: Artifact, target: str) -> None:
        """DSL0830 where an artifact is not of this kernel."""
        made = artifact.signature
        same = (
            (artifact.name, artifact.target) == (self.name, target)
            and [_outline(p.name, p.dtype, p.mode, p.dims) for p in made.params]
            == [_outline(p.name, p.dtype, p.mode, p.dims) for p in self.parameters]
            and made.config.keys() - OPTIONS.keys() == self.tunes.keys() - OPTIONS.keys()
            and {*made.fixed, *made.dims} <= {*self.dims}
        )
        if not same:
            raise error("DSL0830", f"{INDEX} does not describe the artifact of {artifact.name}")


class Index(msgspec.Struct, forbid_unknown_fields=True):
    """What a package holds, all for one target."""

    format: int
    name: str
    target: str
    kernels: list[IndexedKernel]

    def to_json(self) -> bytes:
        """The text of package.json."""
        return msgspec.json.format(msgspec.json.encode(self), indent=1)


def read_index(folder: Path) -> Index:
    """The index of a package; DSL0830 where there is none, or of another form or format."""
    try:
        with (folder / INDEX).open("rb") as file:
            index = msgspec.json.decode(file.read(_LARGEST), type=Index)
    except OSError as failure:
        text = f"{folder} is no package: {INDEX}: {failure.strerror or failure}"
        raise error("DSL0830", text, hint="dslc build FILE -o FOLDER makes one") from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as failure:
        raise error("DSL0830", f"{folder / INDEX} is no index of a package: {failure}") from None
    if index.format != FORMAT:
        text = f"{folder} is a package of format {index.format}, this version reads {FORMAT}"
        raise error("DSL0830", text, hint="build it again with this version")
    for key in (key for kernel in index.kernels for key in kernel.specializations):
        if not is_key(key):
            raise error("DSL0830", f"{folder / INDEX}: {key!r} is no key of a specialisation")
    return index


def _parameter(p: IndexedParameter) -> Parameter:
    dtype = parse_dtype(p.dtype)
    if dtype is None or p.mode not in ("in", "out", "inout"):
        raise _unknown(p)
    return Parameter(p.name, dtype, None if p.dims is None else tuple(p.dims), p.mode, p.packed)


def _unknown(p: IndexedParameter) -> DiagnosticError:
    return error("DSL0830", f"{INDEX}: the parameter {p.name} is {p.mode} {p.dtype}")


def _outline(name: str, dtype: str, mode: str, dims: Iterable[str] | None) -> tuple[object, ...]:
    return name, dtype, mode, None if dims is None else len(list(dims))
