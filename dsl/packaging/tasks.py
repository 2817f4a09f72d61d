"""What a worker does: one specialisation of one kernel, compiled through the cache.

A task runs in a process of its own, within the specification's folder, so that paths in what is
compiled are those of the specification and mean the same on every machine.
"""

from __future__ import annotations

import contextlib
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
    from dslc.compiler.artifact import Artifact
    from dslc.kernels import Kernel
    from dslc.library import Library
    from dslc.templates import TemplateOrigin


@dataclass(frozen=True, slots=True)
class Task:
    """A specialisation, where its specification lies, and the cache's root (None for no cache)."""

    wanted: Wanted
    folder: str
    include: tuple[str, ...]
    cache: str | None


@dataclass(frozen=True, slots=True)
class Compiled:
    """An entry, and the texts of the sources that it was made of, by path."""

    entry: Entry
    sources: dict[str, str]


def compile_task(task: Task) -> Compiled:
    """Compile. DiagnosticError with what is wrong in the source or for the target."""
    with contextlib.chdir(task.folder):
        return _compiled(task)


def forget() -> None:
    """Read sources again: they may have changed since the last package of this process."""
    _library.cache_clear()


def _compiled(task: Task) -> Compiled:
    wanted = task.wanted
    kernel = _kernel(task)
    origin: TemplateOrigin = kernel.origin  # type: ignore[assignment]  # of a library of sources
    dims = dict(wanted.dims)
    if origin.machine.target.static:  # no dim stays free there
        dims = {**wanted.sizes, **dims}
    config, _ = origin.signature.choices(wanted.config)
    tuning = None
    if not config:
        config, fixed, tuning = _chosen(origin, {**wanted.sizes, **dims})
        dims = {**fixed, **dims}
    loose = tuple(
        (p.name, max(1, p.dtype.bits // 8)) for p in kernel.parameters if p.dims is not None
    )
    # Sizes say what choices are for: the code relies on the dims that are compiled in, and a dim that a
    # tile needs is one of them.
    made = origin.specialization(
        dims, {**origin.defaults, **config}, dims.get, loose if wanted.unaligned else ()
    )
    artifact = _with_ptx(made.artifact) if wanted.ptx else made.artifact
    free = {d: n for d, n in wanted.sizes.items() if d not in artifact.signature.fixed}
    entry = Entry(described(origin.signature, wanted.name), artifact, free, tuning)
    return Compiled(entry, {**origin.sources, wanted.source: Path(wanted.source).read_text()})


def _kernel(task: Task) -> Kernel:
    wanted = task.wanted
    define = tuple(sorted(wanted.define.items()))
    library = _library(task.folder, wanted.source, wanted.target, define, task.include, task.cache)
    return library[wanted.kernel]


@functools.lru_cache(maxsize=64)
def _library(
    folder: str,
    source: str,
    target: str,
    define: tuple[tuple[str, object], ...],
    include: tuple[str, ...],
    cache: str | None,
) -> Library:
    import dslc

    return dslc.compile(
        Path(source), target, define=_definitions(dict(define)), include=include,
        cache=False if cache is None else cache,
    )  # fmt: skip


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


def _with_ptx(artifact: Artifact) -> Artifact:
    """With PTX beside the machine code of each kernel, for GPUs that none was made for."""
    from dslc.codegen.cuda.toolchain import compile_ptx

    architecture = artifact.target.partition(":")[2]
    files = dict(artifact.files)
    for name, content in artifact.files.items():
        if name.endswith("kernel.cu"):
            text = compile_ptx(content.decode(), architecture)
            files[f"{name.removesuffix('kernel.cu')}{architecture}.ptx"] = text.encode()
    return dataclasses.replace(artifact, files=files)
