"""The runtime on a GPU: hand-written kernels, so that only the runtime can be wrong."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dslc.codegen.cuda.tools.toolchain import compile_cubin
from dslc.compiler.artifact import Artifact, Hashes, Param, Signature, Workspace
from dslc.compiler.diagnostics import DiagnosticError
from dslc.runtime.cuda import CudaDevice, CudaKernel

pytestmark = pytest.mark.gpu

SCALE = """
extern "C" __global__ void scale(const float* x, float* y, float s, int n) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i < n) y[i] = x[i] * s;
}
"""
# Every block adds its sum to a workspace, and the last one takes it out and leaves zeros behind.
TOTAL = """
extern "C" __global__ void total(const float* x, float* y, int n, float* sum, unsigned* count) {
  extern __shared__ float part[];
  const int i = blockIdx.x * 128 + threadIdx.x;
  part[threadIdx.x] = i < n ? x[i] : 0.0f;
  __syncthreads();
  if (threadIdx.x) return;
  float block = 0.0f;
  for (int k = 0; k < 128; ++k) block += part[k];
  atomicAdd(sum, block);
  __threadfence();
  if (atomicAdd(count, 1u) == gridDim.x - 1) {
    *y = atomicExch(sum, 0.0f);
    *count = 0;
  }
}
"""
CLUSTER = """
extern "C" __global__ void ranks(int* y) {
  unsigned rank, size;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
  if (threadIdx.x == 0) y[blockIdx.x] = rank * 100 + size;
}
"""


@pytest.fixture(scope="module")
def torch() -> Any:
    module = pytest.importorskip("torch")
    if not module.cuda.is_available():
        pytest.skip("needs torch with CUDA")
    return module


@pytest.fixture(scope="module")
def device() -> CudaDevice:
    try:
        return CudaDevice.get(0)
    except DiagnosticError as missing:
        pytest.skip(str(missing))


def artifact(device: CudaDevice, name: str, source: str, **parts: Any) -> Artifact:
    architecture = "sm_90a" if device.capability == (9, 0) else device.architecture
    files = {f"{architecture}.cubin": compile_cubin(source, architecture).cubin}
    return Artifact(
        name, "kernel", f"cuda:{architecture}", name, parts.pop("signature"),
        Hashes("", "", "", ""), files=files, **parts,
    )  # fmt: skip


@pytest.fixture(scope="module")
def scale(device: CudaDevice) -> CudaKernel:
    params = (
        Param("x", "f32", "in", ("N",)),
        Param("y", "f32", "out", ("N",)),
        Param("s", "f32", "in"),
    )
    launch = {
        "threads": 128,
        "grid": ["cdiv(N, 128)"],
        "arguments": [
            {"kind": "tensor", "name": "x"},
            {"kind": "tensor", "name": "y"},
            {"kind": "scalar", "name": "s", "type": "f32"},
            {"kind": "value", "value": "N", "type": "i32"},
        ],
    }
    signature = Signature(params, ("N",))
    return CudaKernel(artifact(device, "scale", SCALE, signature=signature, launch=launch))


@pytest.fixture(scope="module")
def total(device: CudaDevice) -> CudaKernel:
    params = (Param("x", "f32", "in", ("N",)), Param("y", "f32", "out", ("1",)))
    launch = {
        "threads": 128, "grid": ["cdiv(N, 128)"],
        "arguments": [
            {"kind": "tensor", "name": "x"}, {"kind": "tensor", "name": "y"},
            {"kind": "value", "value": "N", "type": "i32"},
            {"kind": "workspace", "name": "sum"}, {"kind": "workspace", "name": "count"},
        ],
    }  # fmt: skip
    spaces = (Workspace("sum", "f32", "4"), Workspace("count", "u32", "4"))
    return CudaKernel(
        artifact(
            device, "total", TOTAL, signature=Signature(params, ("N",)), launch=launch,
            workspaces=spaces, shared_bytes=512,
        )
    )  # fmt: skip


def test_host_arrays_alone(scale: CudaKernel) -> None:
    x = np.arange(1000, dtype=np.float32)
    y = np.zeros_like(x)
    scale.launch({"x": x, "y": y, "s": 2.5})
    assert np.array_equal(y, x * np.float32(2.5))


def test_torch_tensors_by_both_ways(scale: CudaKernel, torch: Any) -> None:
    x, y = torch.randn(5000, device="cuda"), torch.empty(5000, device="cuda")
    scale.launch({"x": x, "y": y, "s": 3.0})
    assert torch.equal(y, x * 3)
    call = scale.short_call((x, y, 3.0))
    assert call is not None
    for s in (1.5, -2, 0.25):
        x = torch.randn(5000, device="cuda")
        assert call((x, y, s), None)
        assert torch.equal(y, x * s)
    assert not call((x.half(), y, 1.0), None)
    assert not call((torch.randn(4999, device="cuda"), y, 1.0), None)


def test_the_stream_orders_the_work(scale: CudaKernel, torch: Any) -> None:
    side = torch.cuda.Stream()
    x, y = torch.ones(1 << 20, device="cuda"), torch.empty(1 << 20, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        torch.cuda._sleep(100_000_000)
        x.fill_(2)
        scale.launch({"x": x, "y": y, "s": 2.0})
    scale.launch({"x": x, "y": y, "s": 2.0}, side)
    torch.cuda.synchronize()
    assert torch.equal(y, torch.full_like(y, 4))


def test_a_graph_replays(scale: CudaKernel, total: CudaKernel, torch: Any) -> None:
    x, y = torch.ones(4096, device="cuda"), torch.empty(4096, device="cuda")
    z = torch.empty(1, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # nothing was loaded or allocated before
        scale.launch({"x": x, "y": y, "s": 2.0})
        total.launch({"x": y, "y": z})
    for value in (1.0, 2.0, 3.0):
        x.fill_(value)
        graph.replay()
        torch.cuda.synchronize()
        assert z.item() == 4096 * 2 * value


def test_workspaces_of_two_streams_do_not_meet(total: CudaKernel, torch: Any) -> None:
    xs = [torch.full((1 << 20,), float(k + 1), device="cuda") for k in range(2)]
    ys = [torch.zeros(200, device="cuda") for _ in xs]
    streams = [torch.cuda.Stream() for _ in xs]
    torch.cuda.synchronize()
    for n in range(0, 200, 4):  # 16-byte steps: outputs are aligned
        for x, y, stream in zip(xs, ys, streams, strict=True):
            total.launch({"x": x, "y": y[n : n + 1]}, stream)
    torch.cuda.synchronize()
    for k, y in enumerate(ys):
        assert torch.equal(y[::4], torch.full((50,), float((k + 1) << 20), device="cuda"))


def test_ten_thousand_launches_leak_nothing(
    total: CudaKernel, torch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y = torch.ones(1000, device="cuda"), torch.empty(1, device="cuda")
    total.launch({"x": x, "y": y})
    call = total.short_call((x, y))
    assert call is not None
    asked: list[int] = []
    monkeypatch.setattr(CudaDevice, "allocate", lambda device, size, **_: asked.append(size))
    taken = []
    for _ in range(3):
        torch.cuda.synchronize()
        before = torch.cuda.mem_get_info()[0], resident(), torch.cuda.memory_reserved()
        for _ in range(10_000):
            assert call((x, y), None)
        torch.cuda.synchronize()
        taken.append((before[0] - torch.cuda.mem_get_info()[0], resident() - before[1]))
        assert torch.cuda.memory_reserved() == before[2]
    assert y.item() == 1000
    assert not asked
    assert min(host for _, host in taken) < 1 << 20  # what is no leak comes once
    if "PYTEST_XDIST_WORKER" not in os.environ:  # else others take of the GPU's memory meanwhile
        assert min(device for device, _ in taken) < 1 << 20


def resident() -> int:
    """The bytes of this process in the host's memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE")


