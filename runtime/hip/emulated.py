"""An artifact for an AMD GPU, ready to be called in the emulator of its instructions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from dslc.compiler.artifact import Artifact
from dslc.compiler.diagnostics import error
from dslc.runtime.binding import check_requirements
from dslc.runtime.calls import read_calls
from dslc.runtime.cuda.description import CODES, Description, KernelArgument, describe
from dslc.runtime.expression import Number, evaluate, number
from dslc.runtime.hip_emulator import Buffer, EmulationError, Module
from dslc.runtime.native.arguments import bind_arguments
from dslc.runtime.scalars import as_dtype
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Call:
    """One kernel of an artifact and what it is given: tensors by name, dims and scalars as texts."""

    artifact: Artifact
    description: Description
    module: Module
    tensors: Mapping[str, str]
    dims: Mapping[str, str]
    scalars: Mapping[str, str]


class HipKernel:
    """A compiled kernel or program.

    DSL0802 where the artifact's launch cannot be read, DSL0803 where it has no ISA text of its chip.
    """

    def __init__(self, artifact: Artifact) -> None:
        self.artifact = artifact
        self.instructions = 0  # that the waves of the last launch executed
        self._calls, self._buffers = _calls(artifact)
        # As on a machine, counters are made zero once: every launch leaves them so for the next.
        self._spaces: dict[tuple[str, str, int], Array] = {}

    def launch(self, args: Mapping[str, Any], dims: Mapping[str, int], seed: int = 0) -> None:
        """Run it once over arguments by parameter name; outputs are written in place.

        The seed decides the order of workgroups and waves. DSL075x and DSL076x for arguments that do
        not fit, DSL0861 for what the machine forbids.
        """
        arrays, values = bind_arguments(self.artifact.signature, args, dims)
        check_requirements(self.artifact.signature, values)
        for name, size in self._buffers.items():
            arrays[name] = np.empty(int(evaluate(size, values)), np.uint8)
        self.instructions = 0
        for call in self._calls:
            self._run(call, arrays, values, seed)

    def _run(
        self, call: Call, arrays: Mapping[str, Array], values: Mapping[str, Number], seed: int
    ) -> None:
        own = _local(call, values)
        grid = prod(int(evaluate(text, own)) for text in call.description.grid)
        if not grid:
            return
        words = [self._word(call, a, arrays, own) for a in call.description.arguments]
        try:
            threads = call.description.threads
            done = call.module.launch(call.artifact.entry, words, grid, threads, seed=seed)
        except EmulationError as problem:
            raise error("DSL0861", str(problem)) from None
        self.instructions += done.instructions

    def _word(
        self,
        call: Call,
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
            plain = _bytes(array)
            if mode == "in":
                plain.flags.writeable = False  # of this view alone
            return Buffer(plain, argument.text, defined=mode != "out")
        if argument.kind == "workspace":
            sizes = {w.name: w.bytes for w in call.artifact.workspaces}
            size = int(evaluate(sizes[argument.text], values))
            key = call.artifact.name, argument.text, size
            return self._spaces.setdefault(key, np.zeros(size, np.uint8))
        own = (
            values[argument.text] if argument.kind == "scalar" else evaluate(argument.text, values)
        )
        found: np.generic = np.dtype(_numpy(argument.code)).type(own)
        return found


def _calls(artifact: Artifact) -> tuple[tuple[Call, ...], dict[str, str]]:
    """The calls of an artifact in order, and the bytes of the buffers between them by name."""
    if artifact.kind == "kernel":
        params = artifact.signature.params
        tensors = {p.name: p.name for p in params if p.dims is not None}
        scalars = {p.name: p.name for p in params if p.dims is None}
        dims = {d: d for d in artifact.signature.dims}
        return (Call(artifact, describe(artifact), _module(artifact), tensors, dims, scalars),), {}
    found = read_calls(artifact)
    modules = [_module(k) for k in found.kernels]
    calls = (
        Call(k, describe(k), modules[c.kernel], c.tensors, c.dims, c.scalars)
        for c in found.calls
        for k in (found.kernels[c.kernel],)
    )
    return tuple(calls), found.buffers


def _module(kernel: Artifact) -> Module:
    return Module(kernel.file(f"{kernel.target.partition(':')[2]}.s").decode())


def _local(call: Call, values: Mapping[str, Number]) -> dict[str, Number]:
    """The kernel's own dims and scalars, of those of the program."""
    signature = call.artifact.signature
    dtypes = {p.name: p.dtype for p in signature.params}
    scalars = {n: as_dtype(number(t, values), dtypes[n]) for n, t in call.scalars.items()}
    dims = {n: evaluate(t, values) for n, t in call.dims.items()}
    return {**signature.fixed, **scalars, **dims}


def _bytes(array: Array) -> Array:
    """The bytes from an array's first element to its last, those in between that are not its own too.

    Strides are those of the kernel, whole elements and none negative: the arguments were bound.
    """
    last = sum((n - 1) * s for n, s in zip(array.shape, array.strides, strict=True))
    count = last // array.itemsize + 1 if array.size else 0
    return as_strided(array, (count,), (array.itemsize,)).view(np.uint8)


def _numpy(code: str) -> str:
    """NumPy's name of a type that `struct` has by a letter."""
    names = {letter: name for name, letter in CODES.items()}
    name = names[code]
    return "bool" if name == "bool" else {"i": "int", "u": "uint", "f": "float"}[name[0]] + name[1:]
