"""The main kernels under compute-sanitizer: no access out of bounds, no race in shared memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from dslc.codegen.cuda.tools.locate import find_tool
from dslc.compiler.diagnostics import DiagnosticError
from dslc.runtime.cuda import CudaDevice
from sanitized import CASES

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(600)]

SCRIPT = Path(__file__).with_name("sanitized.py")
FOUND = 86  # the exit status of a process in which something was found


@pytest.fixture(scope="module")
def sanitizer() -> str:
    try:
        CudaDevice.get(0)
    except DiagnosticError as missing:
        pytest.skip(str(missing))
    path = find_tool("compute-sanitizer")
    if path is None:
        pytest.skip("needs compute-sanitizer, of the CUDA toolkit")
    return path


def watch(sanitizer: str, tool: str, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a Python command under one of the sanitizer's tools."""
    options = ["--tool", tool, "--error-exitcode", str(FOUND), "--print-limit", "5"]
    return subprocess.run(
        [sanitizer, *options, sys.executable, *command],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("tool", ["memcheck", "racecheck", "synccheck"])
@pytest.mark.parametrize("case", CASES)
def test_nothing_is_found(sanitizer: str, case: str, tool: str) -> None:
    done = watch(sanitizer, tool, str(SCRIPT), case)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert f"{case} is right" in done.stdout


OVERRUN = """
import numpy
from dslc.codegen.cuda.tools.toolchain import compile_cubin
from dslc.compiler.artifact import Artifact, Hashes, Param, Signature
from dslc.runtime.cuda import CudaDevice, CudaKernel

TEXT = '''extern "C" __global__ void overrun(float* y) {
  __shared__ float s[64];
  s[threadIdx.x % 32] = threadIdx.x;
  y[threadIdx.x + %d] = s[31 - threadIdx.x % 32];
}'''
device = CudaDevice.get(0)
architecture = "sm_90a" if device.capability == (9, 0) else device.architecture
launch = {"threads": 64, "grid": ["1"], "arguments": [{"kind": "tensor", "name": "y"}]}
cubin = compile_cubin(TEXT.replace("%d", "AT"), architecture).cubin
signature = Signature((Param("y", "f32", "out", ("64",)),))
kernel = CudaKernel(Artifact("overrun", "kernel", "cuda", "overrun", signature,
    Hashes("", "", "", ""), launch=launch, files={f"{architecture}.cubin": cubin}))
kernel.launch({"y": numpy.zeros(64, "float32")})
"""


@pytest.mark.parametrize(("tool", "at"), [("memcheck", "1"), ("racecheck", "0")])
def test_a_fault_is_found(sanitizer: str, tool: str, at: str) -> None:
    """What the tests above would say of a kernel that is wrong."""
    done = watch(sanitizer, tool, "-c", OVERRUN.replace("AT", at))
    assert done.returncode == FOUND, done.stdout[-4000:]
