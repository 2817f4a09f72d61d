"""The host's cost of a launch with eight tensors, without a GPU: on the driver's stand-in.

    python tests/benchmarks/launching.py

What it prints is all that happens between the call and the driver, the call of an empty driver function
through ctypes included; the driver's own time comes on top. With torch installed its tensors are
measured by the short way, without it arrays of `__cuda_array_interface__`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import timeit
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from dslc.compiler.artifact import Param, Signature  # noqa: E402
from dslc.runtime.cuda import CudaDevice, CudaKernel, arrays  # noqa: E402

from support.fake_cuda import OnDevice, aligned, scale_artifact  # noqa: E402

TENSORS, ROUNDS, CALLS = 8, 7, 20_000


def eight_tensors() -> CudaKernel:
    """A kernel of seven inputs, an output and two dims."""
    params = [Param(f"x{i}", "f32", "in", ("M", "N")) for i in range(TENSORS - 1)]
    params.append(Param("y", "f32", "out", ("M", "N")))
    arguments = [{"kind": "tensor", "name": p.name} for p in params]
    arguments += [{"kind": "value", "value": d, "type": "i32"} for d in ("M", "N")]
    launch = {"threads": 128, "grid": ["cdiv(N, 128)"], "arguments": arguments}
    artifact = scale_artifact(entry="none", files={"sm_90a.cubin": b"none\0"}, launch=launch)
    return CudaKernel(replace(artifact, signature=Signature(tuple(params), ("M", "N"))))


def measure(what: str, function: Any, calls: int = CALLS) -> None:
    best = min(timeit.repeat(function, number=calls, repeat=ROUNDS)) / calls
    print(f"{what:46} {best * 1e6:7.2f} us")


def with_torch(kernel: CudaKernel) -> None:
    try:
        import torch
    except ImportError:
        print("torch is not installed")
        return
    if not hasattr(torch._C, "_cuda_getCurrentRawStream"):
        torch._C._cuda_getCurrentRawStream = lambda device: 0  # type: ignore[attr-defined]
    if not torch.cuda.is_available():
        arrays.torch_device = lambda tensor: 0  # tensors of the host stand for those of a GPU
    tensors = [torch.zeros(64, 256) for _ in range(TENSORS)]
    call = kernel.short_call(tensors)
    assert call is not None
    assert call(tensors, None)
    other = torch.zeros(64, 512)
    measure("8 torch tensors, as in a call before", lambda: call(tensors, None))
    assert not call([*tensors[:-1], other], None)
    measure("  of it: seeing that they are not", lambda: call([*tensors[:-1], other], None))
    args = {f"x{i}": t for i, t in enumerate(tensors[:-1])} | {"y": tensors[-1]}
    measure("8 torch tensors, the long way", lambda: kernel.launch(args), CALLS // 20)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "libcuda.so"
        source = ROOT / "support" / "fake_libcuda.c"
        subprocess.run(
            ["cc", "-O2", "-shared", "-fPIC", "-o", str(library), str(source)], check=True
        )
        os.environ["DSLC_LIBCUDA"] = str(library)
        kernel = eight_tensors()
        given = {f"x{i}": OnDevice(aligned((64, 256))) for i in range(TENSORS - 1)}
        given["y"] = OnDevice(aligned((64, 256)))
        kernel.launch(given)
        device = CudaDevice.get(0)  # its context is current, as it is after any work of torch
        device.driver.call("cuCtxSetCurrent", device.context)
        with_torch(kernel)
        measure("8 arrays by __cuda_array_interface__", lambda: kernel.launch(given), CALLS // 20)


if __name__ == "__main__":
    main()
