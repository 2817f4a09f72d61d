"""An AMD GPU: what of a device differs from NVIDIA's."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterator
from contextlib import contextmanager

from dslc.compiler.artifact import Artifact
from dslc.compiler.diagnostics import DiagnosticError, error
from dslc.runtime.cuda import driver as cu
from dslc.runtime.cuda.device import CudaDevice
from dslc.runtime.hip import driver as hip
from dslc.runtime.hip.driver import load_hip

_BINARY = ".hsaco"


class HipDevice(CudaDevice):
    """The GPU of an ordinal; `HipDevice.get` gives the one object of each."""

    kind = "HIP"
    place = "rocm"
    has_graphs = False

    @staticmethod
    @functools.cache
    def get(ordinal: int = 0) -> HipDevice:
        """The device of this ordinal; DSL0840 where there is none."""
        return HipDevice(load_hip(), ordinal)

    def _open(self) -> None:
        """Nothing: a device is made current by its number."""

    @property
    def architecture(self) -> str:
        """Not said by the driver: it refuses code for other chips when that is loaded."""
        return "AMD"

    def attribute(self, number: int) -> int:
        """A CUdevice_attribute by HIP's number; 0 for those that AMD's GPUs have no need of."""
        numbers = {cu.SHARED_PER_BLOCK: hip.SHARED_PER_BLOCK}
        return super().attribute(numbers[number]) if number in numbers else 0

    @contextmanager
    def current(self) -> Iterator[None]:
        """Make it the thread's current device inside the block."""
        before = self.driver.integer("cuCtxGetCurrent")
        self.driver.call("cuCtxSetCurrent", self.ordinal)
        try:
            yield
        finally:
            self.driver.call("cuCtxSetCurrent", before)

    def is_current(self) -> bool:
        """Whether it is the thread's current device."""
        return self.driver.integer("cuCtxGetCurrent") == self.ordinal

    def shared_bytes(self, artifact: Artifact) -> int:
        """None: a code object says itself how much LDS its kernel has."""
        return 0

    def binary_for(self, artifact: Artifact) -> bytes:
        """The code object that this GPU runs; DSL0841 where it runs none of the artifact's."""
        images = {n: c for n, c in artifact.files.items() if n.endswith(_BINARY)}
        for image in images.values():
            if self.runs(image):
                return image
        raise self._without(artifact, sorted(n.removesuffix(_BINARY) for n in images))

    def runs(self, image: bytes) -> bool:
        """Whether this GPU runs a code object; DSL0842 where the driver fails otherwise."""
        module = ctypes.c_void_p()
        status = self.driver.library.cuModuleLoadData(ctypes.byref(module), ctypes.c_char_p(image))
        if not status:
            self.driver.call("cuModuleUnload", module)
        elif status != hip.NO_BINARY:
            raise self.driver.failed("cuModuleLoadData", status)
        return not status

    def _without(self, artifact: Artifact, made: list[str]) -> DiagnosticError:
        has = ", ".join(made) or "no chip"
        text = (
            f"{artifact.name} has machine code for {has}, which device {self.ordinal} ({self.name})"
        )
        hint = "compile it for this GPU's chip; DSLC_HIP=emulator runs it without one"
        return error("DSL0841", f"{text} does not run", hint=hint)


@functools.cache
def is_present() -> bool:
    """Whether there is an AMD GPU with its library."""
    try:
        HipDevice.get(0)
    except DiagnosticError:
        return False
    return True
