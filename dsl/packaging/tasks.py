"""What a worker does: one specialisation of one kernel, compiled through the cache.

A task has all that it needs, the sources too, so that any machine can do it. Paths in what is compiled
go from the specification's folder, and mean the same everywhere.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dslc.packaging.entries import Entry, described
from dslc.packaging.spec import Wanted
from dslc.runtime.package.index import Tuning

if TYPE_CHECKING:
    from dslc.compilation.templates import TemplateOrigin
    from dslc.compiler.artifact import Artifact

RETRIES = 2  # of a task whose process died: a machine may have been short of memory


@dataclass(frozen=True, slots=True)
class Task:
    """A specialisation, and what it is made of.

    `sources` are pairs of a path and a text: the source itself and all that it imports. `cache` is as
    `open_cache` takes it, on the machine that compiles. `tuning` has the results that choices go by, as
    `dslc.tuner.store` renders them; it may be empty.
    """

    wanted: Wanted
    sources: tuple[tuple[str, str], ...]
    include: tuple[str, ...]
    cache: bool | str | None
    tuning: str


@dataclass(frozen=True, slots=True)
class Compiled:
    """An entry of the package, and the artifact as the compile cache has it, without PTX."""

    entry: Entry
    cached: Artifact


def compile_task(task: Task) -> Compiled:
    """Compile. DiagnosticError with what is wrong in the source or for the target."""
    wanted = task.wanted
    origin = _origin(task)
    dims = dict(wanted.dims)
    if origin.machine.target.static:  # no dim stays free there
        dims = {**wanted.sizes, **dims}
    config, _ = origin.signature.choices(wanted.config)
    tuning = None
    if not config:
        config, fixed, tuning = _chosen(origin, {**wanted.sizes, **dims})
        dims = {**fixed, **dims}
    loose = tuple(
        (p.name, max(1, p.dtype.bits // 8))
        for p in origin.signature.parameters
        if p.dims is not None
    )
    # Sizes say what choices are for: the code relies on the dims that are compiled in, and a dim that a
    # tile needs is one of them.
    specialization = origin.specialization(
        dims, origin.settled(config, dims.get), dims.get, loose if wanted.unaligned else ()
    )
    artifact = _with_ptx(specialization.artifact, origin) if wanted.ptx else specialization.artifact
    free = {d: n for d, n in wanted.sizes.items() if d not in artifact.signature.fixed}
    entry = Entry(described(origin.signature, wanted.name), artifact, free, tuning)
    return Compiled(entry, specialization.artifact)


def _origin(task: Task) -> TemplateOrigin:
    wanted = task.wanted
    define = tuple(sorted(wanted.define.items()))
    by_name = _origins(
        task.sources, wanted.source, wanted.target, define, task.include, task.cache, task.tuning
    )
    return by_name[wanted.kernel]


@functools.lru_cache(maxsize=64)
def _origins(
    sources: tuple[tuple[str, str], ...],
    source: str,
    target: str,
    define: tuple[tuple[str, object], ...],
    include: tuple[str, ...],
    cache: bool | str | None,
    tuning: str,
) -> dict[str, TemplateOrigin]:
    from dslc.compilation.building import build_options
    from dslc.compilation.origins import origins
    from dslc.frontend import parse_tile
    from dslc.frontend.imports import Texts, normal_path
    from dslc.tuner.store import parse

    files = Texts(dict(sources))
    options = build_options(target, _definitions(dict(define)), cache)
    module = parse_tile(files.texts[normal_path(source)], source)
    by_name = origins(
        module, options, search=[Path(i) for i in include], folder=Path(source).parent, files=files
    )
    records = list(parse(tuning)) if tuning else []
    for origin in by_name.values():
        origin.tuned.take(records)
    return by_name


def _definitions(given: Mapping[str, object]) -> dict[str, object]:
    """Definitions as `-D` reads them: a text is a dtype's name."""
    from dslc.compiler.dtypes import parse_dtype

    return {n: (parse_dtype(v) or v) if isinstance(v, str) else v for n, v in given.items()}


def _chosen(
    origin: TemplateOrigin, sizes: Mapping[str, int]
) -> tuple[dict[str, object], dict[str, int], Tuning | None]:
    """The choices for sizes, the dims that come with them, and where they were measured."""
    tuned = origin.tuned.find(sizes.get)
    if tuned is None:
        return dict(origin.chosen(sizes, sizes.get).config), {}, None
    record = tuned.record
    tuning = Tuning(record.device, record.driver, record.date, record.seconds)
    return dict(tuned.config), dict(tuned.fixed_dims), tuning


def _with_ptx(artifact: Artifact, origin: TemplateOrigin) -> Artifact:
    """With PTX beside the machine code of each kernel, for GPUs that none was made for."""
    from dslc.codegen.cuda.tools.toolchain import compile_ptx
    from dslc.compilation.caching import cached_files
    from dslc.compiler.targets.target import chip_of

    architecture = chip_of(artifact.target)

    def texts() -> dict[str, bytes]:
        return {
            f"{name.removesuffix('kernel.cu')}{architecture}.ptx": compile_ptx(
                content.decode(), architecture
            ).encode()
            for name, content in artifact.files.items()
            if name.endswith("kernel.cu")
        }

    texts_of = cached_files(origin.options.cache, artifact, "ptx", texts)
    return dataclasses.replace(artifact, files={**artifact.files, **texts_of})
