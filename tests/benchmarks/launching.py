"""The host's cost of a launch with eight tensors, by every way to call a kernel.

    python tests/benchmarks/launching.py

Without a GPU it is measured on the driver's stand-in: all that happens between the call and the driver,
the call of an empty driver function through ctypes included; the driver's own time comes on top. On a
GPU the driver's time is in it, and Triton and torch are measured beside it in the same process, with a
kernel so small that the GPU keeps up, 500 launches at a time between synchronisations.
"""

# ruff: noqa: F403, F405 - the names of a decorated body
from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import timeit
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
os.environ["DSLC_CACHE"] = "off"

import dslc  # noqa: E402
import numpy as np  # noqa: E402
from dslc.lang import *  # noqa: E402
from dslc.runtime.cuda import CudaDevice, arrays  # noqa: E402

from support.gpu.fake_cuda import OnDevice, aligned  # noqa: E402

NAMES = "abcdefgy"
SHAPE = (8, 256)
ROUNDS, CALLS = 15, 500
SOURCE = f"""
kernel eight({", ".join(f"{n}: f32[M, N]" for n in NAMES[:-1])}, y: out f32[M, N]):
    tune BM = 1 | 2
    tune BN = 256 | 128

    for m, n in parallel(range(0, M, BM), range(0, N, BN)):
        t = {" + ".join(f"{n}[m : m + BM, n : n + BN]" for n in NAMES[:-1])}
        y[m : m + BM, n : n + BN] = t

program three({", ".join(f"{n}: f32[M, N]" for n in NAMES[:-1])}, y: out f32[M, N]):
    s = buffer(f32, [M, N])
    t = buffer(f32, [M, N])
    eight(a, b, c, d, e, f, g, s)
    eight(a, a, c, d, d, f, g, t)
    eight(s, t, s, t, s, t, s, y)
"""
M, N = dslc.dims("M N")


@dslc.kernel(BM=[1, 2], BN=[256, 128], target="cuda:sm_90a")
def decorated(
    a: f32[M, N], b: f32[M, N], c: f32[M, N], d: f32[M, N], e: f32[M, N], f: f32[M, N],
    g: f32[M, N], y: out[f32[M, N]],
):  # fmt: skip
    for m, n in parallel(range(0, M, BM), range(0, N, BN)):
        t = a[m : m + BM, n : n + BN] + b[m : m + BM, n : n + BN] + c[m : m + BM, n : n + BN]
        t += d[m : m + BM, n : n + BN] + e[m : m + BM, n : n + BN] + f[m : m + BM, n : n + BN]
        y[m : m + BM, n : n + BN] = t + g[m : m + BM, n : n + BN]


Wait = Callable[[], None]


def measure(what: str, function: Any, wait: Wait, calls: int = CALLS) -> None:
    """The best of rounds of so many calls, each round begun with nothing under way."""
    for _ in range(3):
        function()
    wait()
    best = min(timeit.repeat(function, setup=wait, number=calls, repeat=ROUNDS)) / calls
    print(f"{what:58} {best * 1e6:7.2f} us", flush=True)


def ways(lib: Any, tensors: list[Any], other: list[Any], wait: Wait) -> None:
    """Every way to call."""
    eight, named = lib.eight, dict(zip(NAMES, tensors, strict=True))
    made = eight.specialize_for({"M": SHAPE[0], "N": SHAPE[1]})
    measure("8 torch tensors, by position", lambda: eight(*tensors), wait)
    measure("  with two tunes", lambda: eight(*tensors, BM=1, BN=256), wait)
    measure("  with two tunes and a dim", lambda: eight(*tensors, BM=1, BN=256, M=8), wait)
    measure("  by name", lambda: eight(**named), wait)
    measure("  a specialisation", lambda: made(*tensors), wait)
    measure("  a decorated function", lambda: decorated(*tensors), wait)
    measure(
        "  a decorated function with two tunes", lambda: decorated(*tensors, BM=2, BN=128), wait
    )
    with dslc.options(stream=0):
        measure("  on a stream of the options", lambda: eight(*tensors), wait)
    if tensors[0].is_cuda:
        op = dslc.torch_op(eight, "eight", BM=1)
        measure("  an operator of torch with a tune", lambda: op(*tensors), wait)
    measure("a program of three kernels", lambda: lib.three(*tensors), wait)
    outputs = [[*tensors[:-1], o] for o in (tensors[-1], *other)]
    turn = iter(range(1 << 60))
    many = "  with 8 outputs in turn"
    measure(many, lambda: lib.three(*outputs[next(turn) % len(outputs)]), wait)
    given = [OnDevice(aligned(SHAPE)) for _ in NAMES]
    if not tensors[0].is_cuda:
        measure("8 arrays by __cuda_array_interface__", lambda: eight(*given), wait, 20)


def on_a_gpu(torch: Any) -> None:
    lib = dslc.compile(SOURCE, "cuda")
    tensors = [torch.zeros(SHAPE, device="cuda") for _ in NAMES]
    other = [torch.zeros(SHAPE, device="cuda") for _ in range(7)]
    ways(lib, tensors, other, torch.cuda.synchronize)
    measure(
        "torch.add(out=)", lambda: torch.add(tensors[0], tensors[1], out=tensors[-1]),
        torch.cuda.synchronize,
    )  # fmt: skip
    try:
        from support.gpu import eight_in_triton
    except ImportError:
        print("triton is not installed")
        return
    measure("Triton, 8 tensors", eight_in_triton.launch(tensors), torch.cuda.synchronize)


def on_the_stand_in(torch: Any) -> None:
    if not hasattr(torch._C, "_cuda_getCurrentRawStream"):
        torch._C._cuda_getCurrentRawStream = lambda device: 0
    arrays.torch_device = lambda tensor: 0  # tensors of the host stand for those of a GPU
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "libcuda.so"
        source = ROOT / "support" / "gpu" / "fake_libcuda.c"
        command = ["cc", "-O2", "-shared", "-fPIC", "-o", str(library), str(source)]
        subprocess.run(command, check=True)
        os.environ["DSLC_LIBCUDA"] = str(library)
        device = CudaDevice.get(0)  # its context is current, as it is after any work of torch
        device.driver.call("cuCtxSetCurrent", device.context)
        lib = dslc.compile(SOURCE, "cuda:sm_90a")
        made = [torch.from_numpy(aligned(SHAPE)) for _ in range(15)]
        ways(lib, made[:8], made[8:], lambda: None)


def main() -> None:
    try:
        import torch
    except ImportError:
        print("torch is not installed: there is nothing to measure")
        return
    print(f"Python {sys.version.split()[0]}, torch {torch.__version__}, NumPy {np.__version__}")
    if torch.cuda.is_available():
        on_a_gpu(torch)
    else:
        on_the_stand_in(torch)


if __name__ == "__main__":
    main()
