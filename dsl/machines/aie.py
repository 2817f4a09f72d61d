"""AMD Ryzen AI: kernels generated as MLIR of the aie dialect, run by the simulator of the array."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from dslc.calls.arguments import Argument, prepare
from dslc.calls.signature import Parameter
from dslc.compiler.artifact import Artifact, Hashes
from dslc.compiler.diagnostics import error
from dslc.compiler.ir import TileProgram
from dslc.compiler.manifest import signature_of
from dslc.compiler.targets import Target
from dslc.machines.registry import OneWay, SourceOnly

if TYPE_CHECKING:
    from dslc.runtime.aie.buffers import NpuBuffer
    from dslc.runtime.aie_simulator import Run

SOURCE, EXPLICIT = "kernel.mlir", "explicit.mlir"


class AieMachine(SourceOnly):
    """The array of one kind of NPU; neither it nor aiecc needs to be there."""

    def __init__(self, target: Target) -> None:
        self.target = target

    def compile(
        self, program: TileProgram, config: Mapping[str, object], hashes: Hashes
    ) -> Artifact:
        """The module of a kernel. DSL0550 to DSL0554 and DSL0590 for what has no place on the array."""
        from dslc.codegen.aie.lowering import lower

        made = lower(program, self.target)
        signature = signature_of(program, config)
        return dataclasses.replace(made, signature=signature, hashes=hashes)

    def texts(self, artifact: Artifact) -> Mapping[str, Callable[[], str]]:
        """The module with object FIFOs (`aie-mlir`, `final`) or with locks (`aie-explicit`)."""

        def module() -> str:
            return artifact.file(SOURCE).decode()

        def explicit() -> str:
            return artifact.file(EXPLICIT).decode()

        return {"aie-mlir": module, "aie-explicit": explicit, "final": module}

    def prepare(
        self, parameters: Sequence[Parameter], arguments: Mapping[str, object]
    ) -> dict[str, Argument]:
        """Buffers of the NPU as they are, arrays of the host, which the launch copies."""
        return prepare(parameters, arguments, _buffer_of)

    def load(self, artifact: Artifact, program: TileProgram | None = None) -> AieExecutable:
        """The kernel on the simulator."""
        return AieExecutable(artifact)


class AieExecutable(OneWay):
    """A module on the simulator. `last` is the run of the last launch."""

    def __init__(self, artifact: Artifact) -> None:
        from dslc.runtime.aie.kernel import AieKernel

        self._kernel = AieKernel(artifact)

    @property
    def last(self) -> Run | None:
        """The run of the last launch."""
        return self._kernel.last

    def launch(self, args: Mapping[str, Argument], dims: Mapping[str, int]) -> None:
        """Run it once; outputs are written in place. Arrays of the host are copied there and back."""
        self._kernel.launch(args, dims)


def _buffer_of(parameter: Parameter, value: object) -> NpuBuffer | None:
    """A buffer as it is, None for an array; DSL0761 where it is of another dtype."""
    from dslc.runtime.aie.buffers import NpuBuffer

    if not isinstance(value, NpuBuffer):
        return None
    if value.dtype != parameter.dtype.name and not parameter.may_be_packed:
        text = f"argument {parameter.name} is a buffer of {value.dtype}, expected {parameter.dtype}"
        raise error("DSL0761", text)
    return value
