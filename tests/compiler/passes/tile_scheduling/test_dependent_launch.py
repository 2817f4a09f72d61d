"""Launches that overlap: where the wait stands, and what is asked for before it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.ir import Kernel
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.rules.launch_rules import touches_tensors
from dslc.compiler.ir.traverse import walk
from dslc.compiler.ir.verify import verify
from dslc.compiler.passes.pass_lists.gpu import gpu_passes
from dslc.compiler.passes.pass_manager import run_passes
from dslc.compiler.targets import find_target

from support.kernels import one

TARGET = find_target("cuda:sm_90a")
DECODE = """
kernel decode(a: f16[M, 2048], w: u4[2048, N], s: f16[16, N], c: out f16[M, N]):
    for m, n in parallel(range(0, M, 16), range(0, N, 64)):
        acc = zeros(f32, [16, 64])
        for k in range(0, 2048, 128):
            b = cast(w[k : k + 128, n : n + 64], f16) * s[k // 128, n : n + 64]
            acc += dot(a[m : m + 16, k : k + 128], b)
        c[m : m + 16, n : n + 64] = cast(acc, f16)
"""


def lowered(text: str = DECODE, dims: dict[str, int] | None = None, target=TARGET) -> Kernel:
    kernel = run_passes(one(text, {"N": 256} if dims is None else dims), gpu_passes(target))
    assert isinstance(kernel, Kernel)
    return kernel


def prefetched(kernel: Kernel) -> set[str]:
    return {s.region.memory.name for s in walk(kernel.body) if isinstance(s, ins.Prefetch)}


def test_weights_and_scales_are_asked_for_before_the_wait() -> None:
    kernel = lowered()
    assert isinstance(kernel.body[0], ins.LaunchDependents)
    (at,) = (i for i, s in enumerate(kernel.body) if isinstance(s, ins.AwaitLaunches))
    assert not any(map(touches_tensors, kernel.body[:at]))
    after = [s for s in kernel.body[at + 1 :] if not isinstance(s, ins.Alloc)]
    assert touches_tensors(after[0])
    early = [s for s in walk(kernel.body[:at]) if isinstance(s, ins.Prefetch)]
    # Activations are what the turns of one row of the grid have in common.
    assert {s.region.memory.name for s in early} == prefetched(kernel) == {"w", "s"}


def test_what_may_lie_outside_is_not_asked_for() -> None:
    assert prefetched(lowered(dims={})) == set()  # the last tile of an open N sticks out


def wait_of(kernel: Kernel) -> ins.Stmt:
    return next(s for s in kernel.body if isinstance(s, ins.AwaitLaunches))


@pytest.mark.parametrize("fault", ["async_dots", "missing", "twice", "nested"])
def test_the_verifier_finds_a_wait_in_the_wrong_place(fault: str) -> None:
    kernel = lowered()
    rest = tuple(s for s in kernel.body if not isinstance(s, ins.AwaitLaunches))
    wait = wait_of(kernel)
    body, text = {
        "async_dots": ((*rest, wait), "touched before"),
        "missing": (rest, "must wait"),
        "twice": ((*kernel.body, ins.AwaitLaunches()), "once"),
        "nested": ((ins.WarpSpecialize((wait,), 4), *rest), "right in"),
    }[fault]
    verify(kernel)
    with pytest.raises(DiagnosticError, match=text):
        verify(replace(kernel, body=body))
