"""A module as it is launched: its text, its arguments, and the tensors that only pass within it."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from dslc.compiler.artifact import Artifact
from dslc.compiler.diagnostics import DiagnosticError, error
from dslc.runtime.aie.buffers import NpuBuffer, NpuMemory
from dslc.runtime.aie_simulator import Run, simulate
from dslc.runtime.binding import bind_copied
from dslc.runtime.elements import Array
from dslc.runtime.expression import number
from dslc.runtime.overlaps import refuse_overlaps
from dslc.runtime.packing import pack, unpack

if TYPE_CHECKING:
    from dslc.runtime.aie.xrt import NpuModule

SOURCE = "kernel.mlir"


class AieKernel:
    """A kernel or program on the simulator, or on an NPU where DSLC_NPU is `xrt`.

    `last` is the simulator's run of the last launch.

    What passes between a program's launches is kept from one dispatch to the next: nobody else sees it.
    """

    def __init__(self, artifact: Artifact) -> None:
        self._artifact = artifact
        self._memory = NpuMemory()
        self._storage = {p.name: p.packed for p in artifact.signature.params if p.packed}
        self._module: NpuModule | None = None
        self.last: Run | None = None
        try:
            self._arguments: list[dict[str, Any]] = artifact.launch["arguments"]
            self._between = {
                a["name"]: self._memory.empty(tuple(a["extents"]), a["dtype"])
                for a in self._arguments
                if a["role"] == "buffer"
            }
        except (KeyError, TypeError) as problem:
            text = f"the arguments of {artifact.name} cannot be read: {problem!r}"
            raise error("DSL0802", text) from None

    @property
    def text(self) -> str:
        """The module; DSL0803 where the artifact has none."""
        return self._artifact.file(SOURCE).decode()

    def launch(self, args: Mapping[str, object], dims: Mapping[str, int]) -> None:
        """Run it once over arrays, which are copied there and back, or buffers, which stay.

        `dims` are those that packed bytes do not tell. DSL075x where shapes do not fit, DSL0742 where
        a buffer that is written shares memory with another argument, DSL0793 for rows that its blocks
        do not divide.
        """
        bind_copied(self._artifact.signature, args, dims)
        written: list[Any] = [args[a["name"]] for a in self._arguments if _is_result(a)]
        if all(0 in x.shape for x in written):
            return  # nothing would be written
        buffers = {a["name"]: self._buffer(a, args) for a in self._arguments}
        modes = {a["name"]: a["role"] if a["written"] else "in" for a in self._arguments}
        refuse_overlaps(modes, buffers, NpuBuffer.shares_memory)
        lying, blank = [], {}
        for place, a in enumerate(self._arguments):
            array = buffers[a["name"]].lying(a["shape"], a["origin"], a["needed"], a["name"])
            lying.append(array)
            if a["role"] in ("out", "buffer"):
                blank[place] = _own_elements(array, a["origin"], a["extents"])
        self._run(lying, blank)
        for a in self._arguments:
            given = args.get(a["name"])
            if a["written"] and isinstance(given, np.ndarray):
                content = buffers[a["name"]].read()
                if content.shape != given.shape:  # bytes of packed rows
                    content = pack(content, self._storage[a["name"]])
                given[...] = content.view(given.dtype)

    def _run(self, arrays: list[Array], blank: dict[int, Array]) -> None:
        if os.environ.get("DSLC_NPU", "") != "xrt":
            self.last = simulate(self.text, arrays, blank)
            return
        if self._module is None:
            from dslc.runtime.aie.xrt import NpuModule

            self._module = NpuModule(self.text)
        written = {
            place: a["origin"][0] + a["needed"] if a["shape"] else 1
            for place, a in enumerate(self._arguments)
            if a["written"]
        }
        self._module.launch(arrays, written)

    def _buffer(self, argument: Mapping[str, Any], args: Mapping[str, object]) -> NpuBuffer:
        name = argument["name"]
        if name in self._between:
            return self._between[name]
        given: Any = _words(argument, args) if "scalars" in argument else args[name]
        storage, whole = self._storage.get(name), math.prod(argument["extents"])
        if storage is not None and math.prod(given.shape) != whole:
            if isinstance(given, NpuBuffer):
                raise _wrong_size(argument, given.shape)
            if argument["packed"]:  # codes of one axis, which look like bytes
                packed = pack(given, storage)
                if packed.size != whole:
                    raise _wrong_size(argument, given.shape)
                given = packed
            else:
                given = unpack(given, storage, argument["extents"])
        if isinstance(given, NpuBuffer):
            return given
        if argument["packed"]:
            given = given.reshape(argument["extents"])
        buffer = self._memory.empty(tuple(given.shape), argument["dtype"])
        if argument["role"] != "out":
            buffer.write(given)
        return buffer


def _wrong_size(argument: Mapping[str, Any], shape: tuple[int, ...]) -> DiagnosticError:
    form = "bytes of packed rows" if argument["packed"] else "codes, one a byte"
    return error(
        "DSL0752",
        f"argument {argument['name']} has shape {shape}, expected {argument['extents']}: {form}",
        hint="what a kernel writes are codes, one a byte; pack them for the kernel that reads them",
    )


def _words(argument: Mapping[str, Any], args: Mapping[str, object]) -> Array:
    """The words of scalars, floats by their bits."""
    scalars: dict[str, Any] = {n: x for n, x in args.items() if getattr(x, "shape", ()) == ()}
    numbers = [number(text, scalars) for text, _ in argument["scalars"]]
    words = [
        int(np.float32(x).view(np.int32)) if dtype in ("f32", "bf16", "f16") else int(x)
        for x, (_, dtype) in zip(numbers, argument["scalars"], strict=True)
    ]
    return np.array(words, np.int64).astype(np.int32)


def _is_result(argument: Mapping[str, Any]) -> bool:
    return bool(argument["written"]) and argument["role"] != "buffer"


def _own_elements(array: Array, origin: list[int], extents: list[int]) -> Array:
    """Which elements of a padded array are the tensor's own."""
    mask = np.zeros(array.shape, bool)
    mask[tuple(slice(o, o + n) for o, n in zip(origin, extents, strict=True))] = True
    return mask
