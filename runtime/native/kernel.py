"""An artifact for CPUs, ready to be called on a processor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
from dslc.compiler.artifact import Artifact
from dslc.compiler.diagnostics import DiagnosticError
from dslc.runtime.binding import check_requirements
from dslc.runtime.expression import Number, evaluate
from dslc.runtime.native.arguments import bind_arguments
from dslc.runtime.native.copies import laid_out, write_back
from dslc.runtime.native.description import word_of
from dslc.runtime.native.processor import Array, Processor, Word
from dslc.runtime.native.short_path import Call, short_call
from dslc.runtime.native.steps import Step, Values, between, steps_of
from dslc.runtime.native.variants import chosen_variant

# Waking a thread costs what reading this many bytes does.
_WORTH_A_THREAD = 64 * 1024


class NativeKernel:
    """A compiled kernel or program on one processor.

    Of several variants it is the best that the processor runs. DSL0802 where the artifact's launch
    cannot be read, DSL0803 where it has not the library of that name, DSL0860 where the CPU has not the
    instructions that it uses.
    """

    def __init__(self, artifact: Artifact, processor: Processor, file: str) -> None:
        library = artifact.file(file)
        self.artifact = chosen_variant(artifact, processor)
        self.processor = processor
        self._steps = steps_of(self.artifact)
        self._between = between(self.artifact)
        self.code = processor.load(library)

    def launch(self, args: Mapping[str, Any], dims: Mapping[str, int] | None = None) -> None:
        """Run it once over arguments by parameter name; outputs are written in place.

        `dims` are those that the caller knows: packed bytes tell none. DSL075x and DSL076x for
        arguments that do not fit, DSL0608 for an assertion of the kernel that does not hold.
        """
        args, written = laid_out(self.artifact.signature, args)
        arrays, values = self._bind(args, dims or {})
        for step in self._called(values):
            self._run(step, arrays, values)
        write_back(written)

    def threads(
        self, args: Mapping[str, Any], dims: Mapping[str, int] | None = None
    ) -> tuple[int, ...]:
        """On how many threads each kernel of a launch with these arguments runs; 0 without turns."""
        arrays, values = self._bind(args, dims or {})
        steps = self._called(values)
        return tuple(self._shared(s, arrays, s.local(values))[1] for s in steps)

    def short_call(self, arguments: Sequence[object], dims: Mapping[str, int]) -> Call | None:
        """A short way for calls like one that was launched, with its arguments in order."""
        params = self.artifact.signature.params
        args = {p.name: a for p, a in zip(params, arguments, strict=True)}
        try:
            arrays, values = self._bind(args, dims)
        except (
            DiagnosticError
        ):  # the arguments were converted before they came here: codes to bytes
            return None
        called = self._called(values)
        steps = [(s, *self._shared(s, arrays, s.local(values))) for s in called]
        views = {v.name: (v.of, evaluate(v.offset, values)) for v in self._between.views}
        return short_call(self.code, self.artifact, steps, args, arrays, values, views)

    def _called(self, values: Values) -> list[Step]:
        """The calls whose conditions hold."""
        return [s for s in self._steps if evaluate(s.when, values)]

    def _bind(
        self, args: Mapping[str, Any], dims: Mapping[str, int]
    ) -> tuple[dict[str, Array], dict[str, Number]]:
        arrays, values = bind_arguments(self.artifact.signature, args, dims)
        self._between.add_to(arrays, values)
        return arrays, values

    def _shared(self, step: Step, arrays: Mapping[str, Array], values: Values) -> tuple[int, int]:
        """The turns of a call, and on how many threads they run: small ones on the caller's."""
        turns = prod(evaluate(text, values) for text in step.description.grid)
        worth = sum(arrays[name].nbytes for name in step.tensors.values()) // _WORTH_A_THREAD
        return turns, min(self.processor.threads, 1 + worth, turns)

    def _run(self, step: Step, arrays: Mapping[str, Array], program_values: Values) -> None:
        values = step.local(program_values)
        check_requirements(step.artifact.signature, values)
        turns, threads = self._shared(step, arrays, values)
        if not turns:
            return
        tensors = {n: arrays[t] for n, t in step.tensors.items()}
        words, written = _words(step, tensors, values)
        names = [a.text for a in step.description.arguments]
        scratch = step.description.scratch
        failed = self.code.call(step.artifact.entry, words, written, turns, threads, scratch, names)
        if failed:
            raise step.broken(failed)


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
