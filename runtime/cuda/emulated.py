"""An artifact for an NVIDIA GPU, ready to be called on the host: its CUDA C in the emulator."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

from dslc.compiler.artifact import Artifact
from dslc.compiler.diagnostics import error
from dslc.runtime.binding import check_requirements
from dslc.runtime.cuda.description import KernelArgument
from dslc.runtime.cuda.tensor_maps import TensorMap
from dslc.runtime.cuda_emulator import BoxMap, EmulationError, emulate
from dslc.runtime.elements import Array, bytes_of
from dslc.runtime.emulated_calls import EmulatedCall, Spaces, calls_of, number_of
from dslc.runtime.expression import Number, evaluate
from dslc.runtime.native.arguments import bind_arguments

_SOURCE = "kernel.cu"


class EmulatedCudaKernel:
    """A compiled kernel or program; DSL0802 where the artifact's launch cannot be read."""

    def __init__(self, artifact: Artifact) -> None:
        self.artifact = artifact
        self._calls, self._between = calls_of(artifact)
        self._texts = {c.number: c.artifact.file(_SOURCE).decode() for c in self._calls}
        self._spaces: Spaces = {}

    def launch(self, args: Mapping[str, Any], dims: Mapping[str, int], seed: int = 0) -> None:
        """Run it once over arguments by parameter name; outputs are written in place.

        The seed decides the order of blocks and threads. DSL075x and DSL076x for arguments that do not
        fit, DSL0861 for what a GPU forbids, or where there is no C++ compiler.
        """
        arrays, values = bind_arguments(self.artifact.signature, args, dims)
        check_requirements(self.artifact.signature, values)
        self._between.add_to(arrays, values)
        for place, call in enumerate(self._calls):
            self._run(call, arrays, values, seed + place)

    def _run(
        self,
        call: EmulatedCall,
        arrays: Mapping[str, Array],
        values: Mapping[str, Number],
        seed: int,
    ) -> None:
        if not evaluate(call.when, values):
            return
        own = call.local(values)
        about = call.description
        grid = prod(int(evaluate(text, own)) for text in about.grid)
        names = [a.text if a.kind == "tensor" else "" for a in about.arguments]
        words = [self._word(call, a, names, arrays, own) for a in about.arguments]
        begins = {i: about.alignments[n] for i, n in enumerate(names) if n in about.alignments}
        try:
            printed = emulate(
                self._texts[call.number],
                call.artifact.entry,
                words,
                grid,
                about.threads,
                call.artifact.shared_bytes,
                seed,
                alignments=begins,
                dependent=about.dependent,
            )
        except EmulationError as problem:
            raise error("DSL0861", str(problem)) from None
        if printed:
            print(printed, end="")  # the kernel's own

    def _word(
        self,
        call: EmulatedCall,
        argument: KernelArgument,
        names: list[str],
        arrays: Mapping[str, Array],
        values: Mapping[str, Number],
    ) -> Any:
        """One argument as the emulator takes it: bytes of arrays, numbers, boxes of tensors."""
        if argument.kind == "tensor":
            return bytes_of(arrays[call.tensors[argument.text]])
        if argument.kind == "workspace":
            return call.workspace(argument.text, values, self._spaces)
        if argument.kind == "tensor_map":
            assert argument.box is not None, "a map has a box"
            return _box(argument.box, names.index(argument.text), values)
        return number_of(argument, values).item()


def _box(box: TensorMap, place: int, values: Mapping[str, Number]) -> BoxMap:
    """A tensor map with its numbers."""
    extents = tuple(int(evaluate(text, values)) for text in box.extents)
    strides = tuple(int(evaluate(text, values)) for text in box.strides)
    return BoxMap(place, box.bytes, box.swizzle, extents, strides, tuple(box.box))
