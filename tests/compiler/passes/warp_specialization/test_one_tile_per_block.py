"""Producer warps beside blocks of one turn: groups of loads with barriers of their own."""

from __future__ import annotations

import numpy as np
import pytest
from dslc.compiler.cost import predict
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.interpreter import Options, run
from dslc.compiler.ir import Kernel
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.rewrite import Rewriter
from dslc.compiler.ir.text.parser import parse_program
from dslc.compiler.ir.text.printer import print_program
from dslc.compiler.ir.traverse import walk
from dslc.compiler.passes.pass_lists.gpu import gpu_passes
from dslc.compiler.passes.pass_manager import run_passes
from dslc.compiler.targets import find_target

from support.kernels import every, one

HOPPER = find_target("cuda:sm_90a")
ROWS, KEYS, WIDE = 128, 128, 128

# Threads compute between the products, and the second one adds to what they have changed.
CHAIN = f"""
kernel chain(q: f16[S, {WIDE}], k: f16[L, {WIDE}], v: f16[L, {WIDE}], ends: i32[E],
             o: out f32[S, {WIDE}]):
    for s in parallel(range(0, S, {ROWS})):
        stop = ends[s // {ROWS}]
        queries = q[s : s + {ROWS}, :]
        acc = zeros(f32, [{ROWS}, {WIDE}])
        for l in range(0, stop, {KEYS}):
            x = dot(queries, k[l : l + {KEYS}, :], transposed="b")
            acc = acc * 0.5 + dot(cast(x, f16), v[l : l + {KEYS}, :])
        o[s : s + {ROWS}, :] = acc
"""


def lowered(stages: int | None = None) -> Kernel:
    found = run_passes(one(CHAIN), gpu_passes(HOPPER, stages=stages))
    assert isinstance(found, Kernel)
    return found


def arguments() -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Arguments of small numbers, four and two turns, and the result."""
    rng = np.random.default_rng(0)
    q, k, v = (rng.choice([0.0, 1.0], (n, WIDE), p=[0.9, 0.1]) for n in (200, 500, 500))
    ends = np.array([500, 200], np.int32)
    wanted = np.zeros((200, WIDE))
    for block, end in enumerate(ends):
        rows = slice(block * ROWS, min(200, (block + 1) * ROWS))
        for first in range(0, end, KEYS):
            part = slice(first, min(500, first + KEYS))
            wanted[rows] = wanted[rows] * 0.5 + (q[rows] @ k[part].T) @ v[part]
    args = {n: x.astype(np.float16) for n, x in (("q", q), ("k", k), ("v", v))}
    return {**args, "ends": ends, "o": np.full((200, WIDE), np.nan, np.float32)}, wanted


def test_keys_and_values_have_barriers_of_their_own() -> None:
    kernel = lowered()
    (producers,) = every(kernel, ins.WarpSpecialize)
    assert len(kernel.grid) == 1
    names = {s.memory.name for s in every(kernel, ins.Alloc)}
    assert {"full", "empty", "full_1", "empty_1"} <= names
    waits = [s.region.memory.name for s in walk(producers.body) if isinstance(s, ins.AwaitPhase)]
    assert waits == ["empty", "empty_1"]
    (loop,) = (s for s in kernel.body if isinstance(s, ins.For))
    order = [
        s.region.memory.name if isinstance(s, ins.AwaitPhase | ins.Arrive) else type(s).__name__
        for s in walk(loop.body)
        if isinstance(s, ins.AwaitPhase | ins.Arrive | ins.Dot | ins.WaitDots)
    ]
    # The first product's slot is free at once, the second's only with the next iteration's wait.
    assert order == ["full", "Dot", "WaitDots", "empty", "empty_1", "full_1", "Dot"]


@pytest.mark.parametrize("stages", [None, 2])
def test_both_sides_mean_what_the_loop_meant(stages: int | None) -> None:
    kernel = lowered(stages)
    assert every(kernel, ins.WarpSpecialize)
    for shuffle in (None, 1, 2):
        args, wanted = arguments()
        run(kernel, args, Options(shuffle=shuffle))
        np.testing.assert_array_equal(args["o"], wanted)
    text = print_program(kernel)
    assert print_program(parse_program(text)) == text


class _Without(Rewriter):
    def __init__(self, gone: ins.Stmt) -> None:
        super().__init__()
        self.gone = gone

    def statement(self, stmt: ins.Stmt) -> tuple[ins.Stmt, ...]:
        return () if stmt is self.gone else (self.rebuild(stmt),)


@pytest.mark.parametrize("kind", [ins.AwaitPhase, ins.Arrive, ins.WaitDots])
def test_no_wait_and_no_arrival_can_be_left_out(kind: type) -> None:
    kernel = lowered(2)
    for stmt in every(kernel, kind):
        with pytest.raises(DiagnosticError, match=r"DSL06(03|04|05|09|12)"):
            run(_Without(stmt).kernel(kernel), arguments()[0])


def test_blocks_that_fill_gaps_in_pairs_have_none() -> None:
    text = CHAIN.replace(f"[{ROWS}, {WIDE}]", "[64, 128]").replace(str(ROWS), "64")
    found = run_passes(one(text), gpu_passes(HOPPER))
    assert isinstance(found, Kernel)
    assert any(d.is_async for d in every(found, ins.Dot))
    assert not every(found, ins.WarpSpecialize)


def test_an_operand_that_threads_copy_leaves_the_loop_to_them() -> None:
    """Every second row is no box. Its copy would stand where producer warps take part."""
    text = CHAIN.replace(f"q[s : s + {ROWS}, :]", f"q[s * 2 : s * 2 + {2 * ROWS} : 2, :]")
    assert text != CHAIN
    found = run_passes(one(text), gpu_passes(HOPPER))
    assert isinstance(found, Kernel)
    assert any(d.is_async for d in every(found, ins.Dot))
    assert not every(found, ins.WarpSpecialize)


def test_scalars_that_the_kernel_writes_are_not_read_ahead() -> None:
    text = CHAIN.replace("ends: i32[E]", "ends: inout i32[E]").replace(
        "        stop =", f"        ends[s // {ROWS}] = 500\n        stop ="
    )
    assert text != CHAIN
    found = run_passes(one(text), gpu_passes(HOPPER))
    assert isinstance(found, Kernel)
    assert not every(found, ins.WarpSpecialize)


@pytest.mark.parametrize("stop", [f"ends[s // {ROWS}]", "L"])
def test_its_time_is_predicted_whatever_its_bounds_come_from(stop: str) -> None:
    text = CHAIN.replace(f"stop = ends[s // {ROWS}]", f"stop = {stop}")
    found = run_passes(one(text), gpu_passes(HOPPER))
    predicted = predict(found, HOPPER, {"S": 4096, "L": 4096, "E": 32})
    assert predicted.at_once == 1
    assert predicted.seconds > predicted.floor > 0
