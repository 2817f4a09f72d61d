"""What AWS's pages say of numbers, shapes and times, where a simulator could believe otherwise."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from dslc.runtime.nki_simulator import NkiFault, simulate

from support.nki.kernels import HEAD, compute, frame, run, tile

RNG = np.random.default_rng(3)
X = RNG.standard_normal((64, 48), dtype=np.float32)
Y = RNG.standard_normal((64, 48), dtype=np.float32)
OUT = f"out = {tile((64, 48))}\n"


def test_7_a_value_that_is_not_there_has_the_place_of_all_ones() -> None:
    body = f"v, out = {tile((64, 8))}, {tile((64, 8), 'uint32')}\nnisa.memset(dst=v, value=77.0)\n"
    body += "nisa.tensor_copy(dst=v[:, 0:1], src=tx[:, 5:6])\n"
    found = compute(body + "nisa.nc_find_index8(dst=out, data=tx, vals=v)", X)
    assert np.array_equal(found[:, 0], np.full(64, 5))
    assert (found[:, 1:] == 0xFFFFFFFF).all()


def test_8_places_of_equal_values_descend() -> None:
    row = np.array([[9, 9, 3, 9, 2, 2, 2, 2, 2, 2, 2, 1]], np.float32)
    vals = np.array([[3, 2, 2, 2, 2, 2, 2, 2]], np.float32)
    body = f"o, out = {tile((1, 12))}, {tile((1, 8), 'uint32')}\n"
    body += "nisa.nc_match_replace8(dst=o, data=tx, vals=ty, imm=0.0, dst_idx=out)"
    assert compute(body, row, vals).tolist() == [[2, 10, 9, 8, 7, 6, 5, 4]]


def test_9_an_identity_lies_in_sbuf() -> None:
    body = f"i = nl.shared_identity_matrix(48, dtype=nl.float32)\nout = {tile((48, 48))}\n"
    body += "nisa.tensor_copy(dst=out, src=i)"
    assert np.array_equal(compute(body, X), np.eye(48))
    assert np.array_equal(
        compute(
            f"out = {tile((8, 8))}\nnl.shared_identity_matrix(8, dtype=nl.float32, dst=out)", X
        ),
        np.eye(8),
    )


@pytest.mark.parametrize(
    ("index", "want"),
    [
        ("32, :", X[32:33]),  # 10: the partitions stay
        (":, 3", X[:, 3:4]),  # 11: an axis beside them, too
        (":, -1", X[:, -1:]),  # 12
        (":, -8:-2", X[:, -8:-2]),
        ("-32:, :", X[-32:]),
        ("32", X[32:33]),
    ],
)
def test_10_to_12_indices_on_the_chip(index: str, want: np.ndarray[Any, Any]) -> None:
    body = f"out = {tile(want.shape)}\nnisa.tensor_copy(dst=out, src=tx[{index}])"
    assert np.array_equal(compute(body, X), want)


def test_12_indices_in_hbm_drop_their_axis_and_count_from_the_end() -> None:
    body = f"out = {tile((1, 48))}\nnisa.dma_copy(dst=out, src=x[-2].reshape((1, 48)))"
    assert np.array_equal(compute(body, X), X[-2:-1])


def test_13_a_tile_at_an_address() -> None:
    body = "out = nl.ndarray((64, 48), dtype=nl.float32, buffer=nl.sbuf, address=(64, 4096))\n"
    assert np.array_equal(compute(body + "nisa.tensor_copy(dst=out, src=tx)", X), X)


def test_14_a_reduction_that_is_not_read_and_one_that_is_negated() -> None:
    call = (
        "nisa.tensor_scalar_reduce(dst=o, data=tx, op0=nl.multiply, operand0=2.0, reduce_op=nl.add"
    )
    body = f"o, out = {tile((64, 48))}, {tile((64, 1))}\n"
    plain = compute(body.replace("o, out", "out, o") + call.replace("dst=o", "dst=out") + ")", X)
    assert np.array_equal(plain, 2 * X)
    found = compute(body + call + ", reduce_res=out, reduce_res_negate=True)", X)
    np.testing.assert_allclose(found, -2 * X.sum(1, keepdims=True), rtol=1e-4, atol=1e-5)


def test_15_a_transpose_of_4_bytes() -> None:
    body = f"out = {tile((48, 64))}\nnisa.dma_transpose(dst=out, src=x, axes=(1, 0))"
    assert np.array_equal(compute(body, X), X.T)


def test_16_sixteen_rows_by_hardware_descriptors() -> None:
    x = X.astype(ml_dtypes.bfloat16)
    body = f"out = {tile((48, 16), 'bfloat16')}\n"
    body += "nisa.dma_transpose(dst=out, src=x[0:16], dge_mode=nisa.dge_mode.hwdge)"
    assert np.array_equal(compute(body, x), x[:16].T)


def test_18_the_largest_magnitude_is_a_reduction_of_v4() -> None:
    body = f"o, out = {tile((64, 48))}, {tile((64, 1))}\n"
    body += "nisa.activate2(dst=o, op=nl.copy, data=tx, imm0=1.0, imm1=0.0, op0=nl.bypass,\n"
    body += "               op1=nl.bypass, reduce_op=nl.abs_max, reduce_res=out,\n"
    body += "               reduce_cmd=nisa.reduce_cmd.reset_reduce)"
    found = compute(body, X, target="trn3")
    assert np.array_equal(found, np.abs(X).max(1, keepdims=True))


def test_19_an_instruction_that_waits_for_another_runs_after_it() -> None:
    body = OUT + f"o = {tile((64, 48))}\na = nisa.reciprocal(dst=o, data=tx)\n"
    body += "b = nisa.activation(dst=out, op=nl.exp, data=tx)\n"
    free, waits = (run(frame(body + more), X, Y, X) for more in ("", "b.depends_on(a)\n"))
    first = [step.name for step in waits.trace.steps].index("reciprocal")
    exp = [step.name for step in waits.trace.steps].index("activation")
    assert waits.timeline.begins[exp] >= waits.timeline.done[first]
    assert free.timeline.begins[exp] < free.timeline.done[first]


GRID = HEAD + (
    "@nki.jit\n"
    "def kernel(x):\n"
    "    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)\n"
    "    rows = x.shape[0] // nl.num_programs()\n"
    "    first = nl.program_id(0) * rows\n"
    "    t = nl.load(x[first:first + rows])\n"
    "    nl.store(y[first:first + rows], nl.add(t, 1.0))\n"
    "    return y\n"
)


def test_22_the_programs_of_a_grid_share_the_work() -> None:
    alone, both = (simulate(GRID, "kernel", (X,), "trn2", grid=n) for n in (1, 2))
    assert np.array_equal(alone.outputs[0], X + 1)
    assert np.array_equal(both.outputs[0], X + 1)
    assert both.hbm_bytes == alone.hbm_bytes / 2


def test_24_a_loop_waits_for_the_register_that_bounds_it() -> None:
    body = OUT + f"n = {tile((1, 1), 'int32')}\nnisa.dma_copy(dst=n, src=z)\n"
    body += "r = nisa.register_alloc()\nnisa.register_load(r, n)\n"
    body += "def body(i):\n    nisa.tensor_copy(dst=out, src=tx)\nnl.fori_loop(0, r, body)\n"
    found = run(frame(body), X, Y, np.array([[2]], np.int32))
    names = [step.name for step in found.trace.steps]
    load, copies = (
        names.index("register_load"),
        [i for i, n in enumerate(names) if n == "tensor_copy"],
    )
    assert len(copies) == 2
    assert all(found.timeline.begins[i] >= found.timeline.done[load] for i in copies)


def test_25_the_largest_of_a_snake() -> None:
    x = RNG.permutation(32 * 40).reshape(32, 40).astype(np.float32) / 64
    x = x.astype(ml_dtypes.bfloat16)
    body = f"v, out = {tile((32, 10), 'bfloat16')}, {tile((32, 10), 'uint32')}\n"
    body += "nisa.memset(dst=out, value=0)\nnisa.memset(dst=v, value=0.0)\n"
    body += "nisa.topk(val_dst=v, idx_dst=out, src=tx, n=600)"
    found = compute(body, x)
    for first in (0, 16):
        snake = x[first : first + 16].astype(np.float32).T.reshape(-1)[:600]
        best = found[first : first + 16].T.reshape(-1)[:10]
        assert np.array_equal(np.sort(snake)[-10:], snake[best])


def test_25_places_of_what_is_not_zero() -> None:
    x = np.zeros((32, 8), np.float32)
    x[0, [1, 2, 5]], x[16, 7] = 1, 3
    body = f"out = {tile((32, 9), 'int32')}\nnisa.memset(dst=out, value=7)\n"
    found = compute(body + "nisa.nonzero_with_count(dst=out, src=tx, index_offset=16)", x)
    assert found[0].tolist() == [17, 18, 21, -1, -1, -1, -1, -1, 3]
    assert found[16].tolist() == [23, -1, -1, -1, -1, -1, -1, -1, 1]
    assert (found[1:16] == 7).all()


def test_25_bounds_of_segments() -> None:
    ids = np.array([[1, 1, 2, 2, 2, 0]], np.int32)
    body = f"o = {tile((1, 2, 6), 'int32')}\nnisa.sequence_bounds(dst=o, segment_ids=tx)\n"
    body += "out = o.reshape((1, 12))"
    assert compute(body, ids).tolist() == [[0, 0, 2, 2, 2, 6, 2, 2, 5, 5, 5, -1]]


def test_25_a_gather_in_groups_of_partitions() -> None:
    index = RNG.integers(0, 24, (64, 3)).astype(np.uint16)
    body = f"out = {tile((64, 96))}\n"
    body += "nisa.local_gather(dst=out, src_buffer=tx, index=ty, num_elem_per_idx=2)"
    found = compute(body, X, index)
    for p in (0, 17, 63):
        first = p // 16 * 16
        flat = index[first : first + 16].T.reshape(-1)
        assert np.array_equal(found[p], X[p].reshape(-1, 2)[flat].reshape(-1))


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("nl.add(tx, ty)", X + Y),
        ("nl.subtract(1.0, tx)", 1 - X),
        ("nl.multiply(tx, 2.0)", 2 * X),
        ("nl.negative(tx)", -X),
        ("nl.maximum(tx, ty)", np.maximum(X, Y)),
        ("nl.exp(tx)", np.exp(X)),
        ("nl.reciprocal(tx)", 1 / X),
        ("nl.copy(tx)", X),
        ("nl.sum(tx, axis=1)", X.sum(1, keepdims=True)),
        ("nl.max(tx, axis=[1], keepdims=True)", X.max(1, keepdims=True)),
        ("nl.mean(tx, axis=1)", X.mean(1, keepdims=True)),
        ("nl.prod(nl.full((64, 3), 2.0, dtype=nl.float32), axis=1)", np.full((64, 1), 8)),
        ("nl.broadcast_to(tx[:, 5:6], (64, 48))", np.broadcast_to(X[:, 5:6], X.shape)),
        ("nl.broadcast_to(tx[32:33], (64, 48))", np.broadcast_to(X[32:33], X.shape)),
        ("nl.add(nl.zeros_like(tx), nl.ones((64, 48), dtype=nl.float32))", np.ones_like(X)),
        ("nl.where(nl.greater(tx, 0.0, dtype=nl.uint8), tx, 0.0)", np.maximum(X, 0)),
        ("nl.load_transpose2d(x[0:48])", X[:48].T),
    ],
)
def test_functions_of_whole_tiles(text: str, want: np.ndarray[Any, Any]) -> None:
    found = compute(f"out = {text}", X, Y)
    np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-5)


def test_a_product_and_a_transpose_of_whole_tiles() -> None:
    body = f"p = nl.matmul(tx, ty, transpose_x=True)\nout = {tile((48, 48))}\n"
    found = compute(body + "nisa.tensor_copy(dst=out, src=p)", X, Y)
    np.testing.assert_allclose(found, X.T @ Y, rtol=1e-4, atol=1e-4)
    body = f"p = nl.transpose(tx)\nout = {tile((48, 64))}\nnisa.tensor_copy(dst=out, src=p)"
    assert np.array_equal(compute(body, X), X.T)


def test_functions_that_no_engine_has() -> None:
    with pytest.raises(NkiFault, match="reciprocal"):
        compute("out = nl.divide(tx, ty)", X, Y)
    with pytest.raises(NkiFault, match="transpose_x"):
        compute("out = nl.matmul(tx, ty)", X, Y)
