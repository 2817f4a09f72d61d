"""A checkpoint as a folder that runs at once: packed weights, and a package of the kernels they need.

    import.json        what it is of, for which targets; written last
    weights/           a file of safetensors for each layer, the embedding, and the ends
    kernels.toml, kernels.tile, kernels/       the specification of the package, its source, and it
    config.json, tokenizer.json, ...           as the checkpoint has them

Each file appears whole. A run that was stopped goes on with the layers that are there, if their
settings are its own. One part of a layer is in memory beside the layer that is being written.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from dslc.checkpoints import open_checkpoint
from dslc.compiler.diagnostics import error
from dslc.compiler.fingerprint import compiler_fingerprint, digest
from dslc.compiler.targets import find_target
from dslc.machines.registry import resolve_target
from dslc.models.calibration import parts_of
from dslc.models.changes import Changes
from dslc.models.configuration import described, read_config
from dslc.models.imported import (
    FORMAT,
    MANIFEST,
    RECORD,
    SETTINGS,
    Manifest,
    record_of,
    stored_name,
)
from dslc.models.kernel_sources import CompiledKernels, plan_fingerprint
from dslc.models.linear import Product
from dslc.models.names import Weights
from dslc.models.parts import Part
from dslc.models.plan import SIZES, Plan
from dslc.models.specification import write_specification, write_text
from dslc.packaging import build_package
from dslc.runtime.elements import Array, element_name
from dslc.runtime.safetensors import SafeTensors, read_safetensors
from dslc.runtime.safetensors_writing import write_safetensors

COPIED = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "generation_config.json",
)
Report = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Settings:
    """What is made of a checkpoint; `length` 0 is up to 4096 positions.

    With more than one of `sequences` the kernels are there for batches of so many, too.
    """

    targets: tuple[str, ...]
    dtype: str = "f32"
    length: int = 0
    quantize: str = ""
    compress: float = 0.0
    sequences: int = 1


def import_model(
    source: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    settings: Settings,
    *,
    calibration: Array | None = None,
    jobs: int | None = None,
    report: Report | None = None,
) -> Manifest:
    """Write `folder`, which `dslc.models.open_model` opens.

    With `calibration`, sequences of tokens [n, length], weights are rounded by what goes through them
    (dslc.models.calibration), on this machine; DSL0790 where nothing is rounded.
    `report` is called with what is being done, the pieces of it that are done, and all of them.

    DSL0778 where the folder holds something else or cannot be written; DSL0780 to DSL0787, DSL0790 for
    checkpoints that cannot be read, are not built, or cannot be rounded, DSL0788 for sequences that are
    too many.
    """
    source, folder = Path(source), Path(folder)
    checkpoint = open_checkpoint(source)
    config = read_config(checkpoint.config)
    targets = tuple(find_target(resolve_target(t)).name for t in settings.targets)
    settings = replace(
        settings,
        targets=tuple(dict.fromkeys(targets)),
        length=settings.length or min(config.positions, 4096),
    )
    if not 1 <= settings.sequences <= SIZES[-1]:
        text = f"a batch has 1 to {SIZES[-1]} sequences, not {settings.sequences}"
        raise error("DSL0788", text)
    changes = Changes.of(settings.quantize, settings.compress, calibration)
    parts = parts_of(Weights(checkpoint, config), settings.dtype, changes)
    own = _fingerprint(source, settings, calibration)
    with _written(folder):
        _check_folder(folder, own)
        (folder / "weights").mkdir(parents=True, exist_ok=True)
        writer = _Writer(
            folder, own, [CompiledKernels(t) for t in settings.targets], settings.dtype
        )
        pieces: list[tuple[str, Callable[[], Iterable[Part]]]] = [
            (f"layer-{n:03}", partial(parts.layer, n)) for n in range(config.layers)
        ]
        pieces += [("embedding", lambda: (parts.embedding(),)), ("ends", parts.ends)]
        for done, (name, make) in enumerate(pieces):
            writer.write(name, make)
            if report is not None:
                report("weights", done + 1, len(pieces))
        plan = Plan(config, writer.products, settings.dtype, settings.length, writer.table)
        write_specification(folder, plan, writer.kernels, settings.sequences)
        build_package(
            folder / "kernels.toml",
            folder / "kernels",
            jobs=jobs,
            report=None if report is None else lambda done, total: report("kernels", done, total),
        )
        _copy(source, folder)
        write_text(folder / "config.json", json.dumps(described(checkpoint.config)))
        manifest = Manifest(
            FORMAT,
            plan_fingerprint(),
            own,
            list(settings.targets),
            settings.dtype,
            settings.length,
            settings.quantize,
            writer.table,
            writer.sizes,
            settings.sequences,
        )
        write_text(folder / MANIFEST, json.dumps(msgspec.to_builtins(manifest), indent=1))
    return manifest


class _Writer:
    """Writes files of parts that are not there yet, and knows what all of them hold."""

    def __init__(
        self, folder: Path, own: str, kernels: Sequence[CompiledKernels], dtype: str
    ) -> None:
        self._weights, self._own, self._dtype = folder / "weights", own, dtype
        self.kernels = kernels
        self.products: dict[str, Product] = {}
        self.sizes: dict[str, int] = {}
        self.table = ""

    def write(self, name: str, make: Callable[[], Iterable[Part]]) -> None:
        path = self._weights / f"{name}.safetensors"
        there = self._there(path)
        if there is None:
            arrays: dict[str, Array] = {}
            products: dict[str, Any] = {}
            names: dict[str, dict[str, str]] = {k.target: {} for k in self.kernels}
            for part in make():
                if part.product is not None:
                    products[part.name] = asdict(part.product)
                self._store(part, arrays, names)
            record = {SETTINGS: self._own, RECORD: json.dumps((products, names))}
            write_safetensors(path, arrays, record)
            there = read_safetensors(path)
        self.products |= record_of(there)[0]
        if "embedding/table" in there:
            self.table = element_name(there["embedding/table"])
        self.sizes[path.name] = path.stat().st_size

    def _there(self, path: Path) -> SafeTensors | None:
        if not path.exists():
            return None
        tensors = read_safetensors(path)
        return tensors if tensors.metadata.get(SETTINGS) == self._own else None

    def _store(
        self, part: Part, arrays: dict[str, Array], names: Mapping[str, dict[str, str]]
    ) -> None:
        """Add a part's arrays: what is packed once for each way of storing it, told by its name."""
        for kernels in self.kernels:
            packer = kernels.packer(part.product, self._dtype) if part.product is not None else None
            for parameter, array in part.arrays.items():
                plain = f"{part.name}/{parameter}"
                name = plain if packer is None else stored_name(part.name, parameter, packer)
                if name not in arrays:
                    packs = packer is not None and name != plain
                    arrays[name] = packer.pack(parameter, array) if packer and packs else array
                names[kernels.target][plain] = name


