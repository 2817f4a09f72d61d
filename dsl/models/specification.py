"""The specification of the package that a model's steps need, as `dslc package` takes it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

from dslc.models.kernel_sources import KERNELS, CompiledKernels, packaged_name, parts_for
from dslc.models.plan import PIECES, SIZES, Plan, Step
from dslc.models.sampling import WAYS


def write_specification(
    folder: Path, plan: Plan, kernels: Sequence[CompiledKernels], sequences: int
) -> None:
    """kernels.toml and its source: the steps of one sequence, or of up to so many, for every target."""
    tables: dict[str, dict[str, Any]] = {}
    for source in kernels:
        for step in _steps(plan, source, sequences):
            table = {
                "source": KERNELS.name,
                "kernel": step.kernel,
                "name": packaged_name(step),
                "targets": [source.target],
                "define": dict(step.constants),
                "dims": dict(step.dims),
                "set": source.choices(step),
            }
            tables.setdefault(json.dumps(table, sort_keys=True), table)
    targets = [source.target for source in kernels]
    lines = ["[package]", f"name = {_toml('kernels')}", f"targets = {_toml(targets)}"]
    for table in tables.values():
        lines += ["", "[[kernel]]", *(f"{name} = {_toml(value)}" for name, value in table.items())]
    shutil.copyfile(KERNELS, folder / KERNELS.name)
    write_text(folder / "kernels.toml", "\n".join(lines) + "\n")


def _steps(plan: Plan, source: CompiledKernels, sequences: int) -> Iterator[Step]:
    """Those that a target can do."""
    own = replace(plan, parts=parts_for(source.target, plan.config), shapes={})
    for rows in PIECES:
        yield from own.rows(rows)
    sizes: Sequence[int] = (1,)
    if sequences > 1:
        paged = replace(own, pages=1, shapes={})
        for rows in PIECES:
            yield from paged.rows(rows)
        sizes = SIZES[: SIZES.index(next(s for s in SIZES if s >= sequences)) + 1]
        for size in sizes:
            yield from paged.step(size)
    yield from own.logits("x:1")
    for size, way in product(sizes, WAYS):
        yield from (s for s in own.choice(way, size) if way == WAYS[0] or source.has(s))


def _toml(value: object) -> str:
    """A value as TOML has it: of texts, numbers and lists the form is JSON's."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{n} = {_toml(v)}" for n, v in value.items()) + " }"
    return json.dumps(value)


def write_text(path: Path, text: str) -> None:
    """A file of text, whole or not at all."""
    part = path.with_name(f"{path.name}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)