def test_a_new_thread_has_a_context(scale: CudaKernel, torch: Any) -> None:
    x, y = torch.ones(128, device="cuda"), torch.empty(128, device="cuda")
    torch.cuda.synchronize()
    failures: list[BaseException] = []

    def work() -> None:
        try:
            scale.launch({"x": x, "y": y, "s": 7.0}, stream=0)
        except BaseException as failure:
            failures.append(failure)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    torch.cuda.synchronize()
    assert not failures
    assert torch.equal(y, x * 7)


def test_what_does_not_fit_is_refused(scale: CudaKernel, torch: Any) -> None:
    x = torch.ones(129, device="cuda")
    for wrong, expected in (
        ((x[1:], x[:128].clone()), "DSL0766"),
        ((x[:128].double(), x[:128].clone()), "DSL0761"),
        ((x[:128], x[:128]), "DSL0742"),
        ((x[:128].bool(), x[:128].clone()), "DSL0761"),
    ):
        with pytest.raises(DiagnosticError) as caught:
            scale.launch({"x": wrong[0], "y": wrong[1], "s": 1.0})
        assert caught.value.diagnostics[0].code == expected


def test_clusters(device: CudaDevice, torch: Any) -> None:
    if device.capability < (9, 0):
        pytest.skip("needs clusters")
    launch = {
        "threads": 32,
        "grid": ["N"],
        "cluster": [4, 1, 1],
        "arguments": [{"kind": "tensor", "name": "y"}],
    }
    signature = Signature((Param("y", "i32", "out", ("N",)),), ("N",))
    kernel = CudaKernel(artifact(device, "ranks", CLUSTER, signature=signature, launch=launch))
    y = torch.empty(8, dtype=torch.int32, device="cuda")
    kernel.launch({"y": y})
    torch.cuda.synchronize()
    assert y.tolist() == [4, 104, 204, 304] * 2


