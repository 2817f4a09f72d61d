"""Operands of asynchronous products that are loaded once, before the loop that multiplies them."""

from __future__ import annotations

import numpy as np
import pytest
from dslc.codegen.cuda.generate import emit
from dslc.compiler.analysis.buffer_liveness import Liveness
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.interpreter import run
from dslc.compiler.interpreter.dims import evaluate
from dslc.compiler.ir import Kernel
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.rewrite import Rewriter
from dslc.compiler.passes.memory.memory_plan import buffer_bytes
from dslc.compiler.passes.pass_lists.gpu import gpu_passes
from dslc.compiler.passes.pass_manager import run_passes
from dslc.compiler.targets import find_target

from support.kernels import every, one

HOPPER = find_target("cuda:sm_90a")
TEXT = """
kernel f(q: f16[H, M, 64], k: f16[H, N, 64], y: out f32[H, M, 64]):
    for h, m in parallel(range(H), range(0, M, 64)):
        assert N > 0, "no keys"
        left = q[h, m : m + 64, :]
        total = zeros(f32, [64, 64])
        for n in range(0, N, 64):
            total += abs(dot(left, k[h, n : n + 64, :], transposed="b"))
        y[h, m : m + 64, :] = total
"""


def lowered(stages: int | None = None) -> Kernel:
    found = run_passes(one(TEXT), gpu_passes(HOPPER, stages=stages))
    assert isinstance(found, Kernel)
    return found


def arguments() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    q, k = (rng.integers(-3, 4, (2, n, 64)).astype(np.float16) for n in (80, 200))
    return {"q": q, "k": k, "y": np.zeros((2, 80, 64), np.float32)}


def wanted(args: dict[str, np.ndarray]) -> np.ndarray:
    keys = np.zeros((2, 256, 64), np.float32)  # blocks reach past the end
    keys[:, :200] = args["k"]
    products = np.abs(args["q"].astype(np.float32) @ keys.swapaxes(1, 2))
    return products.reshape(2, 80, 4, 64).sum(2)


@pytest.mark.parametrize("stages", [None, 1, 2, 3])
def test_the_operand_is_copied_once_and_stays(stages: int | None) -> None:
    kernel = lowered(stages)
    (dot,) = every(kernel, ins.Dot)
    assert ".ss" in dot.atom
    *_, loop = (s for s in kernel.body if isinstance(s, ins.For))
    copied = [s.src.memory.name for s in every(kernel, ins.CopyAsync)]
    assert copied.count("q") == 1
    assert not any(isinstance(s, ins.CopyAsync) and s.src.memory.name == "q" for s in loop.body)
    lives = {x.memory.name: x for x in Liveness(kernel.body).lives}
    kept = lives["q_tile"].memory
    for other in (x for name, x in lives.items() if name.startswith("k_")):
        assert lives["q_tile"].overlaps(other)
        low, high = sorted((kept, other.memory), key=lambda m: m.offset or 0)
        assert (low.offset or 0) + buffer_bytes(low) <= (high.offset or 0)
    args = arguments()
    run(kernel, args)
    np.testing.assert_array_equal(args["y"], wanted(args))


def test_its_wait_cannot_be_left_out() -> None:
    kernel = lowered()

    class Without(Rewriter):
        def statement(self, stmt: ins.Stmt) -> tuple[ins.Stmt, ...]:
            gone = isinstance(stmt, ins.AwaitPhase) and "ready" in stmt.region.memory.name
            return () if gone else (self.rebuild(stmt),)

    with pytest.raises(DiagnosticError, match=r"DSL06(04|12)"):
        run(Without().kernel(kernel), arguments())


def test_strips_have_as_many_rows_as_the_cache_serves() -> None:
    strips = lowered().rasterization
    assert strips is not None
    found = [evaluate(strips, {"H": 16, "M": 4096, "N": 1 << n}) for n in (12, 16, 18, 22)]
    assert found == [64, 4, 1, 1]


def test_nothing_calls_a_function_where_products_are_late() -> None:
    """Else ptxas has every product wait for the one before."""
    text, _ = emit(lowered(), HOPPER)
    assert "printf" not in text
    assert "// assertion: no keys" in text
    assert "__trap();" in text
