"""A launch made ready: everything that follows from shapes is computed once, addresses are filled in.

The host's cost of a launch is what stays: packing addresses and scalars into a buffer, and one call of
the driver.
"""

from __future__ import annotations

import ctypes
import math
import os
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from dslc.compiler.artifact import Artifact
from dslc.compiler.diagnostics import error
from dslc.runtime.cuda import driver as cu
from dslc.runtime.cuda import tensor_maps
from dslc.runtime.cuda.description import Description
from dslc.runtime.cuda.device import CudaDevice
from dslc.runtime.cuda.tensor_maps import Encoder, packing
from dslc.runtime.cuda.workspace import Workspaces
from dslc.runtime.expression import Number, evaluate

_SLOT = 8  # bytes of an argument in the buffer
WITHOUT_CONTEXT = frozenset({cu.INVALID_CONTEXT, 400})  # 400: a handle of another context
Fire = Callable[..., None]


class Frame:
    """The memory of one launch in preparation: two threads never share one."""

    __slots__ = ("_attributes", "buffer", "config", "parameters", "reference", "stream")

    def __init__(
        self, size: int, slots: Sequence[int], config: cu.LaunchConfig, attributes: object
    ) -> None:
        # Maps of tensors begin at multiples of their alignment.
        memory = (ctypes.c_char * (size + tensor_maps.ALIGNMENT))()
        skipped = -ctypes.addressof(memory) % tensor_maps.ALIGNMENT
        self.buffer = (ctypes.c_char * size).from_buffer(memory, skipped)
        base = ctypes.addressof(self.buffer)
        self.parameters = (ctypes.c_void_p * len(slots))(*(base + _SLOT * s for s in slots))
        self.config = config
        self.reference = ctypes.byref(config)
        self.stream = 0
        self._attributes = attributes


@dataclass(frozen=True, slots=True)
class Function:
    """A kernel loaded on a device, with what its binary says of it."""

    device: CudaDevice
    handle: int
    artifact: Artifact
    description: Description
    workspaces: Workspaces

    @property
    def variable(self) -> list[int]:
        """The C parameters that a launch fills in, in the order that `fire` takes them."""
        kinds = [a.kind for a in self.description.arguments]
        return [i for i, kind in enumerate(kinds) if kind in ("tensor", "scalar")]


