"""An artifact for AArch64, ready to be called on a processor."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
from dslc.compiler.artifact import Artifact
from dslc.compiler.diagnostics import error
from dslc.runtime.aarch64.arguments import bind_arguments
from dslc.runtime.aarch64.description import Description, word_of
from dslc.runtime.aarch64.processor import Array, Processor, Word
from dslc.runtime.aarch64.slices import slices
from dslc.runtime.aarch64.steps import Step, Values, buffers_of, steps_of
from dslc.runtime.binding import check_requirements
from dslc.runtime.expression import Number, evaluate

LIBRARY = "kernel.so"
LIBRARY_MACOS = "kernel.dylib"

# Waking a thread costs what reading this many bytes does.
_WORTH_A_THREAD = 64 * 1024


class Aarch64Kernel:
    """A compiled kernel or program on one processor.

    DSL0802 where the artifact's launch cannot be read, DSL0803 where it has no library of this system,
    DSL0860 where the CPU has not the instructions that it uses.
    """

    def __init__(self, artifact: Artifact, processor: Processor, file: str = LIBRARY) -> None:
        self.artifact = artifact
        self.processor = processor
        library = artifact.file(file)
        self._steps = steps_of(artifact)
        for step in self._steps:
            check_features(artifact.name, step.description, processor)
        self._code = processor.load(library)
        self._buffers = buffers_of(artifact)

    def launch(self, args: Mapping[str, Any], dims: Mapping[str, int] | None = None) -> None:
        """Run it once over arguments by parameter name; outputs are written in place.

        `dims` are those that the caller knows: packed bytes tell none. DSL075x and DSL076x for
        arguments that do not fit, DSL0608 for an assertion of the kernel that does not hold.
        """
        arrays, values = self._bind(args, dims or {})
        for step in self._steps:
            self._run(step, arrays, values)

    def split(
        self, args: Mapping[str, Any], dims: Mapping[str, int] | None = None
    ) -> tuple[tuple[tuple[int, int], ...], ...]:
        """The slices of turns that each kernel of a launch with these arguments gives to threads."""
        arrays, values = self._bind(args, dims or {})
        found = []
        for step in self._steps:
            given = {n: arrays[t] for n, t in step.tensors.items()}
            found.append(self._slices(step, given, step.local(values)))
        return tuple(found)

    def _bind(
        self, args: Mapping[str, Any], dims: Mapping[str, int]
    ) -> tuple[dict[str, Array], dict[str, Number]]:
        arrays, values = bind_arguments(self.artifact.signature, args, dims)
        for name, size in self._buffers.items():
            arrays[name] = np.empty(evaluate(size, values), np.uint8)
        return arrays, values

    def _slices(
        self, step: Step, tensors: Mapping[str, Array], values: Values
    ) -> tuple[tuple[int, int], ...]:
        turns = prod(evaluate(text, values) for text in step.description.grid)
        worth = sum(a.nbytes for a in tensors.values()) // _WORTH_A_THREAD
        return slices(turns, min(self.processor.threads, 1 + worth)) if turns else ()

    def _run(self, step: Step, arrays: Mapping[str, Array], program_values: Values) -> None:
        values = step.local(program_values)
        check_requirements(step.artifact.signature, values)
        tensors = {n: arrays[t] for n, t in step.tensors.items()}
        parts = self._slices(step, tensors, values)
        words, written = _words(step, tensors, values)
        names = [a.text for a in step.description.arguments]
        failed = self._code.call(
            step.artifact.entry, words, written, parts, step.description.scratch, names
        )
        if failed:
            text = step.description.asserts[failed - 1]
            raise error("DSL0608", f"{step.artifact.name}: the assertion does not hold: {text}")


def check_features(name: str, description: Description, processor: Processor) -> None:
    """DSL0860 where a processor lacks what a kernel uses."""
    lacking = sorted(description.features - processor.features)
    if lacking:
        raise error(
            "DSL0860",
            f"{name} was compiled for CPUs with {', '.join(sorted(description.features))}; "
            f"{processor.name} has no {', '.join(lacking)}",
            hint="build it for aarch64:dotprod or aarch64:base, or for all of them",
        )


def _words(
    step: Step, tensors: Mapping[str, Array], values: Values
) -> tuple[list[Word], list[int]]:
    """The arguments in order, and which of them are arrays that the kernel writes."""
    modes = {p.name: p.mode for p in step.artifact.signature.params}
    sizes = {w.name: w.bytes for w in step.artifact.workspaces}
    words: list[Word] = []
    written: list[int] = []
    for i, argument in enumerate(step.description.arguments):
        match argument.kind:
            case "tensor":
                words.append(tensors[argument.text])
                if modes[argument.text] != "in":
                    written.append(i)
            case "workspace":
                words.append(np.zeros(evaluate(sizes[argument.text], values), np.uint8))
                written.append(i)
            case "scalar":
                words.append(word_of(values[argument.text], argument.type))
            case "value":
                words.append(evaluate(argument.text, values))
    return words, written
