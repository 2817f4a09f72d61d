"""What the emulated examples are worth: a fault put into an emitted text is found.

Every deleted barrier, wait or commit is caught by a report or by wrong numbers. Left out are kernels
where a deletion changes no number:

- lowrank_mlp, quantize_rows and attention with the table's 16 queries a turn run in blocks of one
  warp, whose lanes meet in an mma or a shuffle between a write and the reads of it; PTX promises no
  order there, so the barriers stay. Attention is tested with 64 queries, which four warps share.
- The barrier before the counter of splitk_bias keeps a block from being counted before all of its
  threads have stored. Another block must end while such a thread lags: one seed in a hundred.
"""

from __future__ import annotations

import pytest
from dslc.compiler.ir import Kernel
from dslc.compiler.targets import Target, find_target
from dslc.runtime.cuda_emulator import EmulationError, compiler
from elaboration import elaborated

from calls import TABLE, hold, problem
from support.gpu.emulation import TARGET, emitted, execute, lower
from support.gpu.seeded_faults import Fault, faults, index_faults

pytestmark = pytest.mark.skipif(compiler() is None, reason="needs g++ or clang++")
SEEDS = range(1, 6)
# Where the choice of the table has one warp: a machine whose loops have rings and barriers, a choice.
SPECIAL = {"attention": ("cuda:sm_80", {"BS": 64, "BL": 32})}


def machine(kernel: str) -> Target:
    return find_target(SPECIAL[kernel][0]) if kernel in SPECIAL else TARGET


def is_found(kernel: str, program: Kernel, fault: Fault) -> bool:
    for seed in SEEDS:
        posed = problem(kernel, TABLE[kernel][3][0], {}, seed=0)
        try:
            execute(program, posed.args, seed, lambda _: fault.text, machine(kernel))
            hold(posed)
        except (EmulationError, AssertionError):
            return True
    return False


def lowered(kernel: str) -> tuple[Kernel, str]:
    config = SPECIAL[kernel][1] if kernel in SPECIAL else None
    program = lower(elaborated(kernel, TABLE[kernel][3][0], config), target=machine(kernel))
    assert isinstance(program, Kernel)
    return program, emitted(program, machine(kernel))[0]


@pytest.mark.parametrize(
    "kernel", ["gemm_quantized", "attention", "lowrank", "gemm_quantized_zeros"]
)
def test_a_deleted_barrier_wait_or_commit_is_found(kernel: str) -> None:
    program, text = lowered(kernel)
    seeded = list(faults(text))
    # Where loads go straight to registers there are no copies to wait for.
    assert {f.kind for f in seeded} in ({"barrier", "wait", "commit"}, {"barrier"})
    needed = [f for f in seeded if not frees_rings(text, f)]
    assert not [str(f) for f in needed if not is_found(kernel, program, f)]


def frees_rings(text: str, fault: Fault) -> bool:
    """Whether it is the wait or the barrier after a loop, which the next loop's rings rely on.

    They may lie elsewhere, and no copy is under way by then.
    """
    if fault.kind == "commit":
        return False
    before = [line.strip() for line in text.splitlines()[: fault.line - 1]]
    return before[-1] == "}" or before[-2:] == ["}", "copy_wait<0>();"]


@pytest.mark.parametrize("kernel", ["gemm", "softmax", "gemm_quantized"])
def test_most_changed_indices_are_found(kernel: str) -> None:
    program, text = lowered(kernel)
    seeded = index_faults(text, 10)  # some change nothing: a factor of what is 0
    found = [f for f in seeded if is_found(kernel, program, f)]
    assert len(found) >= 5, [str(f) for f in seeded if f not in found]
