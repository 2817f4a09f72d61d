"""What an artifact launches: the protocol, and one kernel."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Protocol

from dslc.compiler.artifact import Artifact
from dslc.runtime.cuda.description import describe
from dslc.runtime.cuda.device import CudaDevice
from dslc.runtime.cuda.functions import load_function
from dslc.runtime.cuda.plan import Direct, Fire, Function, direct_of, make_fire
from dslc.runtime.expression import Number, names_of


class Launcher(Protocol):
    """Makes launches ready for known dims.

    `order` are the parameters that a ready launch takes, `alignments` what the addresses of tensors are
    multiples of, and `scalars` the parameters whose values must be known as dims are.
    """

    order: tuple[str, ...]
    alignments: Mapping[str, int]
    scalars: frozenset[str]

    def fire(self, device: CudaDevice, values: Mapping[str, Number]) -> Fire:
        """The launch for these dims and scalars."""

    def direct(self, device: CudaDevice, values: Mapping[str, Number]) -> Direct | None:
        """The same, where it is one call of the driver and nothing else."""

    def release(self) -> None:
        """Give workspaces back: no launch may be under way, and graphs of it are not replayed again."""


class KernelLauncher:
    """One kernel, loaded once on each device."""

    def __init__(self, artifact: Artifact) -> None:
        self.artifact = artifact
        self.description = describe(artifact)
        usual = self.description.alignment
        self.alignments = alignments_of(artifact, usual, self.description.alignments)
        arguments = self.description.arguments
        self.order = tuple(a.text for a in arguments if a.kind in ("tensor", "scalar"))
        texts = [*self.description.grid, *(w.bytes for w in artifact.workspaces)]
        texts += [a.text for a in arguments if a.kind == "value"]
        texts += [r.condition for r in artifact.signature.requires]
        self.scalars = frozenset(name for text in texts for name in names_of(text))
        self._functions: dict[int, Function] = {}
        self._lock = threading.Lock()

    def fire(self, device: CudaDevice, values: Mapping[str, Number]) -> Fire:
        """The launch for these dims and scalars."""
        return make_fire(self.function_on(device), values)

    def direct(self, device: CudaDevice, values: Mapping[str, Number]) -> Direct | None:
        """The launch alone, for a kernel without workspaces."""
        return direct_of(self.function_on(device), values)

    def release(self) -> None:
        """Give workspaces back."""
        for function in self._functions.values():
            function.workspaces.free()

    def function_on(self, device: CudaDevice) -> Function:
        """The kernel loaded on a device."""
        function = self._functions.get(device.ordinal)
        if function is None:
            with self._lock:
                function = self._functions.get(device.ordinal)
                if function is None:
                    function = load_function(device, self.artifact, self.description)
                    self._functions[device.ordinal] = function
        return function


def alignments_of(artifact: Artifact, usual: int, less: Mapping[str, int]) -> Mapping[str, int]:
    """What every tensor begins at a multiple of, in bytes: `usual`, or what `less` says."""
    tensors = (p.name for p in artifact.signature.params if p.dims is not None)
    return {name: less.get(name, usual) for name in tensors}
