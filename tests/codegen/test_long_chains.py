"""Tiles that are read twice, one after another: 3 ** 26 ways lead back, none is gone twice."""

import pytest
from dslc.compiler.passes.pass_manager import run_passes
from dslc.machines.registry import find_machine

from support.kernels import one

STEPS = 26
TEXT = """
kernel chain(x: f32[M, N], y: out f32[M, N]):
    for m in parallel(range(0, M, 16)):
        a = x[m : m + 16, 0:64]
        c = arange(64)
        {steps}
        y[m : m + 16, 0:64] = where((c < 100)[None, :], a, 0.0)
"""


@pytest.mark.parametrize("target", ["nki:trn2", "aie:npu2"])
def test_a_chain_of_tiles_is_emitted_in_its_own_length(target):
    steps = ["a = a * a + a * 0.5", "c = c + c // 2"] * STEPS
    kernel = one(TEXT.format(steps="\n        ".join(steps)), {"M": 64, "N": 64})
    machine = find_machine(target)
    texts = machine.draft(run_passes(kernel, machine.passes({}))).texts
    assert all(len(text.splitlines()) < 400 * STEPS for text in texts)
