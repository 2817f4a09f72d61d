"""What is between a program and a kernel on this CPU: compiling, loading from the cache, a call.

python tests/benchmarks/cpu/calls.py [--json OUT.json]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import dslc
import numpy as np

EXAMPLES = Path(__file__).parents[3] / "examples"
EIGHT = """
kernel sum7(a: f32[N], b: f32[N], c: f32[N], d: f32[N], e: f32[N], f: f32[N], g: f32[N], y: out f32[N]):
    for n in parallel(range(0, N, 64)):
        y[n : n + 64] = (a[n : n + 64] + b[n : n + 64] + c[n : n + 64] + d[n : n + 64]
                         + e[n : n + 64] + f[n : n + 64] + g[n : n + 64])
"""
_KERNELS = {
    "softmax": ("softmax.tile", {"M": 64, "N": 1000}),
    "rmsnorm": ("rmsnorm.tile", {"M": 64, "H": 1024}),
    "gemm": ("gemm.tile", {"M": 256, "N": 256, "K": 256}),
    "gemm_quantized": ("gemm_quantized.tile", {"M": 16, "N": 256, "K": 256}),
    "attention": ("attention.tile", {"B": 1, "S": 64, "L": 64, "HQ": 2, "HK": 2, "D": 64}),
}


def call_seconds() -> float:
    """A call with 8 arrays of 64 elements: the best of many means."""
    kernel = dslc.compile(EIGHT, target="cpu").sum7
    arrays = [np.ones(64, np.float32) for _ in range(8)]
    for _ in range(100):
        kernel(*arrays)
    best = float("inf")
    for _ in range(50):
        begin = time.perf_counter()
        for _ in range(1000):
            kernel(*arrays)
        best = min(best, (time.perf_counter() - begin) / 1000)
    return best


def compile_seconds(name: str, cache: Path) -> float:
    """From an elaborated program to code that is loaded."""
    file, sizes = _KERNELS[name]
    kernel = dslc.compile(EXAMPLES / file, target="cpu", cache=cache)[name]
    begin = time.perf_counter()
    made = kernel.specialize_for(sizes, {})
    assert made._executable.kernel  # type: ignore[attr-defined]
    return time.perf_counter() - begin


def cached_seconds(name: str, cache: Path) -> float:
    """The same in a process that finds it in the cache: the first kernel warms what all need."""
    code = (
        f"import sys; sys.path[:0] = {[str(Path(__file__).parent)]!r}\n"
        "from calls import compile_seconds, Path\n"
        f"cache = Path({str(cache)!r})\n"
        f"compile_seconds('softmax' if {name!r} != 'softmax' else 'rmsnorm', cache)\n"
        f"print(compile_seconds({name!r}, cache))"
    )
    times = [
        float(
            subprocess.run(
                [sys.executable, "-c", code], capture_output=True, text=True, check=True
            ).stdout
        )
        for _ in range(3)
    ]
    return median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found: dict[str, float] = {"call with 8 arrays": call_seconds()}
    with tempfile.TemporaryDirectory() as folder:
        compile_seconds("softmax", Path(folder, "warm"))  # LLVM is loaded once a process
        for name in _KERNELS:
            found[f"compile {name}"] = compile_seconds(name, Path(folder))
        for name in _KERNELS:
            found[f"from the cache {name}"] = cached_seconds(name, Path(folder))
    for name, seconds in found.items():
        print(f"{name:32} {seconds * 1e6:12.2f} us")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
