"""Kernels on NVIDIA GPUs: through the driver's library alone, no package is needed.

    device = CudaDevice.get(0)
    kernel = CudaKernel(artifact)
    kernel.launch({"x": x, "y": y, "s": 2.0}, stream=torch.cuda.current_stream())

A call enqueues and returns. Where no stream is named it is torch's current one if a torch tensor is
among the arguments, else CuPy's if one of its arrays is, else the one that an array's
`__cuda_array_interface__` names, else the legacy default stream (0).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dslc.runtime.lazy import lazy_names

if TYPE_CHECKING:
    from dslc.runtime.cuda.device import CudaDevice
    from dslc.runtime.cuda.kernel import CudaKernel
    from dslc.runtime.cuda.streams import stream_handle

__all__ = ["CudaDevice", "CudaKernel", "stream_handle"]

__getattr__ = lazy_names(
    __name__,
    {
        "CudaDevice": "dslc.runtime.cuda.device",
        "CudaKernel": "dslc.runtime.cuda.kernel",
        "stream_handle": "dslc.runtime.cuda.streams",
    },
)