def _fingerprint(source: Path, settings: Settings, calibration: Array | None) -> str:
    """What tells an import from others: its settings, the checkpoint's files, and what packs."""
    files = sorted(source.iterdir()) if source.is_dir() else [source]
    listed = [(f.name, f.stat().st_size, f.stat().st_mtime_ns) for f in files if f.is_file()]
    return digest(
        {
            "settings": repr(settings),
            "calibration": "" if calibration is None else repr(calibration.tolist()),
            "files": repr(listed),
            "source": str(source.resolve()),
            "compiler": compiler_fingerprint(),
        }
    )


def _check_folder(folder: Path, own: str) -> None:
    """DSL0778 where the folder holds another import, or something else."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise error("DSL0778", f"{folder} is not a folder")
    files = sorted((folder / "weights").glob("*.safetensors"))
    if (folder / MANIFEST).exists():
        # It is made anew from here on: until it is whole again nobody takes it for that.
        if Manifest.read(folder).settings != own:
            raise _another(folder)
        (folder / MANIFEST).unlink()
    elif files:
        if read_safetensors(files[0]).metadata.get(SETTINGS) != own:
            raise _another(folder)
    elif any(f.name != "weights" for f in folder.iterdir()):
        raise error("DSL0778", f"{folder} has files that no import has written")


def _another(folder: Path) -> Exception:
    return error(
        "DSL0778",
        f"{folder} has an import of another checkpoint, or with other settings",
        hint="name another folder, or delete it",
    )


def _copy(source: Path, folder: Path) -> None:
    where = source if source.is_dir() else source.parent
    for name in COPIED:
        if (where / name).is_file():
            part = folder / f"{name}.part"
            shutil.copyfile(where / name, part)
            part.replace(folder / name)


@contextmanager
def _written(folder: Path) -> Iterator[None]:
    """A disk that is full, or a folder that may not be written, as DSL0778."""
    try:
        yield
    except OSError as problem:
        raise error(
            "DSL0778",
            f"{folder} cannot be written: {problem.strerror or problem}",
            hint="what is whole stays there: the same command goes on with it",
        ) from None
