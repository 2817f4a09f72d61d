"""The kernels of an artifact for a GPU as an emulator of its instructions calls them, on the host."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from dslc.compiler.artifact import Artifact
from dslc.runtime.calls import Between, read_calls
from dslc.runtime.cuda.description import CODES, Description, KernelArgument, describe
from dslc.runtime.expression import Number, evaluate, number
from dslc.runtime.scalars import as_dtype
from numpy.typing import NDArray

Array = NDArray[Any]
Spaces = dict[tuple[int, str, int], Array]


@dataclass(frozen=True, slots=True)
class EmulatedCall:
    """One kernel of an artifact and what it is given: tensors by name, dims and scalars as texts.

    It is called where `when` is not 0.
    """

    artifact: Artifact
    description: Description
    tensors: Mapping[str, str]
    dims: Mapping[str, str]
    scalars: Mapping[str, str]
    when: str = "1"
    number: int = 0  # of the kernel among the program's: two may have one name

    def local(self, values: Mapping[str, Number]) -> dict[str, Number]:
        """The kernel's own dims and scalars, of those of the program."""
        signature = self.artifact.signature
        dtypes = {p.name: p.dtype for p in signature.params}
        scalars = {n: as_dtype(number(t, values), dtypes[n]) for n, t in self.scalars.items()}
        dims = {n: evaluate(t, values) for n, t in self.dims.items()}
        return {**signature.fixed, **scalars, **dims}

    def workspace(self, name: str, values: Mapping[str, Number], spaces: Spaces) -> Array:
        """A workspace's bytes, among those that are kept.

        As on a machine, counters are made zero once: every launch leaves them so for the next.
        """
        sizes = {w.name: w.bytes for w in self.artifact.workspaces}
        size = int(evaluate(sizes[name], values))
        return spaces.setdefault((self.number, name, size), np.zeros(size, np.uint8))


def calls_of(artifact: Artifact) -> tuple[tuple[EmulatedCall, ...], Between]:
    """The calls of an artifact in order, and the memory between them.

    DSL0802 where its launch cannot be read.
    """
    if artifact.kind == "kernel":
        params = artifact.signature.params
        tensors = {p.name: p.name for p in params if p.dims is not None}
        scalars = {p.name: p.name for p in params if p.dims is None}
        dims = {d: d for d in artifact.signature.dims}
        return (EmulatedCall(artifact, describe(artifact), tensors, dims, scalars),), Between()
    plan = read_calls(artifact)
    described = [describe(k) for k in plan.kernels]
    calls = (
        EmulatedCall(
            plan.kernels[c.kernel],
            described[c.kernel],
            c.tensors,
            c.dims,
            c.scalars,
            c.when,
            c.kernel,
        )
        for c in plan.calls
    )
    return tuple(calls), plan.between


def number_of(argument: KernelArgument, values: Mapping[str, Number]) -> np.generic:
    """A scalar or a value, of the type that C has for it."""
    own = values[argument.text] if argument.kind == "scalar" else evaluate(argument.text, values)
    scalar: np.generic = np.dtype(_numpy(argument.code)).type(own)
    return scalar


def _numpy(code: str) -> str:
    """NumPy's name of a type that `struct` has by a letter."""
    names = {letter: name for name, letter in CODES.items()}
    name = names[code]
    return "bool" if name == "bool" else {"i": "int", "u": "uint", "f": "float"}[name[0]] + name[1:]
