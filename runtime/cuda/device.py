"""A GPU: its primary context (the one that torch, CuPy and JAX use), modules and memory."""

from __future__ import annotations

import ctypes
import functools
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dslc.compiler.artifact import Artifact
from dslc.compiler.diagnostics import error
from dslc.runtime.cuda import driver as cu
from dslc.runtime.cuda.driver import Driver, load_driver

_BINARY = ".cubin"
_PTX = ".ptx"
_DEPENDENT_GRAPHS = 12030  # the driver from which on graphs have edges that end early


class PtxWarning(UserWarning):
    """A kernel runs by PTX, for want of machine code."""


class CudaDevice:
    """The GPU of an ordinal; `CudaDevice.get` gives the one object of each."""

    kind = "CUDA"
    place = "cuda"  # what DLPack calls where its memory is
    has_graphs = True  # whether programs are launched as graphs
    units = 0  # multiprocessors, where a driver is asked for them
    # Whether a launch may begin before the one before it has ended, in captured streams too.
    has_dependent_launches = False

    def __init__(self, driver: Driver, ordinal: int) -> None:
        self.driver = driver
        self.ordinal = ordinal
        count = driver.integer("cuDeviceGetCount")
        if not 0 <= ordinal < count:
            have = "there is none" if count == 0 else f"the last is {count - 1}"
            raise error("DSL0840", f"there is no {self.kind} device {ordinal}: {have}")
        self.alone = count == 1
        self.device = driver.integer("cuDeviceGet", ordinal)
        self._open()

    def _open(self) -> None:
        self.capability = (self.attribute(cu.MAJOR), self.attribute(cu.MINOR))
        version = self.driver.integer("cuDriverGetVersion")
        self.has_dependent_launches = self.capability >= (9, 0) and version >= _DEPENDENT_GRAPHS
        self.units = self.attribute(cu.MULTIPROCESSORS)
        self.context = self.driver.handle("cuDevicePrimaryCtxRetain", self.device)

    @staticmethod
    @functools.cache
    def get(ordinal: int = 0) -> CudaDevice:
        """The device of this ordinal; DSL0840 where there is none."""
        return CudaDevice(load_driver(), ordinal)

    @property
    def name(self) -> str:
        """What its maker calls it."""
        text = ctypes.create_string_buffer(256)
        self.driver.call("cuDeviceGetName", text, len(text), self.device)
        return text.value.decode(errors="replace")

    @property
    def driver_version(self) -> str:
        """The newest CUDA that the driver knows: `CUDA 13.0`."""
        version = self.driver.integer("cuDriverGetVersion")
        return f"CUDA {version // 1000}.{version % 1000 // 10}"

    @property
    def architecture(self) -> str:
        """Its architecture without features: `sm_90`."""
        return f"sm_{self.capability[0]}{self.capability[1]}"

    def __repr__(self) -> str:
        return f"<{self.kind} device {self.ordinal}: {self.name}, {self.architecture}>"

    def attribute(self, number: int) -> int:
        """A CUdevice_attribute."""
        return self.driver.integer("cuDeviceGetAttribute", number, self.device)

    @contextmanager
    def current(self) -> Iterator[None]:
        """Make its context the thread's current one inside the block."""
        self.driver.call("cuCtxPushCurrent", self.context)
        try:
            yield
        finally:
            self.driver.call("cuCtxPopCurrent", ctypes.byref(ctypes.c_void_p()))

    def is_current(self) -> bool:
        """Whether its context is the thread's current one."""
        return self.driver.handle("cuCtxGetCurrent") == self.context

    def is_capturing(self, stream: int) -> bool:
        """Whether launches on a stream are recorded in a graph at present."""
        status = ctypes.c_int()
        failed = self.driver.library.cuStreamIsCapturing(stream, ctypes.byref(status))
        return not failed and status.value == cu.CAPTURING

    @contextmanager
    def between_captures(self) -> Iterator[None]:
        """Current, and free to allocate and load while this thread captures a graph.

        What runs inside is no part of the graph.
        """
        mode = ctypes.c_int(cu.RELAXED)
        self.driver.call("cuThreadExchangeStreamCaptureMode", ctypes.byref(mode))
        try:
            with self.current():
                yield
        finally:
            self.driver.call("cuThreadExchangeStreamCaptureMode", ctypes.byref(mode))

    def shared_bytes(self, artifact: Artifact) -> int:
        """The shared memory that a launch asks for, beyond what the binary has for itself."""
        return artifact.shared_bytes

    @functools.cached_property
    def _room(self) -> tuple[int, int]:
        """The shared memory of a multiprocessor, and what each block takes beside its own."""
        return self.attribute(cu.SHARED_PER_MULTIPROCESSOR), self.attribute(cu.SHARED_RESERVED)

    def spread_bytes(self, blocks: int) -> int:
        """The shared memory with which no multiprocessor has room for more than its share of blocks."""
        shared, reserved = self._room
        share = -(-blocks // self.units)
        return max(0, shared // (share + 1) - reserved + 1)

    def binary_for(self, artifact: Artifact) -> bytes:
        """The machine code of the artifact that this GPU runs best; DSL0841 where it runs none."""
        binaries = {
            name.removesuffix(_BINARY): content
            for name, content in artifact.files.items()
            if name.endswith(_BINARY)
        }
        fitting = [a for a in binaries if fits(a, self.capability)]
        if not fitting and (text := self._ptx_for(artifact)) is not None:
            return text
        if not fitting:
            built_for = ", ".join(sorted(binaries)) or "no architecture"
            raise error(
                "DSL0841",
                f"{artifact.name} has machine code for {built_for}; device {self.ordinal} "
                f"({self.name}) is {self.architecture}",
                hint="compile it for this GPU: target='cuda'",
            )
        return binaries[max(fitting, key=_preference)]

    def _ptx_for(self, artifact: Artifact) -> bytes | None:
        """PTX that the driver compiles for this GPU: slow at the first launch, so it is said aloud.

        None where there is none, or `DSLC_JIT=error` forbids it.
        """
        texts = {n.removesuffix(_PTX): c for n, c in artifact.files.items() if n.endswith(_PTX)}
        fitting = [a for a in texts if ptx_fits(a, self.capability)]
        if not fitting or os.environ.get("DSLC_JIT", "").strip().lower() == "error":
            return None
        best = max(fitting, key=_preference)
        warnings.warn(
            f"{artifact.name} has no machine code for {self.name} ({self.architecture}): the driver "
            f"compiles its PTX for {best}, which takes time and uses none of what this GPU has beyond "
            "it; build for this GPU, or set DSLC_JIT=error to refuse",
            PtxWarning,
            stacklevel=2,
        )
        return texts[best] + b"\0"

    def allocate(self, size: int, *, zero: bool = False) -> int:
        """The address of new memory; the device has set it to zero when this returns, if asked.

        Where there is none, what torch and CuPy keep for later is given back first. DSL0842 if that
        does not help.
        """
        with self.between_captures():
            address = self._find_memory(max(1, size))
            if zero:
                # The default stream would wait for all others, and break their captures.
                stream = self.driver.handle("cuStreamCreate", cu.NON_BLOCKING)
                self.driver.call("cuMemsetD8Async", address, 0, max(1, size), stream)
                self.driver.call("cuStreamSynchronize", stream)
                self.driver.call("cuStreamDestroy", stream)
        return address

    def _find_memory(self, size: int) -> int:
        address = ctypes.c_uint64()
        allocate = self.driver.library.cuMemAlloc
        status = allocate(ctypes.byref(address), size)
        if status == cu.OUT_OF_MEMORY and _give_back():
            status = allocate(ctypes.byref(address), size)
        if status:
            raise self.driver.failed(f"allocating {size} bytes on device {self.ordinal}", status)
        return address.value

    def free(self, address: int) -> None:
        """Give memory back; the driver waits for what uses it."""
        with self.between_captures():
            self.driver.call("cuMemFree", address)


def _give_back() -> bool:
    """Have the libraries that are loaded free memory that none of their arrays uses."""
    torch: Any = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        if torch.cuda.is_current_stream_capturing():
            return False
        torch.cuda.empty_cache()
    cupy: Any = sys.modules.get("cupy")
    if cupy is not None:
        cupy.get_default_memory_pool().free_all_blocks()
    return torch is not None or cupy is not None


def fits(architecture: str, capability: tuple[int, int]) -> bool:
    """Whether code for an architecture runs on a GPU of a compute capability.

    Plain code runs within its major version from its minor one up, `f` code too (its family), `a` code
    on exactly its own (CUDA C++ Programming Guide, "Application Compatibility").
    """
    digits = architecture.removeprefix("sm_")
    number = digits.rstrip("af")
    if not number.isdigit():
        return False
    version = divmod(int(number), 10)
    if digits.endswith("a"):
        return version == capability
    return version[0] == capability[0] and version[1] <= capability[1]


def ptx_fits(architecture: str, capability: tuple[int, int]) -> bool:
    """Whether the driver of a GPU can compile PTX for an architecture: plain one, no newer one."""
    digits = architecture.removeprefix("sm_")
    return digits.isdigit() and divmod(int(digits), 10) <= capability


def _preference(architecture: str) -> tuple[int, str]:
    number = architecture.removeprefix("sm_")
    return int(number.rstrip("af")), number
