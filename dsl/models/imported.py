"""What `dslc import` has written, opened: parts that are packed already, and a package of kernels."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from dslc.checkpoints.shards import read_json
from dslc.compilation.specialization import Specialization
from dslc.compiler.diagnostics import error
from dslc.compiler.fingerprint import digest
from dslc.compiler.targets import listed_as
from dslc.models.configuration import ModelConfig, read_config
from dslc.models.kernel_sources import PackagedKernels, plan_fingerprint
from dslc.models.linear import Product
from dslc.models.parts import Part
from dslc.runtime.elements import Array
from dslc.runtime.safetensors import SafeTensors, read_safetensors

MANIFEST = "import.json"
SETTINGS = "dslc.import"
RECORD = "dslc.parts"
FORMAT = 1


class Manifest(msgspec.Struct, frozen=True):
    """import.json: `settings` is the hash of all that it depends on, `files` have their bytes.

    `plan` is the hash of what says which kernels a model has; batches have up to so many `sequences`.
    """

    format: int
    plan: str
    settings: str
    targets: list[str]
    dtype: str
    length: int
    quantize: str
    table: str
    files: dict[str, int]
    sequences: int = 1

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """DSL0778 where it is none, or of another version."""
        try:
            manifest = msgspec.convert(read_json(folder / MANIFEST), cls)
        except msgspec.ValidationError as problem:
            raise error("DSL0778", f"{folder / MANIFEST}: {problem}") from None
        if manifest.format != FORMAT:
            raise error("DSL0778", f"{folder} is of format {manifest.format}, not {FORMAT}")
        if manifest.plan != plan_fingerprint():
            text = f"{folder} was imported by another version of dslc, whose kernels were others"
            raise error("DSL0778", text, hint="import the model again, into another folder")
        return manifest


@dataclass(frozen=True)
class ImportedParts:
    """Parts of a folder, for one of its targets; arrays are views of the files."""

    folder: Path
    manifest: Manifest
    kernels: PackagedKernels
    config: ModelConfig = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "config", read_config(read_json(self.folder / "config.json")))

    @classmethod
    def open(cls, folder: Path, target: str) -> ImportedParts:
        """DSL0778 for another target than the import's, and files that are not its own."""
        manifest = Manifest.read(folder)
        listed = listed_as(target, manifest.targets)
        if listed is None:
            raise error(
                "DSL0778",
                f"{folder} was imported for {', '.join(manifest.targets)}, not for {target}",
                hint="say one of them by --target, or import the model for this machine",
            )
        for name, size in manifest.files.items():
            path = folder / "weights" / name
            if "/" in name or not path.is_file() or path.stat().st_size != size:
                raise error("DSL0778", f"{path} is not the file of {size} bytes that was written")
        return cls(folder, manifest, PackagedKernels(folder / "kernels", listed))

    def layer(self, number: int) -> Iterator[Part]:
        """Those of a layer."""
        return self._parts(f"layer-{number:03}")

    def embedding(self) -> Part:
        """The table."""
        return next(self._parts("embedding"))

    def ends(self) -> Iterator[Part]:
        """The last norm and the head."""
        return self._parts("ends")

    def _parts(self, file: str) -> Iterator[Part]:
        tensors = read_safetensors(self.folder / "weights" / f"{file}.safetensors")
        if tensors.metadata.get(SETTINGS) != self.manifest.settings:
            raise error("DSL0778", f"{tensors.path} is not of this import")
        products, names = record_of(tensors)
        arrays: dict[str, dict[str, Array]] = {}
        for name, stored in names.get(self.kernels.target, {}).items():
            part, _, parameter = name.partition("/")
            if stored not in tensors:
                raise error("DSL0778", f"{tensors.path} has no {stored}")
            arrays.setdefault(part, {})[parameter] = tensors[stored]
        for part, array in arrays.items():
            yield Part(part, array, products.get(part))


def is_import(path: Path) -> bool:
    """Whether a path is what an import has written; DSL0778 where it is not whole."""
    if (path / MANIFEST).exists():
        return True
    if (path / "weights").is_dir():
        hint = "the same dslc import goes on with it"
        raise error("DSL0778", f"{path} is an import that was not finished", hint=hint)
    return False


def stored_name(part: str, parameter: str, made: Specialization) -> str:
    """The name of a part's array: what is packed says how, so that targets share what is alike."""
    packed = next(
        (p.packed for p in made.chosen.signature.params if p.name == parameter and p.packed), None
    )
    name = f"{part}/{parameter}"
    if packed is None:
        return name
    return f"{name}@{digest({'storage': json.dumps(packed, sort_keys=True)})[:12]}"


def record_of(tensors: SafeTensors) -> tuple[dict[str, Product], dict[str, dict[str, str]]]:
    """The products of a file, and for each target what its arrays are called there."""
    try:
        record = json.loads(tensors.metadata.get(RECORD, ""))
        return msgspec.convert(record, tuple[dict[str, Product], dict[str, dict[str, str]]])
    except (ValueError, msgspec.ValidationError, RecursionError):
        raise error("DSL0778", f"{tensors.path} does not describe its arrays") from None
