"""What a worker does with one configuration: schedule and predict it, or compile it.

A task holds the elaborated program as text with locations, from which every process gets the same
program, the same cache key and so the same entry in the compile cache.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dslc.compiler.cost import Prediction, predict
from dslc.compiler.fingerprint import digest
from dslc.compiler.ir import TileProgram
from dslc.compiler.ir.text.parser import parse_program
from dslc.compiler.passes.pass_manager import run_passes
from dslc.compiler.targets import Target, find_target

if TYPE_CHECKING:
    from dslc.compilation.caching import CacheChoice
    from dslc.compiler.artifact import Artifact
    from dslc.machines.machine import CodeOptions


@dataclass(frozen=True, slots=True)
class Task:
    """One configuration of a kernel: the program before the passes, and how to go on.

    `sizes` are the values of all dims, for the prediction; `cache` is as `open_cache` takes it, on the
    machine that compiles, `code` how machine code is made.
    """

    program: str
    choices: Mapping[str, object]
    schedule: Mapping[str, int]
    target: str
    sizes: Mapping[str, int]
    cache: CacheChoice
    code: CodeOptions


@dataclass(frozen=True, slots=True)
class Outlook:
    """What is known of a configuration before its machine code.

    `text` is a hash of the generated code: configurations that give one text are one. `storage` is a
    hash of how weights are packed, empty where nothing is.
    """

    prediction: Prediction
    text: str
    storage: str


@dataclass(frozen=True, slots=True)
class Compiled:
    """Machine code, and the prediction with its true registers."""

    artifact: Artifact
    prediction: Prediction


def predict_task(task: Task) -> Outlook:
    """Schedule and predict. DiagnosticError where the configuration is refused by a pass or machine."""
    target = find_target(task.target)
    scheduled = _scheduled(task, target)
    text, shared = emitted(scheduled, target)
    prediction = predict(scheduled, target, task.sizes, shared=shared)
    return Outlook(prediction, text, storage_of(scheduled))


def compile_task(task: Task) -> Compiled:
    """Compile through the cache."""
    from dslc.compilation.building import BuildOptions, compile_program
    from dslc.compilation.caching import open_cache
    from dslc.machines.registry import find_machine

    cache = open_cache(task.cache)
    machine = find_machine(task.target, task.code)
    program = parse_program(task.program, "<tuning>")
    options = BuildOptions(task.target, cache=cache, code=task.code)
    artifact, scheduled = compile_program(program, task.choices, task.schedule, machine, options)
    if scheduled is None:
        scheduled = _scheduled(task, machine.target)
    registers = registers_of(artifact)
    shared = {artifact.name: artifact.shared_bytes} if artifact.kind == "kernel" else None
    prediction = predict(scheduled, machine.target, task.sizes, registers=registers, shared=shared)
    return Compiled(artifact, prediction)


def registers_of(artifact: Artifact) -> dict[str, int]:
    """Registers that a thread would need, by kernel: 4 bytes of stack count as one beyond the most."""
    manifests = (
        [artifact.to_manifest()] if artifact.kind == "kernel" else artifact.launch["kernels"]
    )
    registers = {}
    for manifest in manifests:
        resources = manifest["launch"].get("resources")
        if resources:
            registers[manifest["name"]] = resources["registers"] + resources["stack"] // 4
    return registers


def storage_of(program: TileProgram) -> str:
    """A hash of how a scheduled program's weights are packed; empty where the compiler packs none."""
    parts = {p.name: repr(sorted(p.storage.to_data().items())) for p in program.packed}
    return digest(parts) if parts else ""


def _scheduled(task: Task, target: Target) -> TileProgram:
    from dslc.machines.registry import machine_of

    program = parse_program(task.program, "<tuning>")
    return run_passes(program, machine_of(target).passes(task.schedule))


def emitted(program: TileProgram, target: Target) -> tuple[str, Mapping[str, int]]:
    """A hash of all kernels' texts, and the shared memory of each; DSL0501 where that is too much."""
    from dslc.machines.registry import machine_of

    draft = machine_of(target).draft(program)
    sha = hashlib.sha256()
    for text in draft.texts:
        sha.update(text.encode())
    return sha.hexdigest(), draft.shared
