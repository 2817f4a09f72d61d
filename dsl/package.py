"""Packages: kernels compiled ahead of time, in a folder that is loaded without the front-ends.

    package.json              the kernels: signatures, and which specialisations there are
    specializations/3f0c.../  one artifact each, as the cache keeps its entries

Every byte of an artifact is checked against its index before it is used.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path

import msgspec
from dslc.compiler.artifact import Artifact
from dslc.compiler.diagnostics import error
from dslc.compiler.dtypes import parse_dtype
from dslc.compiler.fingerprint import digest
from dslc.compiler.manifest import plain_choice
from dslc.kernels import Kernel, Sizes
from dslc.library import Library
from dslc.machines import Machine, find_machine
from dslc.runtime.entry import CorruptEntryError, is_key, read_entry, write_entry
from dslc.signature import Parameter, Signature
from dslc.specialization import Specialization

FORMAT = 1
_INDEX = "package.json"
_FOLDER = "specializations"
_LARGEST_INDEX = 1 << 24  # bytes


class PackedParameter(msgspec.Struct, forbid_unknown_fields=True):
    """A parameter as the package's index has it."""

    name: str
    dtype: str
    dims: list[str] | None
    mode: str
    packed: str | None


class PackedKernel(msgspec.Struct, forbid_unknown_fields=True):
    """A kernel's signature and the keys of its specialisations, in the order of preference."""

    name: str
    parameters: list[PackedParameter]
    dims: list[str]
    tunes: dict[str, list[int | str]]
    doc: str | None
    specializations: list[str]


class Package(msgspec.Struct, forbid_unknown_fields=True):
    """The index of a package."""

    format: int
    name: str
    target: str
    kernels: list[PackedKernel]


class PackagedOrigin:
    """The specialisations of one kernel of a package."""

    def __init__(self, signature: Signature, target: str, made: list[Specialization]) -> None:
        self.signature = signature
        self.target = target
        self._made = made

    def tile(self) -> str:
        """DSL0745: a package has no source."""
        raise error("DSL0745", f"{self.signature.name} comes from a package, without its source")

    def specialization(
        self, fixed: Mapping[str, int], config: Mapping[str, object], sizes: Sizes
    ) -> Specialization:
        """The first that was saved with these choices and for these dims; DSL0747 where none fits."""
        for made in self._made:
            chosen = all(made.config[n] == plain_choice(v) for n, v in config.items())
            if chosen and all(fixed.get(d, sizes(d)) == v for d, v in made.fixed.items()):
                return made
        wanted = ", ".join(f"{n}={v}" for n, v in {**fixed, **config}.items())
        text = f"no {self.signature.name} in the package fits" + (f" {wanted}" if wanted else "")
        raise error("DSL0747", text, hint=f"it has {', '.join(map(_choices, self._made))}")


def _choices(made: Specialization) -> str:
    return ", ".join(f"{n}={v}" for n, v in {**made.fixed, **made.config}.items()) or "one for all"


def save(path: Path, name: str, specializations: Iterable[Specialization]) -> None:
    """Write a package of specialisations for one target; an older one at `path` is replaced.

    DSL0831 where `path` is something else, or the targets differ.
    """
    made = list(specializations)
    targets = sorted({one.target for one in made})
    if len(targets) != 1:
        found = ", ".join(targets) or "none"
        raise error("DSL0831", f"a package has kernels of one target; these are for {found}")
    if path.exists() and not (path / _INDEX).is_file() and not _is_empty_folder(path):
        text = f"{path} exists and is no package"
        raise error("DSL0831", text, hint="name a new folder, or remove it first")
    stage = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        _write(stage, name, targets[0], made)
        if path.exists():
            old = stage.with_suffix(".old")
            path.rename(old)
            stage.rename(path)
            shutil.rmtree(old)
        else:
            stage.rename(path)
    except OSError as failure:
        raise error("DSL0831", f"{path} cannot be written: {failure.strerror or failure}") from None
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def _is_empty_folder(path: Path) -> bool:
    return path.is_dir() and not any(path.iterdir())


