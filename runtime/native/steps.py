"""The kernel calls that an artifact consists of: one of a kernel, those of a program in order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from dslc.compiler.artifact import Artifact
from dslc.compiler.diagnostics import DiagnosticError, error
from dslc.runtime.calls import Between, read_calls
from dslc.runtime.expression import Number, evaluate, number
from dslc.runtime.native.description import Description, describe
from dslc.runtime.scalars import as_dtype

Values: TypeAlias = Mapping[str, Number]


@dataclass(frozen=True, slots=True)
class Step:
    """A kernel's call: `tensors` by the names of the program's, dims and scalars by expressions.

    It happens where `when` is not 0.
    """

    artifact: Artifact
    description: Description
    tensors: Mapping[str, str]
    dims: Mapping[str, str]
    scalars: Mapping[str, str]
    when: str = "1"

    def local(self, values: Values) -> dict[str, Number]:
        """The kernel's own dims and scalars, of those of the program."""
        dtypes = {p.name: p.dtype for p in self.artifact.signature.params}
        scalars = {n: as_dtype(number(t, values), dtypes[n]) for n, t in self.scalars.items()}
        dims = {n: evaluate(t, values) for n, t in self.dims.items()}
        return {**self.artifact.signature.fixed, **scalars, **dims}

    def broken(self, result: int) -> DiagnosticError:
        """DSL0608 for the assertion whose number the kernel gave."""
        text = self.description.asserts[result - 1]
        return error("DSL0608", f"{self.artifact.name}: the assertion does not hold: {text}")


def steps_of(artifact: Artifact) -> tuple[Step, ...]:
    """The calls in order; DSL0802 where the launch cannot be read."""
    if artifact.kind == "kernel":
        signature = artifact.signature
        tensors = {p.name: p.name for p in signature.params if p.dims is not None}
        scalars = {p.name: p.name for p in signature.params if p.dims is None}
        dims = {d: d for d in signature.dims}
        return (Step(artifact, describe(artifact), tensors, dims, scalars),)
    program = read_calls(artifact, files=False)
    described = [describe(k) for k in program.kernels]
    return tuple(
        Step(program.kernels[c.kernel], described[c.kernel], c.tensors, c.dims, c.scalars, c.when)
        for c in program.calls
    )


def between(artifact: Artifact) -> Between:
    """What a program's calls take beside its parameters."""
    if artifact.kind == "kernel":
        return Between()
    return read_calls(artifact, files=False).between
