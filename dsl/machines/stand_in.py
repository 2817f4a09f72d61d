"""A simulator as a place where packaged kernels run: machines that are not here, stood in for.

`dslc.runtime.load(path, simulate="nki:trn2")` imports this; it needs all of dslc.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from dslc.calls.signature import Parameter
from dslc.calls.signature import Signature as DeclaredSignature
from dslc.compilation.specialization import Specialization
from dslc.compiler.artifact import Artifact, Signature
from dslc.compiler.diagnostics import error
from dslc.compiler.dtypes import parse_dtype
from dslc.compiler.targets import find_target
from dslc.machines.emulation import emulating
from dslc.machines.registry import families, find_machine, machine_class


class StandIn:
    """The simulator, emulator or interpreter of one target; DSL0834 where there is none."""

    def __init__(self, target: str) -> None:
        self._target = find_target(target)
        if not _can_stand_in(self._target.family):
            others = [f for f in families() if _can_stand_in(f)]
            raise error(
                "DSL0834",
                f"nothing here simulates {target}",
                hint=f"there are simulators for {', '.join(others)}",
            )
        self.name = f"the simulator of {target}"

    def rank(self, target: str, forms: Collection[str]) -> tuple[int, ...] | None:
        """The one target alone."""
        return (0,) if target == self._target.name else None

    def load(self, artifact: Artifact) -> Simulated:
        """DSL0802 and DSL0803 where the artifact cannot be read."""
        return Simulated(artifact)


class Simulated:
    """A kernel on the simulator of its target."""

    def __init__(self, artifact: Artifact) -> None:
        machine = find_machine(artifact.target)
        declared = _declared(artifact)
        self._machine = machine
        with emulating():
            self._made = Specialization(declared, artifact, machine, machine.load(artifact), {})
        self.signature: Signature = self._made.chosen.signature

    def launch(self, args: Mapping[str, Any], stream: object, dims: Mapping[str, int]) -> None:
        """Run it once over arrays of the host; DSL0767 for a stream."""
        if stream is not None:
            raise error("DSL0767", "this kernel runs on a simulator, which has no streams")
        with emulating():
            self._made.launch(self._machine.prepare(self._made.parameters, args), dims)


def _can_stand_in(family: str) -> bool:
    facts = machine_class(family).facts
    return facts.is_simulated or facts.has_emulator


def _declared(artifact: Artifact) -> DeclaredSignature:
    """The artifact's signature as a kernel of a library has it."""
    parameters = []
    for p in artifact.signature.params:
        if (dtype := parse_dtype(p.dtype)) is None:
            raise error("DSL0802", f"the parameter {p.name} is of type {p.dtype}, which is none")
        parameters.append(Parameter(p.name, dtype, p.dims, p.mode, None))
    return DeclaredSignature(artifact.name, tuple(parameters), artifact.signature.dims, {})
