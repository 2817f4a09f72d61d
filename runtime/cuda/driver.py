"""The CUDA driver's library through ctypes: the calls that a runtime needs, by their names in cuda.h.

Names without a version are those of the headers; the table below maps them to the symbols whose
signature they have had since CUDA 12. A library of another maker whose calls are the same has a table
of its own (`dslc.runtime.hip.driver`).
"""

from __future__ import annotations

import ctypes
import functools
import os
from typing import Any

from dslc.compiler.diagnostics import DiagnosticError, error

OUT_OF_MEMORY = 2
INVALID_CONTEXT = 201

# CUdevice_attribute, CUfunction_attribute, CUpointer_attribute, CUlaunchAttributeID
MULTIPROCESSORS, MAJOR, MINOR, SHARED_PER_BLOCK = 16, 75, 76, 97
COOPERATIVE_LAUNCHES = 95
SHARED_PER_MULTIPROCESSOR, SHARED_RESERVED = 81, 111  # bytes; the latter of each block
STATIC_SHARED, REGISTERS, DYNAMIC_SHARED, LARGE_CLUSTERS, MOST_THREADS = 1, 4, 8, 14, 0
POINTER_DEVICE = 9
COOPERATIVE, CLUSTER, DEPENDENT = 2, 4, 6
PROGRAMMATIC = 1  # CUgraphDependencyType, and the port of a kernel that ends such an edge early
RELAXED = 2  # CU_STREAM_CAPTURE_MODE_RELAXED
CAPTURING = 1  # CU_STREAM_CAPTURE_STATUS_ACTIVE
NON_BLOCKING = 1

_SYMBOLS = {
    "cuCtxPopCurrent": "cuCtxPopCurrent_v2",
    "cuCtxPushCurrent": "cuCtxPushCurrent_v2",
    "cuMemAlloc": "cuMemAlloc_v2",
    "cuMemFree": "cuMemFree_v2",
    "cuMemcpyDtoH": "cuMemcpyDtoH_v2",
    "cuMemcpyHtoD": "cuMemcpyHtoD_v2",
    "cuMemcpyDtoHAsync": "cuMemcpyDtoHAsync_v2",
    "cuMemcpyHtoDAsync": "cuMemcpyHtoDAsync_v2",
    "cuGraphAddDependencies": "cuGraphAddDependencies_v2",
    "cuGraphAddKernelNode": "cuGraphAddKernelNode_v2",
    "cuGraphExecKernelNodeSetParams": "cuGraphExecKernelNodeSetParams_v2",
    "cuGraphInstantiate": "cuGraphInstantiateWithFlags",
    "cuStreamDestroy": "cuStreamDestroy_v2",
    "cuStreamGetCaptureInfo": "cuStreamGetCaptureInfo_v2",
}
_P, _I, _U, _Z, _Q = (
    ctypes.c_void_p,
    ctypes.c_int,
    ctypes.c_uint,
    ctypes.c_size_t,
    ctypes.c_uint64,
)
_ARGUMENTS: dict[str, list[Any]] = {
    "cuInit": [_U],
    "cuDriverGetVersion": [_P],
    "cuDeviceGetCount": [_P],
    "cuDeviceGet": [_P, _I],
    "cuDeviceGetName": [_P, _I, _I],
    "cuDeviceGetAttribute": [_P, _I, _I],
    "cuDevicePrimaryCtxRetain": [_P, _I],
    "cuCtxGetCurrent": [_P],
    "cuCtxSetCurrent": [_P],
    "cuCtxPushCurrent": [_P],
    "cuCtxPopCurrent": [_P],
    "cuCtxSynchronize": [],
    "cuModuleLoadData": [_P, _P],
    "cuModuleUnload": [_P],
    "cuModuleGetFunction": [_P, _P, ctypes.c_char_p],
    "cuFuncGetAttribute": [_P, _I, _P],
    "cuFuncSetAttribute": [_P, _I, _I],
    "cuMemAlloc": [_P, _Z],
    "cuMemFree": [_Q],
    "cuMemcpyHtoDAsync": [_Q, _P, _Z, _P],
    "cuMemcpyDtoHAsync": [_P, _Q, _Z, _P],
    "cuMemsetD8Async": [_Q, ctypes.c_ubyte, _Z, _P],
    "cuStreamCreate": [_P, _U],
    "cuStreamDestroy": [_P],
    "cuStreamSynchronize": [_P],
    "cuStreamGetCaptureInfo": [_P, _P, _P, _P, _P, _P],
    "cuStreamIsCapturing": [_P, _P],
    "cuGraphCreate": [_P, _U],
    "cuGraphDestroy": [_P],
    "cuGraphAddDependencies": [_P, _P, _P, _P, _Z],
    "cuGraphAddKernelNode": [_P, _P, _P, _Z, _P],
    "cuGraphKernelNodeSetAttribute": [_P, _I, _P],
    "cuGraphInstantiate": [_P, _P, _Q],
    "cuGraphExecDestroy": [_P],
    "cuGraphExecKernelNodeSetParams": [_P, _P, _P],
    "cuGraphLaunch": [_P, _P],
    "cuThreadExchangeStreamCaptureMode": [_P],
    "cuTensorMapEncodeTiled": [_P, _I, _U, _Q, _P, _P, _P, _P, _I, _I, _I, _I],
    "cuPointerGetAttribute": [_P, _I, _Q],
    "cuGetErrorName": [_I, _P],
    "cuGetErrorString": [_I, _P],
}


