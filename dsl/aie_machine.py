"""AMD Ryzen AI: kernels generated as MLIR of the aie dialect, run by the simulator of the array."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from dslc.arguments import Argument, prepare
from dslc.compiler.artifact import Artifact, Hashes
from dslc.compiler.diagnostics import error
from dslc.compiler.ir import TileProgram
from dslc.compiler.manifest import signature_of
from dslc.compiler.targets import Target
from dslc.facts import Alignments
from dslc.machines import ShortCall
from dslc.signature import Parameter

if TYPE_CHECKING:
    from dslc.runtime.aie_simulator import Run

SOURCE, EXPLICIT = "kernel.mlir", "explicit.mlir"


class AieMachine:
    """The array of one kind of NPU; neither it nor aiecc needs to be there."""

    def __init__(self, target: Target) -> None:
        self.target = target

    def toolchain(self) -> str:
        """Nothing but dslc: the artifact is MLIR."""
        return ""

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
            return _text(artifact, SOURCE)

        def explicit() -> str:
            return _text(artifact, EXPLICIT)

        return {"aie-mlir": module, "aie-explicit": explicit, "final": module}

    def binaries(self, artifact: Artifact) -> Mapping[str, bytes]:
        """None: aiecc makes them where it is installed."""
        return {}

    def prepare(
        self, parameters: Sequence[Parameter], arguments: Mapping[str, object]
    ) -> dict[str, Argument]:
        """Arrays of the host, without a copy."""
        return prepare(parameters, arguments)

    def alignments(
        self, parameters: Sequence[Parameter], ready: Mapping[str, Argument]
    ) -> Alignments:
        """None: the buffers of the device are its runtime's."""
        return ()

    def load(self, artifact: Artifact, program: TileProgram | None = None) -> AieExecutable:
        """The kernel on the simulator."""
        return AieExecutable(artifact)


class AieExecutable:
    """A kernel's module, run by the simulator. `last` is the run of the last launch."""

    def __init__(self, artifact: Artifact) -> None:
        self._artifact = artifact
        self.last: Run | None = None

    def launch(self, args: Mapping[str, Argument], dims: Mapping[str, int]) -> None:
        """Run it once; outputs are written in place. Tensors are padded to whole tiles for it."""
        from dslc.runtime.aie_simulator import simulate

        arguments = self._artifact.launch["arguments"]
        given: list[Any] = [_given(a, args) for a in arguments]
        written = [array for array, a in zip(given, arguments, strict=True) if a["written"]]
        if not any(array.size for array in written):
            return  # nothing would be written
        padded = [_padded(x, a["shape"]) for x, a in zip(given, arguments, strict=True)]
        self.last = simulate(_text(self._artifact, SOURCE), padded)
        for array, own, a in zip(given, padded, arguments, strict=True):
            if a["written"] and own is not array:
                array[...] = own[tuple(slice(n) for n in array.shape)].view(array.dtype)

    def short_call(self, arguments: Sequence[object], dims: Mapping[str, int]) -> ShortCall | None:
        """None: the way is long whatever the arguments."""
        return None


def _given(argument: Mapping[str, Any], args: Mapping[str, Any]) -> Any:
    """The array of an argument: packed rows as bytes; for scalars a word each, floats by their bits."""
    if "rows" in argument:
        return args[argument["name"]].reshape(argument["rows"])
    if "scalars" not in argument:
        return args[argument["name"]]
    words = [
        np.float32(args[name]).view(np.int32) if dtype in ("f32", "bf16") else args[name]
        for name, dtype in argument["scalars"]
    ]
    return np.array([int(word) for word in words], np.int64).astype(np.int32)


def _padded(array: Any, shape: Sequence[int]) -> Any:
    """The array with zeros up to a shape, itself where it needs none."""
    if tuple(array.shape) == tuple(shape) and array.flags.c_contiguous and array.flags.writeable:
        return array
    made = np.zeros(tuple(shape), array.dtype)
    made[tuple(slice(n) for n in array.shape)] = array
    return made


def _text(artifact: Artifact, name: str) -> str:
    """The text; DSL0803 where the artifact has none."""
    if name not in artifact.files:
        raise error("DSL0803", f"the artifact {artifact.name} has no file {name}")
    return artifact.files[name].decode()
