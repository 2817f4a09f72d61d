"""The specification of the package that a model's steps need, as `dslc package` takes it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

from dslc.models.kernel_sources import KERNELS, CompiledKernels, packaged_name, parts_for
from dslc.models.plan import Plan


def write_specification(
    folder: Path, plan: Plan, kernels: Sequence[CompiledKernels], pieces: Sequence[int]
) -> None:
    """kernels.toml and its source: every step of these numbers of rows, for every target."""
    tables: dict[str, dict[str, Any]] = {}
    for source, rows in product(kernels, pieces):
        own = replace(plan, parts=parts_for(source.target, plan.config), shapes={})
        draws = [step for way in ("drawn", "kept") for step in own.choice(way) if source.has(step)]
        for step in (*own.rows(rows), *own.logits(rows), *own.choice(), *draws):
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
