"""Calls through the face on a GPU with torch tensors: programs, slices, large sizes, devices."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dslc
import pytest
from dslc.compiler.diagnostics import DiagnosticError

pytestmark = pytest.mark.gpu
EXAMPLES = Path(__file__).parents[1] / "examples"
SOURCE = """
kernel twice(x: f16[M, N], y: out f16[M, N]):
    for m, n in parallel(range(0, M, 16), range(0, N, 1024)):
        y[m : m + 16, n : n + 1024] = x[m : m + 16, n : n + 1024] + x[m : m + 16, n : n + 1024]

kernel copy_codes(x: u8[M, N], y: out u8[M, N]):
    for m, n in parallel(range(0, M, 16), range(0, N, 1024)):
        y[m : m + 16, n : n + 1024] = x[m : m + 16, n : n + 1024]

kernel copy_flat(x: u8[M, N], y: out u8[M, N]):
    require N % 1024 == 0

    for i in parallel(range(0, M * N, 1024)):
        y[i // N, i % N : i % N + 1024] = x[i // N, i % N : i % N + 1024]

kernel pick(t: u8[V, H], ids: i32[N], y: out u8[N, H]):
    for n, h in parallel(range(0, N, 16), range(0, H, 256)):
        y[n : n + 16, h : h + 256] = gather(t[:, h : h + 256], ids[n : n + 16], 0)

program branches(x: f16[M, N], y: out f16[M, N], z: out f16[M, N]):
    s = buffer(f16, [M, N])
    t = buffer(f16, [M, N])
    twice(x, s)
    twice(x, t)
    twice(s, y)
    twice(t, z)
"""


@pytest.fixture(scope="module")
def lib(torch: Any) -> Any:
    return dslc.compile(SOURCE, "cuda")


@pytest.fixture(scope="module")
def attention_input(torch: Any) -> Any:
    return dslc.compile(EXAMPLES / "attention_input.tile", "cuda").attention_input


def layer(torch: Any, seed: int, rows: int = 64) -> list[Any]:
    """Arguments of attention_input: x, g, wq, wk, wv, cos_sin, q, k, v."""
    torch.manual_seed(seed)
    shapes = [(rows, 128), (128,), (128, 128), (128, 64), (128, 64)]
    given = [torch.randn(s, device="cuda", dtype=torch.float16) / 8 for s in shapes]
    angles = torch.rand((rows, 32), device="cuda")
    out = [torch.empty((rows, n), device="cuda", dtype=torch.float16) for n in (128, 64, 64)]
    return [*given, angles, *out]


# Programs


def test_a_programs_graph_gives_what_its_kernels_give(torch: Any, attention_input: Any) -> None:
    for rows in (64, 21):
        args = layer(torch, 1, rows)
        attention_input(*args)  # kernel by kernel
        wanted = [t.clone() for t in args[-3:]]
        assert all(t.isfinite().all() for t in wanted)
        for _ in range(12):  # more sets of addresses than there are graphs
            again = [*args[:-3], *(torch.full_like(t, torch.nan) for t in args[-3:])]
            for _ in range(2):
                attention_input(*again)
            assert all(torch.equal(a, b) for a, b in zip(again[-3:], wanted, strict=True))


def test_a_program_replays_within_a_graph_of_torch(torch: Any, lib: Any) -> None:
    x, y, z = (torch.zeros((100, 3000), device="cuda", dtype=torch.float16) for _ in range(3))
    for before in (0, 3):  # captured at its first call, and when it has a graph of its own
        for _ in range(before):
            lib.branches(x, y, z)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            lib.branches(x, y, z)
        for value in (1.0, 3.0):
            x.fill_(value)
            graph.replay()
            assert (y == 4 * value).all()
            assert (z == 4 * value).all()


def test_a_program_on_two_streams(torch: Any, lib: Any) -> None:
    streams = [torch.cuda.Stream() for _ in range(2)]
    shape = (1000, 4096)
    sets = [
        [torch.full(shape, float(k + 1), device="cuda", dtype=torch.float16)]
        + [torch.zeros(shape, device="cuda", dtype=torch.float16) for _ in range(2)]
        for k in range(2)
    ]
    torch.cuda.synchronize()
    for _ in range(100):
        for args, stream in zip(sets, streams, strict=True):
            with torch.cuda.stream(stream):
                lib.branches(*args)
    torch.cuda.synchronize()
    for k, (_, y, z) in enumerate(sets):
        assert (y == 4 * (k + 1)).all()
        assert (z == 4 * (k + 1)).all()


def test_no_rows(torch: Any, lib: Any, attention_input: Any) -> None:
    for _ in range(3):
        attention_input(*layer(torch, 0, 0))
    x = torch.empty((0, 64), device="cuda", dtype=torch.float16)
    lib.twice(x, torch.empty_like(x))
    torch.cuda.synchronize()


# Alignment


@pytest.mark.parametrize("start", [1, 2, 4, 8])
def test_slices_that_begin_anywhere(torch: Any, start: int) -> None:
    gemm = dslc.compile(EXAMPLES / "gemm.tile", "cuda", define={"T": dslc.f16}).gemm
    m, n, k = 48, 128, 192
    torch.manual_seed(start)

    def sliced(*shape: int) -> Any:
        count = shape[0] * shape[1]
        memory = torch.randn(count + 16, device="cuda", dtype=torch.float16)
        return memory[start : start + count].view(shape)

    a, b, c = sliced(m, k), sliced(k, n), sliced(m, n)
    around = c.clone()
    wanted = torch.empty((m, n), device="cuda", dtype=torch.float16)
    gemm(a.clone(), b.clone(), wanted)
    for _ in range(2):
        gemm(a, b, c)
        # Aligned tensors are copied by another unit, and added up in another order.
        torch.testing.assert_close(c, wanted, rtol=2**-9, atol=2**-7)
        c.copy_(around)
    softmax = dslc.compile(EXAMPLES / "softmax.tile", "cuda", define={"T": dslc.f16}).softmax
    x, y = sliced(32, 512), sliced(32, 512)
    softmax(x, y)
    torch.testing.assert_close(y, x.softmax(1), atol=1e-3, rtol=1e-2)


# Sizes


@pytest.fixture
def room(torch: Any) -> None:
    if torch.cuda.mem_get_info()[0] < 24 << 30:
        pytest.skip("needs 24 GiB of free memory on the GPU")


@pytest.mark.parametrize("name", ["copy_codes", "copy_flat"])
def test_more_codes_than_32_bits_count(torch: Any, lib: Any, room: None, name: str) -> None:
    shape = (70_001, 61_440)  # 4.3e9 elements, beyond unsigned 32 bits as well
    x = torch.randint(0, 256, (shape[0], 1), device="cuda", dtype=torch.uint8).expand(shape)
    x = x + torch.arange(shape[1], device="cuda").to(torch.uint8)
    y = torch.zeros(shape, device="cuda", dtype=torch.uint8)
    lib[name](x, y)
    assert torch.equal(x, y)


def test_more_floats_than_32_bits_count(torch: Any, lib: Any, room: None) -> None:
    shape = (65_537, 33_001)  # 2.2e9 elements, with rows that begin anywhere
    x = torch.randn((shape[0], 1), device="cuda", dtype=torch.float16).expand(shape)
    x = (x + torch.arange(shape[1], device="cuda") % 7).to(torch.float16)
    y = torch.zeros(shape, device="cuda", dtype=torch.float16)
    lib.twice(x, y)
    x += x
    assert torch.equal(x, y)


def test_a_product_of_more_elements_than_32_bits_count(torch: Any, room: None) -> None:
    gemm = dslc.compile(EXAMPLES / "gemm.tile", "cuda", define={"T": dslc.f16}).gemm
    m, n, k = 65_552, 32_784, 32
    a = torch.randint(-2, 3, (m, k), device="cuda").to(torch.float16)
    b = torch.randint(-2, 3, (k, n), device="cuda").to(torch.float16)
    c = torch.zeros((m, n), device="cuda", dtype=torch.float16)
    gemm(a, b, c, BM=64, BN=128)
    assert torch.equal(c[::97], a[::97] @ b)
    assert torch.equal(c[-300:], a[-300:] @ b)


def test_rows_of_a_large_table(torch: Any, lib: Any, room: None) -> None:
    table = torch.zeros((70_001, 61_440), device="cuda", dtype=torch.uint8)
    ids = torch.tensor([70_000, 0, 34_953, 70_001, -1, 69_999], device="cuda", dtype=torch.int32)
    table[70_000], table[34_953], table[69_999] = 7, 5, 3
    y = torch.full((6, 61_440), 9, device="cuda", dtype=torch.uint8)
    lib.pick(table, ids, y)
    assert y.unique(dim=1).flatten().tolist() == [7, 0, 5, 0, 0, 3]


# Devices


def test_the_device_is_the_tensors_not_the_current_one(torch: Any, attention_input: Any) -> None:
    if torch.cuda.device_count() < 2:
        pytest.skip("needs two GPUs")
    args = layer(torch, 3)
    attention_input(*args)
    there = [t.to("cuda:1") for t in args[:-3]] + [
        torch.zeros_like(t, device="cuda:1") for t in args[-3:]
    ]
    for _ in range(3):
        for t in there[-3:]:
            t.zero_()
        attention_input(*there)
        assert torch.cuda.current_device() == 0
        assert all(torch.equal(a.cpu(), b.cpu()) for a, b in zip(there, args, strict=True))
    with torch.cuda.device(1):
        attention_input(*args)  # and the other way round
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            attention_input(*there)
        assert torch.cuda.current_device() == 1
    torch.cuda.synchronize(0)
    torch.cuda.synchronize(1)
    assert all(torch.equal(a.cpu(), b.cpu()) for a, b in zip(there, args, strict=True))
    mixed = [there[0], *args[1:]]
    with pytest.raises(
        DiagnosticError, match="on different devices: g on cuda:0, x on cuda:1"
    ) as c:
        attention_input(*mixed)
    assert c.value.diagnostics[0].code == "DSL0765"


def test_a_graph_on_the_second_device(torch: Any, lib: Any) -> None:
    if torch.cuda.device_count() < 2:
        pytest.skip("needs two GPUs")
    with torch.cuda.device(1):
        x, y, z = (torch.ones((64, 2048), device="cuda", dtype=torch.float16) for _ in range(3))
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            lib.branches(x, y, z)
        y.zero_()
        graph.replay()
        assert (y == 4).all()


OVERLAPPING = """
kernel next(x: f32[N], y: out f32[N]):
    for n in parallel(range(0, N, 1024)):
        y[n : n + 1024] = x[n : n + 1024] + 1

program several(x: f32[N], y: out f32[N]):
    a = buffer(f32, [N])
    b = buffer(f32, [N])
    next(x, a)
    next(a, b)
    next(b, y)
"""


@pytest.mark.parametrize("n", [1000, 40_000, 1_000_000])
def test_launches_that_overlap_see_what_was_written(torch: Any, n: int) -> None:
    """Each launch reads what the one before writes, and writes what that one reads."""
    lib = dslc.compile(OVERLAPPING, "cuda")
    pair = [torch.zeros(n, device="cuda") for _ in range(2)]
    stop = torch.zeros(n, device="cuda")

    def chain(count: int) -> None:
        for i in range(count):
            lib.next(pair[i % 2], pair[(i + 1) % 2])

    chain(200)
    assert bool((pair[0] == 200).all())
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        chain(100)
    for _ in range(5):
        graph.replay()
    assert bool((pair[0] == 700).all())
    for i in range(20):
        x, y = pair[i % 2], pair[(i + 1) % 2]
        lib.several(x, y)
    assert bool((pair[0] == 760).all())
    lib.next(pair[0], stop)
    assert bool((stop == 761).all())
