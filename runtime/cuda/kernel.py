"""An artifact for CUDA, ready to be launched on any device that has machine code in it."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from dslc.compiler.artifact import Artifact, Param, Signature
from dslc.compiler.diagnostics import error
from dslc.runtime.binding import bind_dims
from dslc.runtime.buffers import as_array, import_array
from dslc.runtime.cuda.arrays import (
    DeviceArray,
    check_element,
    check_strides,
    device_array,
    is_cupy,
    is_torch,
    misaligned,
    overlap,
    refuse_host_tensors,
)
from dslc.runtime.cuda.device import CudaDevice
from dslc.runtime.cuda.launchers import KernelLauncher, Launcher
from dslc.runtime.cuda.plan import Fire
from dslc.runtime.cuda.short_path import Call, Shape, short_call
from dslc.runtime.cuda.staging import staging
from dslc.runtime.cuda.streams import current_stream, stream_handle
from dslc.runtime.expression import Number, evaluate, names_of
from dslc.runtime.overlaps import refuse_overlaps
from dslc.runtime.packing import pack, packed_shape
from dslc.runtime.scalars import as_dtype, plain_number

_MOST_PLANS = 4096
# Index variables are 32 bits wide: what a tile reaches beyond the end must fit as well.
_LARGEST_DIM = (1 << 31) - (1 << 20)


def _launcher(artifact: Artifact) -> Launcher:
    if artifact.kind == "kernel":
        return KernelLauncher(artifact)
    from dslc.runtime.cuda.programs import ProgramLauncher

    return ProgramLauncher(artifact)


class CudaKernel:
    """A compiled kernel or program. It touches no driver before its first launch."""

    devices: type[CudaDevice] = CudaDevice

    def __init__(self, artifact: Artifact) -> None:
        self.artifact = artifact
        self._launcher = _launcher(artifact)
        self._params = artifact.signature.params
        self._plans: dict[tuple[object, ...], Fire] = {}
        # The scalar parameters that shapes, requirements, sizes or the grid depend on.
        used = _names_in(artifact.signature) | self._launcher.scalars
        self._relevant = tuple(p.name for p in self._params if p.dims is None and p.name in used)

    def launch(
        self, args: Mapping[str, Any], stream: object = None, dims: Mapping[str, int] | None = None
    ) -> None:
        """Enqueue it once over arguments by parameter name; outputs are written in place.

        `dims` are those that the caller knows: packed bytes tell none.

        Arrays are those of a GPU (torch, CuPy, JAX, ...) or of the host, which are copied there and
        back. Raises DSL075x, DSL076x for arguments that do not fit, DSL084x for the device.
        """
        given = None if stream is None else stream_handle(stream)
        arrays: dict[str, DeviceArray] = {}
        host: dict[str, np.ndarray[Any, np.dtype[Any]]] = {}
        for p in self._params:
            if p.dims is None:
                continue
            array = self.find_array(args[p.name], p.name, given or 0)
            if array is None:
                host[p.name] = self._host_array(p, args[p.name])
            else:
                check_element(array, p)
                check_strides(array, p)
                arrays[p.name] = array
        refuse_host_tensors(args, arrays)
        device = self.devices.get(self._ordinal(arrays))
        if given is None:
            given = current_stream(device.ordinal, arrays.values())
        if not host:
            self._enqueue(device, given, arrays, args, dims or {})
            return
        with staging(device, given) as staged:
            for p in self._params:
                if p.name in host:
                    arrays[p.name] = staged.take(
                        host[p.name], written=p.mode != "in", strided=p.strides is not None
                    )
            self._enqueue(device, given, arrays, args, dims or {})

    def find_array(self, value: Any, param: str, stream: int = 0) -> DeviceArray | None:
        """The array if it lies on one of the devices."""
        return device_array(value, param, stream)

    def release(self) -> None:
        """Give workspaces back: no launch may be under way, and graphs of it are not replayed again."""
        self._launcher.release()

    def short_call(
        self, arguments: Sequence[object], dims: Mapping[str, int] | None = None
    ) -> Call | None:
        """A short way for calls like one that `launch` has run; None where there is none.

        The arguments are as they were passed, in the order of the parameters; `dims` are those of
        `launch`.
        """
        args = {p.name: a for p, a in zip(self._params, arguments, strict=True)}
        arrays: dict[str, DeviceArray] = {}
        for p in self._params:
            if p.dims is not None:
                array = device_array(args[p.name], p.name) if _is_swift(args[p.name]) else None
                if array is None:
                    return None
                arrays[p.name] = array
        device = self.devices.get(self._ordinal(arrays))
        scalars = self._scalars(args)
        fire = self._plan(device, arrays, scalars, dims or {})
        direct = self._launcher.direct(device, self._bind(arrays, {**(dims or {}), **scalars}))
        constant = {n: args[n] for n in self._relevant}
        shape = Shape(fire, direct, self._launcher.order, constant, self._launcher.alignments)
        return short_call(self.artifact.signature, arguments, arrays, shape)

    def _enqueue(
        self,
        device: CudaDevice,
        stream: int,
        arrays: Mapping[str, DeviceArray],
        args: Mapping[str, Any],
        dims: Mapping[str, int],
    ) -> None:
        refuse_overlaps({p.name: p.mode for p in self._params}, arrays, overlap)
        self._check_alignment(arrays)
        scalars = self._scalars(args)
        fire = self._plan(device, arrays, scalars, dims)
        values = [arrays[n].address if n in arrays else scalars[n] for n in self._launcher.order]
        try:
            fire(stream, *values)
        except (struct.error, OverflowError) as problem:
            text = f"a scalar argument of {self.artifact.name} does not fit: {problem}"
            raise error("DSL0758", text) from None

    def _scalars(self, args: Mapping[str, Any]) -> dict[str, Number]:
        scalars = [p for p in self._params if p.dims is None]
        return {p.name: as_dtype(plain_number(args[p.name]), p.dtype) for p in scalars}

    def _plan(
        self,
        device: CudaDevice,
        arrays: Mapping[str, DeviceArray],
        scalars: Mapping[str, Number],
        dims: Mapping[str, int],
    ) -> Fire:
        key = (
            device.ordinal,
            *((a.shape, a.strides, a.element) for a in arrays.values()),
            *arrays,
            *(scalars[n] for n in self._relevant),
            *dims.items(),
        )
        fire = self._plans.get(key)
        if fire is None:
            values = self._bind(arrays, {**dims, **scalars})
            if len(self._plans) >= _MOST_PLANS:
                self._plans.clear()
            fire = self._plans[key] = self._launcher.fire(device, values)
        return fire

    def _bind(
        self, arrays: Mapping[str, DeviceArray], scalars: Mapping[str, Number]
    ) -> dict[str, Number]:
        packed = {p.name for p in self._params if p.packed is not None}
        shapes = {n: None if n in packed else a.shape for n, a in arrays.items()}
        strides = {n: a.strides for n, a in arrays.items()}
        values = bind_dims(self.artifact.signature, shapes, strides, scalars)
        _check_dims(self.artifact.signature, arrays, values)
        for p in self._params:
            if p.packed is not None:
                _check_packed(p, arrays[p.name], values)
        return values

    def _host_array(self, p: Param, value: Any) -> np.ndarray[Any, np.dtype[Any]]:
        written = p.mode != "in"
        if p.packed is not None:
            array = import_array(value, param=p.name, writable=written)
            codes = p.packed["scheme"] == "row" and array.ndim != 1
            return pack(array, p.packed) if codes else array
        return as_array(value, p.dtype, param=p.name, writable=written)

    def _ordinal(self, arrays: Mapping[str, DeviceArray]) -> int:
        devices = {a.device: name for name, a in reversed(list(arrays.items()))}
        if len(devices) > 1:
            places = ", ".join(f"{name} on cuda:{d}" for d, name in sorted(devices.items()))
            raise error("DSL0765", f"the arguments are on different devices: {places}")
        return next(iter(devices), 0)

    def _check_alignment(self, arrays: Mapping[str, DeviceArray]) -> None:
        for name, array in arrays.items():
            wanted = self._launcher.alignments[name]
            if array.address % wanted:
                raise misaligned(array, name, wanted)


def _names_in(signature: Signature) -> frozenset[str]:
    """The names that shapes, strides and requirements speak of."""
    texts = [r.condition for r in signature.requires]
    texts += [t for p in signature.params for t in (*(p.dims or ()), *(p.strides or ()))]
    return frozenset(name for text in texts for name in names_of(text))


def _check_dims(
    signature: Signature, arrays: Mapping[str, DeviceArray], values: Mapping[str, Number]
) -> None:
    """DSL0843 for a dim or an axis that 32 bits cannot count, or two dims whose sum they cannot."""
    plain = [p for p in signature.params if p.dims is not None and p.packed is None]
    sizes = {name: values[name] for name in (*signature.dims, *signature.fixed)}
    for p in plain:
        sizes |= {f"axis {k} of {p.name}": n for k, n in enumerate(arrays[p.name].shape)}
    for name, size in sizes.items():
        if not 0 <= size <= _LARGEST_DIM:
            text = f"{name} = {size} is more than a kernel can index: {_LARGEST_DIM}"
            raise error("DSL0843", text, hint="give the tensor more axes, or call it for parts")
    extents = {text for p in plain for text in p.dims or () if text in signature.dims}
    largest = sorted(extents, key=lambda name: (values[name], name))[-2:]
    if len(largest) == 2 and sum(values[name] for name in largest) > _LARGEST_DIM:
        text = f"{' + '.join(largest)} is more than a kernel can index: {_LARGEST_DIM}"
        raise error("DSL0843", text, hint="give the tensors more axes, or call it for parts")


def _is_swift(value: object) -> bool:
    """Whether a short way knows its library."""
    return is_torch(value) or is_cupy(value)


def _check_packed(p: Param, array: DeviceArray, values: Mapping[str, Number]) -> None:
    """DSL0752 where the bytes of a packed parameter are not as many as its shape takes."""
    assert p.packed is not None
    wanted = packed_shape(p.packed, [evaluate(text, values) for text in p.dims or ()])
    if array.element != "uint8" or array.shape != wanted or array.nbytes != int(np.prod(wanted)):
        raise error(
            "DSL0752",
            f"argument {p.name} is {array.element} of shape {array.shape}, expected its packed bytes: "
            f"uint8 of shape {wanted}",
            hint=f'kernel.pack("{p.name}", codes) gives them',
        )
