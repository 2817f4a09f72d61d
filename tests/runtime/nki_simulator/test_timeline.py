"""The timeline: each of its rules by itself, on steps made by hand; then the costs of instructions."""

# ruff: noqa: E501 - a cost is a line of a table

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from dslc.runtime.nki_simulator import CORES, Run, simulate
from dslc.runtime.nki_simulator.machine import MIN_CYCLES, PE_DEPTH
from dslc.runtime.nki_simulator.tensors import HBM, Storage, Tensor
from dslc.runtime.nki_simulator.timeline import Timeline, schedule
from dslc.runtime.nki_simulator.trace import Rows, Step

from support.nki.kernels import HEAD, frame, run, tile

BF16 = ml_dtypes.bfloat16
BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks" / "neuronmm"
# One byte a nanosecond and engine, 10 ns a row, 100 ns until a transfer is seen.
CORE = replace(CORES["trn1"], dma=16.0, row_ns=10.0, dma_latency_ns=100.0)


def step(
    queue: str, busy: float = 0.0, after: tuple[int, ...] = (), over: tuple[int, ...] = (),
    latency: float = 0.0, rows: Rows | None = None, ports: tuple[str, ...] = (),
) -> Step:  # fmt: skip
    return Step("step", queue, 1, busy, latency, after, over, rows, ports)


def times(*steps: Step, **waits: Any) -> Timeline:
    return schedule(list(steps), waits.get("waits", {}), CORE)


def test_an_engine_runs_in_program_order() -> None:
    found = times(step("ACT", 5), step("PE", 50), step("ACT", 5, after=(1,)), step("ACT", 7))
    assert found.begins == [0, 0, 50, 55]
    assert found.total == 62
    assert found.busy["ACT"] == 17
    assert found.active("PE") == 50 / 62


def test_a_result_is_there_after_its_latency_and_the_engine_is_free_before() -> None:
    found = times(step("PE", 10, latency=30), step("PE", 10), step("DVE", 5, after=(0,)))
    assert found.begins == [0, 10, 40]


def test_who_overwrites_an_operand_waits_for_the_end_of_reading_alone() -> None:
    """PE write after read: its pipeline still works on the result when the operands are free."""
    found = times(step("PE", 10, latency=30), step("DVE", 5, over=(0,)), step("ACT", 5, after=(0,)))
    assert found.begins == [0, 10, 40]


def test_memory_that_is_used_again_waits_for_all_that_was_done_with_it() -> None:
    found = times(step("PE", 10, latency=30), step("DVE", 5), waits={1: {0}})
    assert found.begins == [0, 40]


def test_a_row_costs_its_bytes_and_its_descriptor_on_one_of_sixteen_engines() -> None:
    found = times(step("load", rows=Rows(16, 90)))
    assert found.done == [100 + 100]
    assert times(step("load", rows=Rows(17, 90))).done == [200 + 100]
    assert times(step("load", rows=Rows(3, 90))).dma_busy == 300


def test_transfers_are_issued_at_once_and_share_the_engines() -> None:
    found = times(step("load", rows=Rows(16, 90)), step("load", rows=Rows(16, 90)))
    assert found.begins == [0, 0]
    assert found.done == [200, 300]


def test_few_rows_leave_engines_to_the_next_transfer() -> None:
    found = times(step("load", rows=Rows(8, 90)), step("load", rows=Rows(8, 90)))
    assert found.done == [200, 200]


def test_a_transfer_that_waits_holds_up_its_queue_alone() -> None:
    found = times(
        step("PE", 1000),
        step("store", rows=Rows(16, 90), after=(0,)),
        step("load", rows=Rows(16, 90)),
        step("store", rows=Rows(16, 90)),
    )
    assert found.begins == [0, 1000, 0, 1000]
    assert found.done[2] == 200  # the load did not wait for a store of later


def test_engines_serve_transfers_in_the_order_of_time_not_of_the_program() -> None:
    found = times(
        step("PE", 50),
        step("store", rows=Rows(16, 990), after=(0,)),
        step("load", rows=Rows(16, 90)),
    )
    assert found.done[2] == 200
    assert found.done[1] == 100 + 1000 + 100


def test_generating_descriptors_takes_the_queue() -> None:
    core = replace(CORE, issue_ns=600.0)
    found = schedule([step("load", rows=Rows(16, 90))] * 2, {}, core)
    assert found.begins == [0, 600]
    assert found.done == [800, 1400]


