"""An artifact for an AMD GPU, ready to be called in the emulator of its instructions."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
from dslc.compiler.artifact import Artifact
from dslc.compiler.diagnostics import error
from dslc.runtime.binding import check_requirements
from dslc.runtime.cuda.description import KernelArgument
from dslc.runtime.elements import Array, bytes_of
from dslc.runtime.emulated_calls import EmulatedCall, Spaces, calls_of, number_of
from dslc.runtime.expression import Number, evaluate
from dslc.runtime.hip_emulator import Buffer, EmulationError, Module
from dslc.runtime.native.arguments import bind_arguments


class HipKernel:
    """A compiled kernel or program.

    DSL0802 where the artifact's launch cannot be read, DSL0803 where it has no ISA text of its chip.
    """

    def __init__(self, artifact: Artifact) -> None:
        self.artifact = artifact
        self.instructions = 0  # that the waves of the last launch executed
        self._calls, self._between = calls_of(artifact)
        self._modules = {c.number: _module(c.artifact) for c in self._calls}
        self._spaces: Spaces = {}

    def launch(self, args: Mapping[str, Any], dims: Mapping[str, int], seed: int = 0) -> None:
        """Run it once over arguments by parameter name; outputs are written in place.

        The seed decides the order of workgroups and waves. DSL075x and DSL076x for arguments that do
        not fit, DSL0861 for what the machine forbids.
        """
        arrays, values = bind_arguments(self.artifact.signature, args, dims)
        check_requirements(self.artifact.signature, values)
        self._between.add_to(arrays, values)
        self.instructions = 0
        for call in self._calls:
            self._run(call, arrays, values, seed)

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
        grid = prod(int(evaluate(text, own)) for text in call.description.grid)
        if not grid:
            return
        words = [self._word(call, a, arrays, own) for a in call.description.arguments]
        module = self._modules[call.number]
        try:
            threads = call.description.threads
            done = module.launch(call.artifact.entry, words, grid, threads, seed=seed)
        except EmulationError as problem:
            raise error("DSL0861", str(problem)) from None
        self.instructions += done.instructions

    def _word(
        self,
        call: EmulatedCall,
        argument: KernelArgument,
        arrays: Mapping[str, Array],
        values: Mapping[str, Number],
    ) -> Buffer | Array | np.generic:
        """One argument as the emulator takes it: bytes of arrays, numbers of C's types.

        Inputs may not be written, and of an output nothing may be used that the launch has not written.
        """
        if argument.kind == "tensor":
            array = arrays[call.tensors[argument.text]]
            mode = next(p.mode for p in call.artifact.signature.params if p.name == argument.text)
            plain = bytes_of(array)
            if mode == "in":
                plain.flags.writeable = False  # of this view alone
            return Buffer(plain, argument.text, defined=mode != "out")
        if argument.kind == "workspace":
            return call.workspace(argument.text, values, self._spaces)
        return number_of(argument, values)


def _module(kernel: Artifact) -> Module:
    return Module(kernel.file(f"{kernel.target.partition(':')[2]}.s").decode())
