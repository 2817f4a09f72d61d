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
from pathlib import Path

import msgspec
from dslc.compiler.artifact import Artifact
from dslc.compiler.diagnostics import error
from dslc.compiler.fingerprint import digest
from dslc.compiler.manifest import plain_choice
from dslc.facts import Alignments
from dslc.kernels import Kernel, Sizes
from dslc.library import Library
from dslc.machines import Machine, find_machine
from dslc.package_index import FORMAT, INDEX, Index, IndexedKernel, read_index
from dslc.runtime.entry import CorruptEntryError, read_entry, write_entry
from dslc.runtime.expression import holds, names_of
from dslc.signature import Signature
from dslc.specialization import Specialization

_FOLDER = "specializations"


class PackagedOrigin:
    """The specialisations of one kernel of a package."""

    def __init__(
        self, signature: Signature, machine: Machine, target: str, made: list[Specialization]
    ) -> None:
        self.signature = signature
        self.machine = machine
        self.target = target
        self._made = made

    def tile(self) -> str:
        """DSL0745: a package has no source."""
        raise error("DSL0745", f"{self.signature.name} comes from a package, without its source")

    def specialization(
        self,
        fixed: Mapping[str, int],
        config: Mapping[str, object],
        sizes: Sizes,
        alignments: Alignments = (),
        *,
        plain: frozenset[str] = frozenset(),
        at_call: bool = False,
    ) -> Specialization:
        """The first saved one that fits the known dims and choices; DSL0747 where none does.

        Where none fits the tensors' alignments or takes plain bytes as they are, the launch of the one
        that it gives will say so.
        """
        fitting = [m for m in self._made if self._fits(m, fixed, config, sizes)]
        if not fitting:
            raise error(
                "DSL0747",
                f"no {self.signature.name} of the package was compiled for this call",
                hint=f"it has {', '.join(map(_choices, self._made)) or 'none'}",
            )
        for made in fitting:
            aligned = all(made.alignments.get(name, n + 1) <= n for name, n in alignments)
            packs = any(p.name in plain and p.packed for p in made.artifact.signature.params)
            if aligned and not packs:
                return made
        return fitting[0]

    def _fits(
        self,
        made: Specialization,
        fixed: Mapping[str, int],
        config: Mapping[str, object],
        sizes: Sizes,
    ) -> bool:
        if not all(made.config.get(n) == plain_choice(v) for n, v in config.items()):
            return False
        if not all(fixed.get(d, sizes(d)) in (None, v) for d, v in made.fixed.items()):
            return False
        return _may_run(made, lambda dim: fixed.get(dim, sizes(dim)))


def _may_run(made: Specialization, size: Sizes) -> bool:
    """Whether no requirement on dims alone is known to fail: one may serve aligned dims, one others."""
    for requirement in made.artifact.signature.requires:
        values = {n: v for n in names_of(requirement.condition) if (v := size(n)) is not None}
        if values.keys() == names_of(requirement.condition) and not holds(
            requirement.condition, values
        ):
            return False
    return True


def _choices(made: Specialization) -> str:
    chosen = [f"{n}={v}" for n, v in {**made.fixed, **made.config}.items()]
    return f"({', '.join([*chosen, *(f'{n} unaligned' for n in made.alignments)])})"


def save(path: Path, name: str, specializations: Iterable[Specialization]) -> None:
    """Write a package of specialisations for one target; an older one at `path` is replaced.

    DSL0831 where `path` is something else, or the targets differ.
    """
    made = list(specializations)
    targets = sorted({one.target for one in made})
    if len(targets) != 1:
        found = ", ".join(targets) or "none"
        raise error("DSL0831", f"a package has kernels of one target; these are for {found}")
    stage = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        if path.exists() and not (path / INDEX).is_file() and not _is_empty_folder(path):
            text = f"{path} exists and is no package"
            raise error("DSL0831", text, hint="name a new folder, or remove it first")
        _write(stage, name, targets[0], made)
        _replace(path, stage)
    except OSError as failure:
        raise error("DSL0831", f"{path} cannot be written: {failure.strerror or failure}") from None
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def _is_empty_folder(path: Path) -> bool:
    return path.is_dir() and not any(path.iterdir())


def _write(stage: Path, name: str, target: str, made: list[Specialization]) -> None:
    kernels: dict[str, IndexedKernel] = {}
    (stage / _FOLDER).mkdir(parents=True)
    for one in made:
        manifest = one.artifact.to_manifest()
        key = digest({"manifest": msgspec.json.encode(manifest)})
        kernel = kernels.setdefault(one.name, IndexedKernel.of(one.signature))
        if key not in kernel.specializations:
            kernel.specializations.append(key)
            (stage / _FOLDER / key).mkdir()
            write_entry(stage / _FOLDER / key, key, one.artifact.files, manifest)
    index = Index(FORMAT, name, target, list(kernels.values()))
    (stage / INDEX).write_bytes(index.to_json())


def _replace(path: Path, stage: Path) -> None:
    if path.exists():
        old = stage.with_suffix(".old")
        path.rename(old)
        stage.rename(path)
        shutil.rmtree(old)
    else:
        stage.rename(path)


def load(path: str | os.PathLike[str]) -> Library:
    """The library of a package, as `Library.save` or `dslc build -o` wrote it.

    A call runs the first saved specialisation whose dims and tune choices fit. DSL0830 for what is no
    package, DSL0803 for an artifact that is not as it was written.
    """
    folder = Path(path)
    index = read_index(folder)
    machine = find_machine(index.target)
    kernels = {}
    for kernel in index.kernels:
        signature = kernel.signature()
        made = []
        for key in kernel.specializations:
            artifact = _read_artifact(folder / _FOLDER / key, key)
            kernel.check(artifact, index.target)
            made.append(_specialization(signature, artifact, machine))
        kernels[kernel.name] = Kernel.of(PackagedOrigin(signature, machine, index.target, made))
    return Library(kernels, name=index.name, target=index.target)


def _read_artifact(path: Path, key: str) -> Artifact:
    try:
        entry = read_entry(path, key)
    except (OSError, CorruptEntryError) as failure:
        raise error(
            "DSL0803",
            f"{path} is not as it was written: {failure}",
            hint="copy or build the package again",
        ) from None
    return Artifact.from_manifest(entry.manifest, entry.files)


def _specialization(signature: Signature, artifact: Artifact, machine: Machine) -> Specialization:
    return Specialization(
        signature, artifact, machine, machine.load(artifact), machine.texts(artifact)
    )