def _write(stage: Path, name: str, target: str, made: list[Specialization]) -> None:
    kernels: dict[str, PackedKernel] = {}
    (stage / _FOLDER).mkdir(parents=True)
    for one in made:
        manifest = one.artifact.to_manifest()
        key = digest({"manifest": msgspec.json.encode(manifest)})
        kernel = kernels.setdefault(one.name, _packed(one.signature))
        if key not in kernel.specializations:
            kernel.specializations.append(key)
            (stage / _FOLDER / key).mkdir()
            write_entry(stage / _FOLDER / key, key, one.artifact.files, manifest)
    index = Package(FORMAT, name, target, list(kernels.values()))
    (stage / _INDEX).write_bytes(msgspec.json.format(msgspec.json.encode(index), indent=1))


def _packed(signature: Signature) -> PackedKernel:
    return PackedKernel(
        signature.name,
        [
            PackedParameter(p.name, p.dtype.name, p.dims and list(p.dims), p.mode, p.packed)
            for p in signature.parameters
        ],
        list(signature.dims),
        {n: [plain_choice(c) for c in choices] for n, choices in signature.tunes.items()},
        signature.doc,
        [],
    )


def load(path: str | os.PathLike[str]) -> Library:
    """The library of a package, as `Library.save` or `dslc build -o` wrote it.

    A call runs the first saved specialisation whose dims and tune choices fit. DSL0830 for what is no
    package, DSL0803 for an artifact that is not as it was written.
    """
    folder = Path(path)
    package = _read_index(folder)
    machine = find_machine(package.target)
    kernels = {k.name: Kernel(partial(_given, _origin(folder, k, package.target, machine)))
               for k in package.kernels}  # fmt: skip
    return Library(kernels, name=package.name, target=package.target)


def _given(origin: PackagedOrigin) -> PackagedOrigin:
    return origin


def _read_index(folder: Path) -> Package:
    try:
        with (folder / _INDEX).open("rb") as file:
            package = msgspec.json.decode(file.read(_LARGEST_INDEX), type=Package)
    except OSError as failure:
        text = f"{folder} is no package: {_INDEX}: {failure.strerror or failure}"
        raise error("DSL0830", text, hint="dslc build FILE -o FOLDER makes one") from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as failure:
        raise error("DSL0830", f"{folder / _INDEX} is no index of a package: {failure}") from None
    if package.format != FORMAT:
        text = f"{folder} is a package of format {package.format}, this version reads {FORMAT}"
        raise error("DSL0830", text, hint="build it again with this version")
    return package


def _origin(folder: Path, kernel: PackedKernel, target: str, machine: Machine) -> PackagedOrigin:
    signature = Signature(
        kernel.name,
        tuple(_parameter(p) for p in kernel.parameters),
        tuple(kernel.dims),
        {n: tuple(c) for n, c in kernel.tunes.items()},
        kernel.doc,
    )
    made = [_specialization(folder, key, signature, machine) for key in kernel.specializations]
    return PackagedOrigin(signature, target, made)


def _parameter(p: PackedParameter) -> Parameter:
    dtype = parse_dtype(p.dtype)
    if dtype is None or p.mode not in ("in", "out", "inout"):
        raise error(
            "DSL0830", f"the parameter {p.name} is {p.mode} {p.dtype}, which does not exist"
        )
    return Parameter(p.name, dtype, None if p.dims is None else tuple(p.dims), p.mode, p.packed)


def _specialization(
    folder: Path, key: str, signature: Signature, machine: Machine
) -> Specialization:
    path = folder / _FOLDER / key
    if not is_key(key):
        raise error("DSL0830", f"{key!r} is no key of a specialisation")
    try:
        entry = read_entry(path, key)
    except (OSError, CorruptEntryError) as failure:
        raise error(
            "DSL0803",
            f"{path} is not as it was written: {failure}",
            hint="copy or build the package again",
        ) from None
    artifact = Artifact.from_manifest(entry.manifest, entry.files)
    stages = {"final": partial(machine.text, artifact)}
    return Specialization(signature, artifact, machine.load(artifact), stages)
