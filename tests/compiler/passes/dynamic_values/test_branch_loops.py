"""Loops that read tensors leave branches, grids get bounds: the kernel means what it meant."""

from __future__ import annotations

from typing import Any

import dslc
import numpy as np
import pytest
from dslc.compiler.analysis.accessed_boxes import reads_by_iteration
from dslc.compiler.interpreter import Options, run
from dslc.compiler.ir import Kernel
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.traverse import walk
from dslc.compiler.passes.dynamic_values.bounded_grid import BoundedGrid
from dslc.compiler.passes.dynamic_values.branch_loops import BranchLoops
from dslc.compiler.passes.pass_manager import run_passes

SOURCE = """
kernel k(x: i32[M, L], n: i32, y: out i32[M], z: inout i32[M]):
    for m in parallel(range(0, n, 4)):
        acc = x[m : m + 4, 1]
        low = 5
        if n > 4:
            t = sum(x[m : m + 4, 0:8], 1)
            low = max(t) % 3
            for k in range(0, L, 8):
                acc += x[m : m + 4, k] * low
                if k % 16 == 0:
                    for j in range(0, 8, 4):
                        acc += x[m : m + 4, k + j] + t
                low += 1
            z[m : m + 4] = acc + low
            u = max(acc)
            for k in range(low % 5, L, 16):
                acc -= x[m : m + 4, k] + u
        elif n > 2:
            for k in range(0, L, 16):
                acc ^= x[m : m + 4, k]
        else:
            acc = acc * 7
        y[m : m + 4] = acc + low
"""


def _kernel() -> Kernel:
    library: Any = dslc.compile(SOURCE, target="interp", cache=False)
    program = library.k.origin.elaborated({"M": 12, "L": 64}, {}, {"M": 12, "L": 64}.get).program
    assert isinstance(program, Kernel)
    return program


@pytest.mark.parametrize("n", [0, 2, 3, 5, 12])
def test_a_kernel_means_what_it_meant(n: int) -> None:
    before = _kernel()
    after = run_passes(before, [BoundedGrid(), BranchLoops()])
    x = np.random.default_rng(0).integers(-9, 9, (12, 64), np.int32)
    results = []
    for program in (before, after):
        y, z = np.zeros(12, np.int32), np.zeros(12, np.int32)
        run(program, {"x": x, "n": n, "y": y, "z": z}, Options())
        results.append((y, z))
    np.testing.assert_array_equal(*results)


def test_no_loop_over_a_tensor_stays_in_a_branch() -> None:
    after = run_passes(_kernel(), [BoundedGrid(), BranchLoops()])
    assert isinstance(after, Kernel)
    inside = [s for b in walk(after.body) if isinstance(b, ins.If) for s in walk((b,))]
    assert not any(isinstance(s, ins.For) and reads_by_iteration(s) for s in inside)
    assert any(isinstance(s, ins.For) and reads_by_iteration(s) for s in walk(after.body))