class LaunchAttribute(ctypes.Structure):
    """CUlaunchAttribute: the value is a union of 64 bytes, of which three integers are used here."""

    _fields_ = (("id", _I), ("pad", _I), ("value", _I * 16))


class LaunchConfig(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = (
        ("grid", _U * 3),
        ("block", _U * 3),
        ("shared", _U),
        ("stream", _P),
        ("attributes", ctypes.POINTER(LaunchAttribute)),
        ("count", _U),
    )


class EdgeData(ctypes.Structure):
    """CUgraphEdgeData."""

    _fields_ = (
        ("from_port", ctypes.c_ubyte),
        ("to_port", ctypes.c_ubyte),
        ("type", ctypes.c_ubyte),
        ("reserved", ctypes.c_ubyte * 5),
    )


class KernelNodeParams(ctypes.Structure):
    """CUDA_KERNEL_NODE_PARAMS_v2."""

    _fields_ = (
        ("func", _P),
        ("grid", _U * 3),
        ("block", _U * 3),
        ("shared", _U),
        ("parameters", _P),
        ("extra", _P),
        ("kern", _P),
        ("ctx", _P),
    )


class Driver:
    """The loaded library after cuInit."""

    maker = "NVIDIA"

    def __init__(self, path: str) -> None:
        try:
            self.library = ctypes.CDLL(path)
        except OSError as problem:
            text = f"the {self.maker} driver's library cannot be loaded: {problem}"
            raise _no_gpu(text) from None
        for name, arguments in _ARGUMENTS.items():
            function = getattr(self.library, self.symbol(name), None)
            if function is not None:
                function.argtypes, function.restype = arguments, _I
                setattr(self.library, name, function)
        self.launch: Any = self.launcher()
        if status := self.library.cuInit(0):
            raise _no_gpu(f"the {self.maker} driver does not start: {self.reason(status)}")

    def symbol(self, name: str) -> str:
        """The name that the library has for a function."""
        return _SYMBOLS.get(name, name)

    def launcher(self) -> Any:
        """What launches a kernel: a reference to its LaunchConfig, its handle, its parameters, None."""
        self.launch_graph = self.library.cuGraphLaunch
        # Without argument types ctypes passes its own objects on with the least work.
        function = self.library.cuLaunchKernelEx
        function.restype = _I
        return function

    def call(self, name: str, *args: Any) -> None:
        """Call a function; DSL0842 with the driver's reason where it fails."""
        if status := getattr(self.library, name)(*args):
            raise self.failed(name, status)

    def integer(self, name: str, *args: Any) -> int:
        """The integer that a function writes through its first argument."""
        value = _I()
        self.call(name, ctypes.byref(value), *args)
        return value.value

    def handle(self, name: str, *args: Any) -> int:
        """The handle or address that a function writes through its first argument."""
        value = _Q()
        self.call(name, ctypes.byref(value), *args)
        return value.value

    def failed(self, name: str, status: int, hint: str | None = None) -> DiagnosticError:
        """DSL0842 for a function that gave this status."""
        said = self.symbol(name).partition("_v")[0] if name in _ARGUMENTS else name
        return error("DSL0842", f"{said} failed: {self.reason(status)}", hint=hint)

    def reason(self, status: int) -> str:
        """A status as the driver names and describes it."""
        texts = []
        for name in ("cuGetErrorName", "cuGetErrorString"):
            text = ctypes.c_char_p()
            if not getattr(self.library, name)(status, ctypes.byref(text)) and text.value:
                texts.append(text.value.decode(errors="replace"))
        return ": ".join(texts) or f"status {status}"


def _no_gpu(text: str) -> DiagnosticError:
    hint = (
        "kernels compile without a GPU (dslc build), `dslc run --emulate` runs their code on the "
    )
    hint += "host, and --target interp runs them on any machine"
    return error("DSL0840", text, hint=hint)


@functools.cache
def load_driver() -> Driver:
    """The driver, loaded once a process; DSL0840 where there is none.

    `DSLC_LIBCUDA` names another library.
    """
    return Driver(os.environ.get("DSLC_LIBCUDA") or "libcuda.so.1")
