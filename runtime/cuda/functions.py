"""Machine code loaded on a device, with the limits of the device checked."""

from __future__ import annotations

import ctypes

from dslc.compiler.artifact import Artifact
from dslc.compiler.diagnostics import error
from dslc.runtime.cuda import driver as cu
from dslc.runtime.cuda.description import Description
from dslc.runtime.cuda.device import CudaDevice
from dslc.runtime.cuda.plan import Function
from dslc.runtime.cuda.workspace import Workspaces

_WITHOUT_ASKING = 48 * 1024  # bytes of shared memory that every kernel may have
_PORTABLE_CLUSTER = 8  # blocks


def load_function(device: CudaDevice, artifact: Artifact, description: Description) -> Function:
    """Load an artifact's kernel on a device.

    DSL0841 where it has no code for the device, DSL0843 where it asks for more than the device has,
    DSL0842 for what the driver says.
    """
    driver = device.driver
    image = device.binary_for(artifact)
    with device.between_captures():
        module = driver.handle("cuModuleLoadData", ctypes.c_char_p(image))
        handle = driver.handle("cuModuleGetFunction", module, artifact.entry.encode())
        _check(device, handle, artifact, description)
        shared = device.shared_bytes(artifact)
        if description.spread and device.has_dependent_launches:
            shared = max(shared, device.spread_bytes(1))
        if shared:
            driver.call("cuFuncSetAttribute", handle, cu.DYNAMIC_SHARED, shared)
        x, y, z = description.cluster
        if x * y * z > _PORTABLE_CLUSTER:
            driver.call("cuFuncSetAttribute", handle, cu.LARGE_CLUSTERS, 1)
    return Function(device, handle, artifact, description, Workspaces(device))


def _check(device: CudaDevice, handle: int, artifact: Artifact, description: Description) -> None:
    static = device.driver.integer("cuFuncGetAttribute", cu.STATIC_SHARED, handle)
    shared, most = static + device.shared_bytes(artifact), device.attribute(cu.SHARED_PER_BLOCK)
    if shared > max(most, _WITHOUT_ASKING):
        text = f"{artifact.name} needs {shared} bytes of shared memory; {device.name} has {most}"
        raise error("DSL0843", text, hint="take smaller tiles or fewer stages")
    threads = device.driver.integer("cuFuncGetAttribute", cu.MOST_THREADS, handle)
    if description.threads > threads:
        text = f"{artifact.name} has {description.threads} threads a block; it can have {threads}"
        raise error("DSL0843", text, hint="take fewer threads, or fewer registers each")
    if description.cooperative and not device.attribute(cu.COOPERATIVE_LAUNCHES):
        raise error("DSL0843", f"{device.name} cannot launch cooperative kernels")
