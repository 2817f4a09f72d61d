"""HIP's library through ctypes: the calls of the CUDA driver that the runtime makes, by HIP's names.

They have the same arguments (HIP, "Porting CUDA driver API"), so that what the runtime does for CUDA's
devices it does for AMD's. A launch alone has its numbers one by one, and there are no contexts.
"""

from __future__ import annotations

import ctypes
import functools
import os
from typing import Any

from dslc.runtime.cuda.driver import Driver

NO_BINARY = 209  # hipErrorNoBinaryForGpu
SHARED_PER_BLOCK = 74  # hipDeviceAttributeMaxSharedMemoryPerBlock

_NAMES = {
    "cuDeviceGetCount": "hipGetDeviceCount",
    "cuMemAlloc": "hipMalloc",
    "cuMemFree": "hipFree",
    "cuStreamCreate": "hipStreamCreateWithFlags",
    "cuStreamGetCaptureInfo": "hipStreamGetCaptureInfo_v2",
    "cuGetErrorName": "hipDrvGetErrorName",
    "cuGetErrorString": "hipDrvGetErrorString",
    "cuCtxGetCurrent": "hipGetDevice",
    "cuCtxSetCurrent": "hipSetDevice",
}
_I, _U, _P = ctypes.c_int, ctypes.c_uint, ctypes.c_void_p


class HipDriver(Driver):
    """The loaded library after hipInit."""

    maker = "AMD"

    def symbol(self, name: str) -> str:
        """The name that HIP has for a function of the CUDA driver."""
        return _NAMES.get(name) or "hip" + name.removeprefix("cu")

    def launcher(self) -> Any:
        """A launch with its numbers one by one; a kernel has its LDS by itself."""
        function = self.library.hipModuleLaunchKernel
        function.argtypes, function.restype = [_P, *[_U] * 7, _P, _P, _P], _I

        def launch(reference: Any, handle: Any, parameters: Any, extra: None) -> int:
            config = reference._obj
            numbers = (*config.grid, *config.block, config.shared)
            return int(function(handle, *numbers, config.stream, parameters, extra))

        return launch


@functools.cache
def load_hip() -> HipDriver:
    """The library, loaded once a process; DSL0840 where there is none.

    `DSLC_LIBAMDHIP64` names another file.
    """
    return HipDriver(os.environ.get("DSLC_LIBAMDHIP64") or "libamdhip64.so")
