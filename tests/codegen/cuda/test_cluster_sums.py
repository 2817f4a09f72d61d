"""Parts of a sum that blocks of a cluster read of each other's shared memory, and add in order."""

from __future__ import annotations

import re

import numpy as np
import pytest
from dslc.codegen.cuda.tools.sass import disassemble
from dslc.codegen.cuda.tools.toolchain import compile_cubin
from dslc.codegen.quoting import entry_name
from dslc.compiler.interpreter import Options, run
from dslc.compiler.ir import Kernel
from dslc.compiler.ir import instructions as ins
from dslc.runtime import packing
from dslc.runtime.cuda_emulator import EmulationError, compiler

from support.gpu.emulation import emitted, execute, lower
from support.gpu.quantized import arrays, quantized
from support.kernels import every, one

emulated = pytest.mark.skipif(compiler() is None, reason="needs g++ or clang++")

ROWS = """
kernel rows(x: f32[M, K], b: f32[M], least: out f32[M], total: out f32[M]):
    for m in parallel(range(0, M, 16)):
        low = full(f32, [16], inf)
        acc = b[m : m + 16]
        for k in range(0, K, 32, split=4):
            tile = x[m : m + 16, k : k + 32]
            low = minimum(low, min(tile, 1))
            acc = acc + sum(tile, 1)
        least[m : m + 16] = low
        total[m : m + 16] = acc
"""


def sums(kernel: Kernel) -> int:
    """How many loads are from other blocks; no part lies in global memory."""
    assert not kernel.workspaces
    assert not every(kernel, ins.ClusterReduce)
    return sum(s.rank is not None for s in every(kernel, ins.Load))


@emulated
@pytest.mark.parametrize(
    ("tile", "m", "k", "n", "options"),
    [
        ((64, 64, 128), 64, 1536, 64, {"split": 4, "cluster": 4}),
        ((64, 128, 128), 70, 1152, 128, {"split": 2, "cluster": 2, "warps": 8}),  # 5 turns and 4
    ],
)
def test_products_of_warpgroups(
    tile: tuple[int, int, int], m: int, k: int, n: int, options: dict[str, int]
) -> None:
    kernel = quantized(k, n, tile, **options)
    assert every(kernel, ins.WarpSpecialize)
    assert sums(kernel) == options["split"] - 1
    args, wanted = arrays(m, k, n, 4)
    for seed in range(2):
        got = {name: x.copy() for name, x in args.items()}
        execute(kernel, got, seed)
        np.testing.assert_array_equal(got["c"], wanted)
    (packed,) = kernel.packed
    args["w"] = packing.pack(args["w"], packed.storage.to_data())
    run(kernel, args, Options(shuffle=1))
    np.testing.assert_array_equal(args["c"], wanted)


def rows() -> tuple[Kernel, dict[str, np.ndarray], tuple[np.ndarray, ...]]:
    kernel = lower(one(ROWS), cluster=4)
    assert isinstance(kernel, Kernel)
    rng = np.random.default_rng(0)
    x = rng.integers(1, 1000, (40, 256)).astype(np.float32)
    b = rng.integers(-3, 4, 40).astype(np.float32)
    least, total = (np.full(40, np.nan, np.float32) for _ in range(2))
    args = {"x": x, "b": b, "least": least, "total": total}
    return kernel, args, (x.min(1), x.sum(1) + b)


@emulated
def test_several_results_begin_with_what_stood_before_the_loop() -> None:
    kernel, args, (least, total) = rows()
    assert sums(kernel) == 6
    for seed in range(3):
        got = {name: x.copy() for name, x in args.items()}
        execute(kernel, got, seed)
        np.testing.assert_array_equal(got["least"], least)
        np.testing.assert_array_equal(got["total"], total)
    for shuffle in (None, 1):
        run(kernel, args, Options(shuffle=shuffle))
        np.testing.assert_array_equal(args["total"], total)


@emulated
@pytest.mark.parametrize(
    ("was", "instead"),
    [("cluster_sync();", ""), ("cluster_meet();", ""), (", (int)(2))", ", (int)(1))")],
)
def test_faults_are_found(was: str, instead: str) -> None:
    kernel, args, (least, total) = rows()
    head, mark, body = emitted(kernel)[0].partition("__global__")
    assert was in body
    text = head + mark + body.replace(was, instead, 1)
    for seed in range(24):
        got = {name: x.copy() for name, x in args.items()}
        try:
            execute(kernel, got, seed, lambda _: text)
        except EmulationError:
            return
        if (got["least"] != least).any() or (got["total"] != total).any():
            return
    pytest.fail(f"nobody misses {was}")


def test_blocks_meet_with_a_fence_before_they_read_of_each_other_and_without_one_at_the_end() -> (
    None
):
    """No emulator here has memory that lags behind: the fence is looked for in the text."""
    _, _, body = emitted(rows()[0])[0].partition("__global__")
    meetings = re.findall(r"cluster_(sync|meet)\(\);", body)
    assert meetings[-1] == "meet"
    assert set(meetings[:-1]) == {"sync"}


def test_no_turn_asks_for_the_rank(nvdisasm: None) -> None:
    """Shared addresses have it; the assembler would read it again in every turn."""
    kernel = quantized(8192, 8192, (64, 128, 128), warps=8, split=2, cluster=2)
    binary = compile_cubin(emitted(kernel)[0], "sm_90a")
    assert not binary.resources[entry_name(kernel.name)].serialized
    (code,) = disassemble(binary.cubin)
    loop = code.main_loop()
    assert loop is not None
    assert not loop.count("S2UR")


@pytest.mark.parametrize(
    ("split", "cluster", "meets"), [(2, None, 2), (2, 1, None), (4, None, None), (4, 2, None)]
)
def test_two_parts_of_large_tiles_meet_untold(
    split: int, cluster: int | None, meets: int | None
) -> None:
    named = {} if cluster is None else {"cluster": cluster}
    kernel = quantized(2048, 64, (64, 64, 128), split=split, **named)
    assert kernel.cluster == meets
    assert bool(kernel.workspaces) == (meets is None)


def test_small_tiles_meet_in_global_memory() -> None:
    kernel = lower(one(ROWS.replace("split=4", "split=2")))
    assert isinstance(kernel, Kernel)
    assert kernel.workspaces
