"""What an artifact launches: one kernel, or the kernels of a program one after another."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from dslc.compiler.artifact import Artifact
from dslc.compiler.diagnostics import error
from dslc.runtime.binding import check_requirements
from dslc.runtime.cuda.description import describe
from dslc.runtime.cuda.device import CudaDevice
from dslc.runtime.cuda.functions import load_function
from dslc.runtime.cuda.plan import Fire, Function, make_fire
from dslc.runtime.cuda.workspace import Workspaces
from dslc.runtime.expression import Number, evaluate, names_of, number
from dslc.runtime.scalars import as_dtype


class Launcher(Protocol):
    """Makes launches ready for known dims.

    `order` are the parameters that a ready launch takes, `alignment` that of their addresses, and
    `scalars` those whose values must be known as dims are.
    """

    order: tuple[str, ...]
    alignment: int
    scalars: frozenset[str]

    def fire(self, device: CudaDevice, values: Mapping[str, Number]) -> Fire:
        """The launch for these dims and scalars."""

    def release(self) -> None:
        """Give workspaces back: no launch may be under way, and graphs of it are not replayed again."""


def launcher_of(artifact: Artifact) -> Launcher:
    """DSL0802 where the artifact's launch cannot be read."""
    return KernelLauncher(artifact) if artifact.kind == "kernel" else ProgramLauncher(artifact)


class KernelLauncher:
    """One kernel, loaded once on each device."""

    def __init__(self, artifact: Artifact) -> None:
        self.artifact = artifact
        self.description = describe(artifact)
        self.alignment = self.description.alignment
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


@dataclass(frozen=True, slots=True)
class Step:
    """A call of a program's kernel.

    `tensors` names a parameter or buffer of the program for each tensor of the kernel; `dims` and
    `scalars` are expressions over the program's.
    """

    kernel: KernelLauncher
    tensors: Mapping[str, str]
    dims: Mapping[str, str]
    scalars: Mapping[str, str]

    @property
    def relevant(self) -> frozenset[str]:
        """The program's names whose values this call's launch depends on."""
        texts = [*self.dims.values()]
        texts += [
            t for n, t in self.scalars.items() if not t.isidentifier() or n in self.kernel.scalars
        ]
        return frozenset(name for text in texts for name in names_of(text))

    def numbers(self, values: Mapping[str, Number]) -> dict[str, Number]:
        """The kernel's scalars, but for those that the program's caller alone knows."""
        dtypes = {p.name: p.dtype for p in self.kernel.artifact.signature.params}
        return {
            name: as_dtype(number(text, values), dtypes[name])
            for name, text in self.scalars.items()
            if names_of(text) <= values.keys()
        }


class ProgramLauncher:
    """The calls of a program in order; its buffers are kept for each stream, as workspaces are.

    The artifact's `launch`: `buffers` with `name` and `bytes`; `kernels`, the manifest of each, whose
    files have its number before their names; `calls` with a kernel's number and what it is given.
    """

    alignment = 16

    def __init__(self, artifact: Artifact) -> None:
        try:
            kernels = [_kernel(artifact, i, m) for i, m in enumerate(artifact.launch["kernels"])]
            self._buffers = {b["name"]: b["bytes"] for b in artifact.launch["buffers"]}
            self._steps = [
                Step(kernels[c["kernel"]], c["tensors"], c["dims"], c["scalars"])
                for c in artifact.launch["calls"]
            ]
        except (KeyError, TypeError, IndexError) as problem:
            text = f"the calls of {artifact.name} cannot be read: {problem!r}"
            raise error("DSL0802", text) from None
        self.order = tuple(p.name for p in artifact.signature.params)
        self.scalars = frozenset(name for step in self._steps for name in step.relevant)
        self._held: dict[int, Workspaces] = {}

    def fire(self, device: CudaDevice, values: Mapping[str, Number]) -> Fire:
        """The launches for these dims and scalars, one after another on the same stream."""
        places = {name: at for at, name in enumerate((*self.order, *self._buffers))}
        constants: list[Number] = []
        steps: list[tuple[Fire, list[int]]] = []
        for step in self._steps:
            kernel = step.kernel
            scalars = step.numbers(values)
            numbers = {n: x for n, x in scalars.items() if step.scalars[n] not in places}
            local = {**scalars, **{n: evaluate(t, values) for n, t in step.dims.items()}}
            check_requirements(kernel.artifact.signature, local)
            picks = []
            for name in kernel.order:
                if name in numbers:
                    picks.append(len(places) + len(constants))
                    constants.append(numbers[name])
                else:
                    picks.append(places[step.tensors.get(name) or step.scalars[name]])
            steps.append((kernel.fire(device, local), picks))
        sizes = [evaluate(text, values) for text in self._buffers.values()]
        held = self._held.setdefault(device.ordinal, Workspaces(device))

        def fire(stream: int, *given: Number) -> None:
            everything = (*given, *held.addresses(stream, sizes), *constants)
            for launch, picks in steps:
                launch(stream, *[everything[i] for i in picks])

        return fire

    def release(self) -> None:
        """Give workspaces and buffers back."""
        for held in self._held.values():
            held.free()
        for step in self._steps:
            step.kernel.release()


def _kernel(artifact: Artifact, index: int, manifest: Any) -> KernelLauncher:
    prefix = f"{index}."
    files = {n.removeprefix(prefix): c for n, c in artifact.files.items() if n.startswith(prefix)}
    return KernelLauncher(Artifact.from_manifest(manifest, files))
