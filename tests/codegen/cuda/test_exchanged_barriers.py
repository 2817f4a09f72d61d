"""Barriers that generators place themselves: around exchanges, between loops, before what is counted.

A kernel of each kind runs in every order of its threads that the emulator draws, and with each barrier
of its text left out it goes wrong.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from dslc.compiler.ir import Kernel
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.traverse import memories, walk
from dslc.compiler.ir.values import Role
from dslc.compiler.passes.pass_lists.gpu import gpu_passes
from dslc.compiler.passes.pass_manager import run_passes
from dslc.compiler.targets import find_target
from dslc.runtime.cuda_emulator import EmulationError, compiler

from support.gpu.emulation import emitted, execute, lower
from support.gpu.seeded_faults import faults
from support.kernels import one

SEEDS = (1, 2, 4, 21)  # in the last one a warp laps another by a whole exchange
SUM_ACROSS_WARPS = """kernel k(x: f32[2, 2048], y: out f32[2], z: out i32[2]):
    a = x[:, :]
    y[:] = sum(a, 1)
    z[:] = argmax(a, 1)
"""
TRANSPOSED = """kernel k(x: f32[64, 128], y: out f32[64, 64], z: out f32[64, 64]):
    a = x[:, 0:64]
    y[:, :] = transpose(a) + x[:, 64:128]
    z[:, :] = transpose(x[:, 64:128]) * a
"""
needs_emulator = pytest.mark.skipif(compiler() is None, reason="needs g++ or clang++")


def problem(name: str) -> tuple[Kernel, dict[str, np.ndarray], dict[str, np.ndarray]]:
    """A lowered kernel, its arguments, and what it should write."""
    rng = np.random.default_rng(3)
    if name == "sum":
        x = rng.integers(-50, 50, (2, 2048)).astype(np.float32)
        lowered = lower(one(SUM_ACROSS_WARPS), warps=8)
        wanted = {"y": x.sum(1), "z": x.argmax(1).astype(np.int32)}
    else:
        x = rng.integers(-50, 50, (64, 128)).astype(np.float32)
        lowered = lower(one(TRANSPOSED), warps=4)
        left, right = x[:, :64], x[:, 64:]
        wanted = {"y": left.T + right, "z": right.T * left}
    assert isinstance(lowered, Kernel)
    return lowered, {"x": x}, wanted


def is_right(name: str, seed: int, text: str | None = None) -> bool:
    lowered, args, wanted = problem(name)
    given = args | {n: np.zeros_like(a) for n, a in wanted.items()}
    try:
        execute(lowered, given, seed, edit=None if text is None else lambda _: text)
    except EmulationError:
        return False
    return all((given[n] == a).all() for n, a in wanted.items())


@needs_emulator
@pytest.mark.parametrize("name", ["sum", "transposed"])
def test_what_threads_exchange_has_barriers(name: str) -> None:
    lowered, _, _ = problem(name)
    seeded = [f for f in faults(emitted(lowered)[0]) if f.kind == "barrier"]
    assert seeded
    assert all(is_right(name, seed) for seed in SEEDS)
    assert not [str(f) for f in seeded if all(is_right(name, s, f.text) for s in SEEDS)]


TWO_LOOPS = """kernel k(x: f16[128, K], w: f16[K, 128], y: out f32[128, 128]):
    acc = zeros(f32, [128, 128])
    for k in range(0, K, 64):
        acc += dot(x[:, k : k + 64], w[k : k + 64, :])
    acc = acc * 2.0
    for k in range(0, K, 64):
        acc += dot(x[:, k : k + 64], w[k : k + 64, :])
    y[:, :] = acc
"""


def test_the_second_loop_takes_the_rings_of_the_first_behind_a_barrier() -> None:
    """The rings share their bytes, which they may only where a barrier stands between the loops."""
    lowered = run_passes(one(TWO_LOOPS), gpu_passes(find_target("cuda:sm_80"), stages=3))
    assert isinstance(lowered, Kernel)
    prologue, first, second, last = (s for s in lowered.body if isinstance(s, ins.For))
    one_ring, other = (offsets(prologue), offsets(second))
    assert one_ring == other == {0}
    between = lowered.body[lowered.body.index(first) : lowered.body.index(second)]
    assert any(isinstance(s, ins.Sync) for s in between)
    assert offsets(last) == other


def offsets(loop: ins.For) -> set[int | None]:
    """Where the buffers lie that a loop touches."""
    touched = {m for s in walk(loop.body) for m in memories(s)}
    return {m.offset for m in touched if m.role is Role.BUFFER}


SPLIT = """kernel k(x: f16[M, K], w: f16[K, N], y: out f32[M, N]):
    for m, n in parallel(range(0, M, 64), range(0, N, 64)):
        acc = zeros(f32, [64, 64])
        for k in range(0, K, 64, split=4):
            acc += dot(x[m : m + 64, k : k + 64], w[k : k + 64, n : n + 64])
        y[m : m + 64, n : n + 64] = acc
"""
COUNTED = re.compile(r"\batomic_add_[iu]\d+\(")
STORED = re.compile(r"\bstore_\d+\(|\)\[\d+\] = ")


def unfenced(text: str) -> list[str]:
    """The additions to counters that do not follow a fence and a barrier, or that no fence follows.

    What a block wrote is published by a fence of each thread, and then a barrier, before one thread
    counts; what others have published is read behind a fence (CUDA C++ Programming Guide, "Memory
    Fence Functions", whose example this is).
    """
    lines = text[text.index('extern "C" __global__') :].splitlines()
    bad = []
    for at, line in enumerate(lines):
        if not COUNTED.search(line):
            continue
        before = " ".join(lines[max(0, at - 8) : at])
        after = " ".join(lines[at + 1 : at + 16])
        fenced = re.search(r"__threadfence\(\);\s*__syncthreads\(\);(.*)$", before)
        if fenced is None or STORED.search(fenced[1]) or "__threadfence();" not in after:
            bad.append(line.strip())
    return bad


def test_counters_stand_behind_a_fence() -> None:
    lowered = lower(one(SPLIT))
    assert isinstance(lowered, Kernel)
    text = emitted(lowered)[0]
    assert COUNTED.search(text[text.index('extern "C" __global__') :])
    assert unfenced(text) == []
    assert unfenced(text.replace("__threadfence();", "", 1))
    start = text.rindex("__threadfence();")
    assert unfenced(text[:start] + text[start:].replace("__threadfence();", ""))