def test_several_devices(scale: CudaKernel, torch: Any) -> None:
    if torch.cuda.device_count() < 2:
        pytest.skip("needs two GPUs")
    x, y = torch.ones(128, device="cuda:1"), torch.empty(128, device="cuda:1")
    scale.launch({"x": x, "y": y, "s": 2.0})
    call = scale.short_call((x, y, 3.0))
    assert call is not None
    assert torch.equal(y, x * 2)
    assert call((x, y, 3.0), None)
    assert torch.equal(y, x * 3)
    assert torch.cuda.current_device() == 0
    with pytest.raises(DiagnosticError, match="different devices"):
        scale.launch({"x": x, "y": y.to("cuda:0"), "s": 1.0})


def test_arrays_of_cupy_by_the_short_way(scale: CudaKernel) -> None:
    cupy = pytest.importorskip("cupy")
    x, y = cupy.arange(128, dtype="float32"), cupy.empty(128, "float32")
    call = scale.short_call((x, y, 1.0))
    assert call is not None
    with cupy.cuda.Stream():
        for s in (2.0, 3.0):
            x = cupy.arange(128, dtype="float32") + s
            assert call((x, y, s), None)
            assert (y == x * s).all()
    assert not call((x[:64], y, 1.0), None)


def test_arrays_of_cupy_and_jax(scale: CudaKernel, device: CudaDevice) -> None:
    cupy = pytest.importorskip("cupy")
    x, y = cupy.arange(128, dtype="float32"), cupy.empty(128, "float32")
    scale.launch({"x": x, "y": y, "s": 2.0})
    assert (y == x * 2).all()
    jax = pytest.importorskip("jax")
    z = jax.numpy.arange(128, dtype="float32")
    scale.launch({"x": z, "y": y, "s": 4.0})
    assert np.array_equal(y.get(), np.asarray(z) * 4)
    with pytest.raises(DiagnosticError) as caught:
        scale.launch({"x": x, "y": z, "s": 4.0})
    assert caught.value.diagnostics[0].code == "DSL0763"