def test_engines_of_v2_share_a_port() -> None:
    found = times(
        step("DVE", 10, ports=("psum",)), step("ACT", 10, ports=("psum",)), step("Pool", 10)
    )
    assert found.begins == [0, 10, 0]


def cycles(body: str, target: str = "trn2", dtype: Any = np.float32, n: int = 256) -> float:
    """What the last instruction of a body takes of its engine's clock; tx and ty are [128, n]."""
    x = np.ones((128, n), dtype)
    found = run(frame(body + "\nout = tx"), x, x, np.ones((1, 1), np.float32), target=target)
    last = [s for s in found.trace.steps if s.rows is None][-1]
    return last.busy * CORES[target].clocks[last.queue]


OUT = f"o = {tile((128, 256))}\n"
HALF = f"o = {tile((128, 256), 'bfloat16')}\n"
ACC = f"acc = {tile((128, 256), buffer='psum')}\n"
COSTS = {
    "activation": (OUT + "nisa.activation(dst=o, op=nl.exp, data=tx)", np.float32, 256),
    "few elements": (OUT + "nisa.activation(dst=o[0:128, 0:8], op=nl.exp, data=tx[0:128, 0:8])", np.float32, 64),
    "copy": (OUT + "nisa.tensor_copy(dst=o, src=tx, engine=nisa.engine.vector)", np.float32, 256),
    "copy of halves": (HALF + "nisa.tensor_copy(dst=o, src=tx, engine=nisa.engine.vector)", BF16, 64),
    "two tiles": (OUT + "nisa.tensor_tensor(dst=o, data1=tx, data2=ty, op=nl.add)", np.float32, 512),
    "two tiles of halves": (HALF + "nisa.tensor_tensor(dst=o, data1=tx, data2=ty, op=nl.add)", BF16, 256),
    "two tiles of halves, any operator": (HALF + "nisa.tensor_tensor(dst=o, data1=tx, data2=ty, op=nl.maximum)", BF16, 256),
    "two tiles of two memories": (OUT + ACC + "nisa.tensor_copy(dst=acc, src=tx)\nnisa.tensor_tensor(dst=o, data1=acc, data2=ty, op=nl.add)", np.float32, 256),
    "two tiles of SBUF into PSUM": (ACC + "nisa.tensor_tensor(dst=acc, data1=tx, data2=ty, op=nl.add)", np.float32, 512),
    "two tiles by GpSimd": (HALF + "nisa.tensor_tensor(dst=o, data1=tx, data2=ty, op=nl.add, engine=nisa.engine.gpsimd)", BF16, 512),
    "a column and a tile": (OUT + "nisa.scalar_tensor_tensor(dst=o, data=tx, op0=nl.multiply, operand0=2.0, op1=nl.add, operand1=ty)", BF16, 512),
    "a difference of halves times a tile": (OUT + "nisa.scalar_tensor_tensor(dst=o, data=tx, op0=nl.subtract, operand0=2.0, op1=nl.multiply, operand1=ty)", BF16, 256),
    "statistics": (f"o = {tile((128, 6))}\nnisa.bn_stats(dst=o, data=tx)", np.float32, 256),
    "moments": (f"o = {tile((128, 2))}\nnisa.bn_aggr(dst=o, data=tx[0:128, 0:24])", np.float32, 104),
    "reciprocal": (OUT + "nisa.reciprocal(dst=o, data=tx)", np.float32, 2048),
    "memset": (HALF + "nisa.memset(dst=o, value=0.0, engine=nisa.engine.vector)", BF16, 128),
    "reduction": (f"o = {tile((128, 1))}\nnisa.tensor_reduce(dst=o, op=nl.add, data=tx, axis=1)", np.float32, 256),
    "reduction of halves": (f"o = {tile((128, 1))}\nnisa.tensor_reduce(dst=o, op=nl.add, data=tx, axis=1)", BF16, 256),
    "reduction to halves": (f"o = {tile((128, 1), 'bfloat16')}\nnisa.tensor_reduce(dst=o, op=nl.add, data=tx, axis=1)", BF16, 128),
    "iota": (OUT + "nisa.iota(dst=o, pattern=[[1, 256]])", np.float32, 406),
    "product": (ACC + "nisa.nc_matmul(dst=acc, stationary=tx[0:128, 0:128], moving=ty, accumulate=False)", BF16, 256 + 32),
    "product of float32": (ACC + "nisa.nc_matmul(dst=acc, stationary=tx[0:128, 0:128], moving=ty, accumulate=False)", np.float32, 4 * (256 + 32)),
    "one column": (
        f"acc = {tile((128, 1), buffer='psum')}\n"
        "nisa.nc_matmul(dst=acc, stationary=tx[0:128, 0:128], moving=ty[0:128, 0:1], accumulate=False)",
        BF16, 64 + 32,
    ),
    "transpose": (
        f"acc = {tile((128, 128), 'bfloat16', 'psum')}\n"
        "nisa.nc_transpose(dst=acc, data=tx[0:128, 0:128], engine=nisa.engine.tensor)", BF16, 128 + 32,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", COSTS)
def test_an_instruction_takes_what_is_documented(name: str) -> None:
    body, dtype, want = COSTS[name]
    assert cycles(body, dtype=dtype) == pytest.approx(want)


def test_a_product_is_seen_by_other_engines_when_it_has_passed_the_array() -> None:
    x = np.ones((128, 128), BF16)
    body = f"acc, o = {tile((128, 128), buffer='psum')}, {tile((128, 128))}\n"
    body += "nisa.nc_matmul(dst=acc, stationary=tx, moving=ty, accumulate=False)\n"
    body += "nisa.tensor_copy(dst=o, src=acc, engine=nisa.engine.vector)\nout = o"
    found = run(frame(body), x, x, np.ones((1, 1), np.float32))
    steps, t = found.trace.steps, found.timeline
    names = [s.name for s in steps]
    pe, copy = names.index("nc_matmul"), names.index("tensor_copy")
    assert t.begins[copy] - t.ends[pe] == pytest.approx(PE_DEPTH / 2.4)
    assert t.done[copy] - t.ends[copy] == pytest.approx(MIN_CYCLES / 0.96)


LOOP = (
    HEAD
    + """
@nki.jit
def kernel(x):
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    def body(i):
        t = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=t, src=x[nl.ds(i, 128), 0:512])
        nisa.activation(dst=t, op=nl.exp, data=t)
        nisa.dma_copy(dst=y[nl.ds(i, 128), 0:512], src=t)
    LOOP
    return y
"""
)
ROLLED = LOOP.replace("LOOP", "nl.fori_loop(0, 1024, body, step=128)")
UNROLLED = LOOP.replace("LOOP", "for i in range(0, 1024, 128):\n        body(i)")


def both() -> tuple[Run, Run]:
    x = np.ones((1024, 512), np.float32)
    return run(ROLLED, x), run(UNROLLED, x)


def test_tiles_of_a_compiled_loop_are_one_memory_and_of_an_unrolled_one_many() -> None:
    rolled, unrolled = both()
    assert rolled.hbm_bytes == unrolled.hbm_bytes
    assert rolled.sbuf_peak == 2048
    assert rolled.timeline.total > 2 * unrolled.timeline.total


def test_memory_is_given_out_again_when_its_tile_is_used_for_the_last_time() -> None:
    """200 tiles of 2 KiB in a core of 212 KiB, one live at a time: loads run ahead as far as it holds."""
    source = UNROLLED.replace("range(0, 1024, 128)", "range(0, 25600, 128)")
    found = run(source, np.ones((200 * 128, 512), np.float32))
    assert found.sbuf_peak == 2048
    assert len(found.waits) == 200 - CORES["trn2"].sbuf_bytes // 2048


def test_table_4_of_neuronmm_is_reproduced_on_trn1() -> None:
    """The two constants of trn1 that are fitted (84 cycles a product, 45 ns a row) give its times."""
    source = (BENCHMARKS / "trainium_fusion.py").read_text(encoding="utf-8")
    shapes = ((1024, 7168), (7168, 4096), (4096, 18432))
    x, u, v = (np.broadcast_to(np.zeros(1, BF16), shape) for shape in shapes)
    found = simulate(source, "trainium_fusion", (x, u, v, 1024, 512, 1024), "trn1", values=False)
    strips = 4  # the table has M = 4096: four strips, of which this is one
    assert strips * found.timeline.total / 1e6 == pytest.approx(10.99, rel=0.02)
    assert found.timeline.active("PE") > 0.98
    assert strips * found.trace.flops / (strips * found.hbm_bytes) == pytest.approx(819.2)


def test_the_box_around_a_view_that_is_no_slice() -> None:
    """By it accesses are ordered: every second row of a tensor in HBM reaches to the last but one."""
    whole = Tensor.whole(
        Storage("x", HBM, (64, 48), "float32", lambda rule, text: pytest.fail(text))
    )
    assert Tensor(whole.storage, (32, 48), (96, 1), 0).box == ((0, 63), (0, 48))
    assert Tensor(whole.storage, (2, 3), (1, 5), 100).box == ((2, 3), (4, 16))