class Prepared:
    """A launch with known dims, to be filled in with addresses and numbers.

    They are in the order of `Function.variable`, then the addresses of the workspaces in the order of
    `used`, numbers of the artifact's, whose bytes are `sizes`. DSL0843 for a launch that is larger than
    the device allows. `empty` says that there is no block to run.
    """

    def __init__(self, function: Function, values: Mapping[str, Number]) -> None:
        self.function = function
        self.grid = [evaluate(text, values) for text in function.description.grid]
        self.empty = math.prod(self.grid) == 0
        if not self.empty:
            _check_grid(function, self.grid)
        self.sizes = [evaluate(w.bytes, values) for w in function.artifact.workspaces]
        arguments = function.description.arguments
        spaces = [i for i, a in enumerate(arguments) if a.kind == "workspace"]
        spaces.sort(key=lambda i: _number(function, i))
        self.used = [_number(function, i) for i in spaces]
        order = [*function.variable, *spaces]
        fixed = [i for i, a in enumerate(arguments) if a.kind == "value"]
        slot_of = {index: slot for slot, index in enumerate([*order, *fixed])}
        boxes = [i for i, a in enumerate(arguments) if a.kind == "tensor_map"]
        first = -(-len(slot_of) * _SLOT // tensor_maps.BYTES)  # whole maps that the others fill
        for number, index in enumerate(boxes):
            slot_of[index] = (first + number) * tensor_maps.BYTES // _SLOT
        self._slots = [slot_of[i] for i in range(len(arguments))]
        self._constants = [
            _cast(arguments[i].code, evaluate(arguments[i].text, values)) for i in fixed
        ]
        self._pack_fixed = struct.Struct(_format([arguments[i].code for i in fixed])).pack_into
        self._fixed_at = _SLOT * len(order)
        # pack(buffer, 0, *given); struct.error for a number that C's type cannot hold
        self.pack: Callable[..., None] = struct.Struct(
            _format([arguments[i].code for i in order])
        ).pack_into
        self._size = _SLOT * max(1, len(slot_of))
        if boxes and not self.empty:
            self._size = (first + len(boxes)) * tensor_maps.BYTES
            names = [arguments[i].text for i in function.variable]
            encoders = [
                (_SLOT * slot_of[i], names.index(a.text), Encoder(function.device, a.box, values))
                for i, a in enumerate(arguments)
                if a.box is not None
            ]
            self.pack = packing(self.pack, encoders)

    @property
    def is_dependent(self) -> bool:
        """Whether the launch may begin before those before it have ended."""
        return _is_dependent(self.function)

    def frame(self) -> Frame:
        """A frame in which only what varies is missing."""
        config, attributes = _config(self.function, self.grid)
        frame = Frame(self._size, self._slots, config, attributes)
        self._pack_fixed(frame.buffer, self._fixed_at, *self._constants)
        return frame


def make_fire(function: Function, values: Mapping[str, Number]) -> Fire:
    """`fire(stream, *arguments)`: launch with these dims; addresses and numbers as in `variable`.

    It raises struct.error for a number that C's type cannot hold. DSL0843 for a launch that is larger
    than the device allows.
    """
    prepared = Prepared(function, values)
    if prepared.empty:
        return lambda stream, *arguments: None
    fire = fire_of(prepared)
    if prepared.sizes:
        fire = _with_workspaces(prepared, fire)
    if not function.device.alone:
        fire = switching(function.device, fire)
    return fire


def fire_of(prepared: Prepared) -> Fire:
    """`fire(stream, *arguments)`, the workspaces' addresses among the arguments."""
    pack, function = prepared.pack, prepared.function
    launch, handle = function.device.driver.launch, ctypes.c_void_p(function.handle)
    frames: list[Frame] = []

    def fire(stream: int, *given: Number) -> None:
        try:
            frame = frames.pop()
        except IndexError:
            frame = prepared.frame()
        pack(frame.buffer, 0, *given)
        if frame.stream != stream:
            frame.config.stream = frame.stream = stream
        if status := launch(frame.reference, handle, frame.parameters, None):
            _again(function, frame, status)
        frames.append(frame)

    return _synchronous(function, fire) if is_synchronous() else fire


class Direct:
    """A kernel's launches with arguments that are filled in once and used again.

    Threads may share a frame that is filled: a launch only reads it. Where another device's context is
    current the driver refuses, and `again` launches in the right one.
    """

    def __init__(self, prepared: Prepared) -> None:
        self._prepared = prepared
        self.launch = prepared.function.device.driver.launch
        self.handle_of = ctypes.c_void_p(prepared.function.handle)

    def frame(self, stream: int, given: Sequence[Number]) -> Frame:
        """A frame with these arguments."""
        frame = self._prepared.frame()
        self._prepared.pack(frame.buffer, 0, *given)
        frame.config.stream = frame.stream = stream
        return frame

    def again(self, frame: Frame, status: int) -> None:
        """After a launch that failed: in the device's own context, or DSL0842."""
        _again(self._prepared.function, frame, status)


def direct_of(function: Function, values: Mapping[str, Number]) -> Direct | None:
    """The direct launch of a kernel with these dims; None where a launch is more than that."""
    prepared = Prepared(function, values)
    return None if prepared.empty or prepared.sizes or is_synchronous() else Direct(prepared)


def is_synchronous() -> bool:
    """Whether every launch waits, so that a fault is laid at its kernel's door."""
    return os.environ.get("DSLC_CUDA_SYNC") == "1"


def _again(function: Function, frame: Frame, status: int) -> None:
    """Launch in the device's own context where none or another was current; else DSL0842."""
    device = function.device
    if status in WITHOUT_CONTEXT:
        with device.current():
            handle = ctypes.c_void_p(function.handle)
            status = device.driver.launch(frame.reference, handle, frame.parameters, None)
    if status:
        raise device.driver.failed(f"launching {function.artifact.name}", status)


def _number(function: Function, index: int) -> int:
    """The position of a C parameter's workspace among the artifact's."""
    names = [w.name for w in function.artifact.workspaces]
    return names.index(function.description.arguments[index].text)


def _with_workspaces(prepared: Prepared, fire: Fire) -> Fire:
    addresses, sizes, used = prepared.function.workspaces.addresses, prepared.sizes, prepared.used

    def fire_with(stream: int, *given: Number) -> None:
        spaces = addresses(stream, sizes)
        fire(stream, *given, *(spaces[i] for i in used))

    return fire_with


def switching(device: CudaDevice, fire: Fire) -> Fire:
    """On a machine with several devices another one's context may be current."""

    def fire_there(stream: int, *given: Number) -> None:
        if device.is_current():
            fire(stream, *given)
        else:
            with device.current():
                fire(stream, *given)

    return fire_there


def _synchronous(function: Function, fire: Fire) -> Fire:
    device = function.device

    def fire_and_wait(stream: int, *given: Number) -> None:
        fire(stream, *given)
        with device.current():
            if status := device.driver.library.cuStreamSynchronize(stream):
                raise device.driver.failed(f"running {function.artifact.name}", status)

    return fire_and_wait


def _config(function: Function, grid: Sequence[int]) -> tuple[cu.LaunchConfig, object]:
    d = function.description
    chosen: list[tuple[int, tuple[int, ...]]] = []
    if d.cluster != (1, 1, 1):
        chosen.append((cu.CLUSTER, d.cluster))
    if d.cooperative:
        chosen.append((cu.COOPERATIVE, (1,)))
    if _is_dependent(function):
        chosen.append((cu.DEPENDENT, (1,)))
    attributes = (cu.LaunchAttribute * max(1, len(chosen)))()
    for attribute, (number, value) in zip(attributes, chosen, strict=False):
        attribute.id = number
        attribute.value[: len(value)] = value
    shared = function.device.shared_bytes(function.artifact)
    if d.spread and _is_dependent(function):
        shared = max(shared, function.device.spread_bytes(math.prod(grid)))
    config = cu.LaunchConfig(shared=shared, count=len(chosen))
    config.grid[:] = [*grid, 1, 1][:3]
    config.block[:] = [d.threads, 1, 1]
    config.attributes = attributes
    return config, attributes


def _is_dependent(function: Function) -> bool:
    return function.description.dependent and function.device.has_dependent_launches


def _check_grid(function: Function, grid: Sequence[int]) -> None:
    limits = ((1 << 31) - 1, 65535, 65535)
    for axis, count, limit in zip("xyz", grid, limits, strict=False):
        if not 0 <= count <= limit:
            text = f"{function.artifact.name} would need {count} blocks along {axis} of the grid"
            raise error("DSL0843", f"{text}; the most is {limit}", hint="take larger tiles")
    for axis, count, cluster in zip("xyz", grid, function.description.cluster, strict=False):
        if count % cluster:
            text = f"{function.artifact.name} has {count} blocks along {axis}"
            raise error("DSL0843", f"{text}, which clusters of {cluster} do not divide")


def _format(codes: Sequence[str]) -> str:
    """The slots of these types, each padded to _SLOT bytes."""
    return "<" + "".join(f"{c}{_SLOT - struct.calcsize(c)}x" for c in codes)


def _cast(code: str, number: int) -> Number:
    try:
        struct.pack(f"<{code}", number)
    except struct.error:
        text = (
            f"{number} does not fit in the kernel's parameter of {8 * struct.calcsize(code)} bits"
        )
        raise error("DSL0843", text, hint="the dims of this call are too large") from None
    return number
