"""Each instruction's numbers, against NumPy."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from dslc.runtime.nki_simulator import NkiFault

from support.nki.kernels import compute, frame, run, tile

BF16 = ml_dtypes.bfloat16
RNG = np.random.default_rng(7)
Array = np.ndarray[Any, np.dtype[Any]]
X = RNG.standard_normal((64, 48)).astype(np.float32)
Y = RNG.standard_normal((64, 48)).astype(np.float32)
COLUMN = RNG.standard_normal((64, 1)).astype(np.float32)
OUT = f"out = {tile((64, 48))}\n"


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


ACTIVATIONS = {
    "copy": lambda x: x,
    "exp": np.exp,
    "tanh": np.tanh,
    "sigmoid": sigmoid,
    "silu": lambda x: x * sigmoid(x),
    "relu": lambda x: np.maximum(x, 0),
    "square": lambda x: x * x,
    "abs": np.abs,
    "sign": np.sign,
    "sin": np.sin,
    "softplus": lambda x: np.log1p(np.exp(x)),
    "erf": np.vectorize(math.erf),
    "gelu": lambda x: 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activation_functions(name: str) -> None:
    x = np.clip(X, -1, 1)
    found = compute(OUT + f"nisa.activation(dst=out, op=nl.{name}, data=tx, scale=2.0)", x)
    np.testing.assert_allclose(found, ACTIVATIONS[name](2 * x), rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", ["sqrt", "rsqrt", "log", "reciprocal"])
def test_activation_functions_of_positive_numbers(name: str) -> None:
    functions = {
        "sqrt": np.sqrt,
        "rsqrt": lambda x: x**-0.5,
        "log": np.log,
        "reciprocal": lambda x: 1 / x,
    }
    x = np.abs(X) + 0.5
    found = compute(OUT + f"nisa.activation(dst=out, op=nl.{name}, data=tx)", x)
    np.testing.assert_allclose(found, functions[name](x), rtol=1e-5, atol=1e-6)


def test_activation_scales_and_shifts_by_partition_and_sums_over_instructions() -> None:
    body = f"sums, out = {tile((64, 1))}, {tile((64, 1))}\no = {tile((64, 48))}\n"
    body += "for cmd in (nisa.reduce_cmd.reset_reduce, nisa.reduce_cmd.reduce):\n"
    body += "    nisa.activation(dst=o, op=nl.exp, data=tx, scale=ty, bias=tz, reduce_op=nl.add,\n"
    body += "                    reduce_res=sums, reduce_cmd=cmd)\n"
    body += "nisa.tensor_copy(dst=out, src=sums)"
    found = compute(body, X, COLUMN, COLUMN)
    np.testing.assert_allclose(
        found, 2 * np.exp(X * COLUMN + COLUMN).sum(1, keepdims=True), rtol=1e-5
    )


BINARY = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "maximum": np.maximum,
    "minimum": np.minimum, "less": np.less, "greater_equal": np.greater_equal,
    "not_equal": np.not_equal, "logical_and": lambda a, b: (a != 0) & (b != 0),
}  # fmt: skip


@pytest.mark.parametrize("name", BINARY)
def test_two_tiles(name: str) -> None:
    found = compute(OUT + f"nisa.tensor_tensor(dst=out, data1=tx, data2=ty, op=nl.{name})", X, Y)
    np.testing.assert_allclose(found, BINARY[name](X, Y).astype(np.float32), rtol=1e-6)


def test_power_runs_on_gpsimd() -> None:
    body = OUT + "nisa.tensor_tensor(dst=out, data1=tx, data2=ty, op=nl.power)"
    found = run(frame(body), np.abs(X), Y, COLUMN)
    np.testing.assert_allclose(found.outputs[0], np.abs(X) ** Y, rtol=1e-5)
    assert [s.queue for s in found.trace.steps if s.name == "tensor_tensor"] == ["Pool"]


def test_whole_numbers_of_32_bits_are_exact_on_gpsimd_and_rounded_on_the_vector_engine() -> None:
    x = np.full((64, 48), 2**24 + 1, np.int32)
    body = f"out = {tile((64, 48), 'int32')}\n"
    body += "nisa.tensor_tensor(dst=out, data1=tx, data2=ty, op=nl.add)"
    one = np.ones_like(x)
    assert (compute(body, x, one) == 2**24 + 2).all()
    body = body.replace("nl.add)", "nl.add, engine=nisa.engine.vector)")
    assert (compute(body, x, one) == np.float32(2**24 + 1) + np.float32(1)).all()


@pytest.mark.parametrize(
    ("name", "function"), [("bitwise_and", np.bitwise_and), ("left_shift", np.left_shift)]
)
def test_bits(name: str, function: Any) -> None:
    x = RNG.integers(0, 2**20, (64, 48)).astype(np.int32)
    body = f"out = {tile((64, 48), 'int32')}\n"
    body += f"nisa.tensor_scalar(dst=out, data=tx, op0=nl.{name}, operand0=3)"
    assert np.array_equal(compute(body, x), function(x, 3))


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "uint8", "uint32"])
def test_a_right_shift_is_logical(dtype: str) -> None:
    """ "Arithmetic Shift Right: Not supported" (NKI documentation, Supported Math Operators)."""
    x = RNG.integers(-(2**31), 2**31, (64, 48)).astype(dtype)
    body = f"out = {tile((64, 48), dtype)}\n"
    body += "nisa.tensor_scalar(dst=out, data=tx, op0=nl.right_shift, operand0=3)"
    unsigned = x.view(f"u{x.dtype.itemsize}")
    assert np.array_equal(compute(body, x), (unsigned >> 3).view(dtype))


def test_two_operators_in_either_order() -> None:
    body = (
        OUT + "nisa.tensor_scalar(dst=out, data=tx, op0=nl.subtract, operand0=ty, reverse0=True,\n"
    )
    body += "                   op1=nl.subtract, operand1=2.0, reverse1=True)"
    np.testing.assert_allclose(compute(body, X, COLUMN), 2 - (COLUMN - X), rtol=1e-6)


@pytest.mark.parametrize(
    "call",
    [
        "tensor_tensor(dst=out, data1=tx, data2=tx, op=nl.divide)",
        "tensor_tensor(dst=out, data1=tx, data2=tx, op=nl.mod)",
        "tensor_scalar(dst=out, data=tx, op0=nl.divide, operand0=2.0)",
        "tensor_scalar(dst=out, data=tx, op0=nl.power, operand0=0.5)",
        "scalar_tensor_tensor(dst=out, data=tx, op0=nl.multiply, operand0=2.0, op1=nl.power,"
        " operand1=tx)",
        "tensor_scalar(dst=out, data=tx, op0=nl.add, operand0=2.0, engine=nisa.engine.gpsimd)",
    ],
)
def test_operators_that_the_engines_have_not(call: str) -> None:
    with pytest.raises(NkiFault, match="operator"):
        compute(f"{OUT}nisa.{call}", X)


def test_a_column_and_a_tile() -> None:
    body = OUT + "nisa.scalar_tensor_tensor(dst=out, data=tx, op0=nl.multiply, operand0=tz,\n"
    body += "                          op1=nl.subtract, operand1=ty, reverse1=True)"
    np.testing.assert_allclose(compute(body, X, Y, COLUMN), Y - X * COLUMN, rtol=1e-6)


@pytest.mark.parametrize(
    ("dtype", "values", "want"),
    [
        ("int32", [0.5, 1.5, -2.5, math.nan, math.inf], [0, 2, -2, 0, 2**31 - 1]),
        ("uint8", [-1.0, 254.6, 300.0], [0, 255, 255]),
        ("bfloat16", [1 + 2**-8, 1 + 3 * 2**-8], [1.0, 1 + 2**-6]),
        ("float8_e4m3", [240.0, 1.0625], [240.0, 1.0]),
        ("tfloat32", [1 + 2**-11, 1 + 3 * 2**-11], [1.0, 1 + 2**-9]),
    ],
)
def test_copies_round_to_the_nearest_and_saturate(
    dtype: str, values: list[float], want: list[float]
) -> None:
    x = np.array([values], np.float32)
    body = f"out = {tile((1, len(values)), dtype)}\nnisa.tensor_copy(dst=out, src=tx)"
    assert compute(body, x).astype(np.float64).tolist() == [want]


@pytest.mark.parametrize(
    ("name", "function"), [("add", np.sum), ("maximum", np.max), ("minimum", np.min)]
)
def test_reductions_of_the_last_axes(name: str, function: Any) -> None:
    body = f"out = {tile((64, 6))}\n"
    body += f"nisa.tensor_reduce(dst=out, op=nl.{name}, data=tx.reshape((64, 6, 8)), axis=2)"
    np.testing.assert_allclose(compute(body, X), function(X.reshape(64, 6, 8), axis=2), rtol=1e-5)


def test_a_reduction_over_partitions() -> None:
    body = f"out = {tile((1, 48))}\nnisa.tensor_partition_reduce(dst=out, op=nl.add, data=tx)"
    np.testing.assert_allclose(compute(body, X), X.sum(0, keepdims=True), rtol=1e-4, atol=1e-5)


def test_tensor_scalar_with_a_reduction() -> None:
    body = f"o, out = {tile((64, 48))}, {tile((64, 1))}\n"
    body += "nisa.tensor_scalar_reduce(dst=o, data=tx, op0=nl.add, operand0=1.0,\n"
    body += "                          reduce_op=nl.maximum, reduce_res=out)"
    np.testing.assert_allclose(compute(body, X), X.max(1, keepdims=True) + 1)


def test_a_scan() -> None:
    body = OUT + "nisa.tensor_tensor_scan(dst=out, data0=tx, data1=ty, initial=tz,\n"
    body += "                        op0=nl.multiply, op1=nl.add)"
    want, state = np.empty_like(X), COLUMN[:, 0]
    for i in range(48):
        state = X[:, i] * state + Y[:, i]
        want[:, i] = state
    np.testing.assert_allclose(compute(body, X, Y, COLUMN), want, rtol=1e-5)


@pytest.mark.parametrize("second", [False, True])
@pytest.mark.parametrize("first", [False, True])
def test_a_scan_with_its_operands_turned_round(first: bool, second: bool) -> None:
    body = OUT + "nisa.tensor_tensor_scan(dst=out, data0=tx, data1=ty, initial=0.5,\n"
    body += f"    op0=nl.subtract, op1=nl.subtract, reverse0={first}, reverse1={second})"
    want, state = np.empty_like(X), np.full(64, 0.5, np.float32)
    for i in range(48):
        state = state - X[:, i] if first else X[:, i] - state
        state = Y[:, i] - state if second else state - Y[:, i]
        want[:, i] = state
    np.testing.assert_allclose(compute(body, X, Y), want, rtol=1e-5, atol=1e-5)


def test_statistics() -> None:
    body = f"stats, out = {tile((64, 12))}, {tile((64, 2))}\n"
    body += "nisa.bn_stats(dst=stats[0:64, 0:6], data=tx[0:64, 0:20])\n"
    body += "nisa.bn_stats(dst=stats[0:64, 6:12], data=tx[0:64, 20:48])\n"
    body += "nisa.bn_aggr(dst=out, data=stats)"
    want = np.stack([X.mean(1), X.var(1)], 1)
    np.testing.assert_allclose(compute(body, X), want, rtol=1e-4, atol=1e-6)


def test_the_eight_largest_their_places_and_their_replacement() -> None:
    body = f"top = {tile((64, 8))}\nnisa.max8(dst=top, src=tx)\n"
    found = compute(body + "out = top", X)
    assert np.array_equal(found, -np.sort(-X, axis=1)[:, :8])
    index = f"out = {tile((64, 8), 'uint32')}\nnisa.nc_find_index8(dst=out, data=tx, vals=top)"
    assert np.array_equal(compute(body + index, X), np.argsort(-X, axis=1)[:, :8])
    replace = OUT + "nisa.nc_match_replace8(dst=out, data=tx, vals=top, imm=-9.0)"
    rest = compute(body + replace, X)
    assert np.array_equal(rest, np.where(found[:, 7:8] <= X, -9, X))


def test_selections() -> None:
    keep = (X > 0).astype(np.uint8)
    body = f"o, out = {tile((64, 48))}, {tile((64, 1))}\n"
    body += "nisa.select_reduce(dst=o, predicate=tz, on_true=tx, on_false=-3.0, reduce_res=out,\n"
    body += "                   reduce_cmd=nisa.reduce_cmd.reset_reduce)"
    want = np.where(keep, X, -3).max(1, keepdims=True)
    assert np.array_equal(compute(body, X, Y, keep), want)
    body = f"low, high = {tile((64, 1))}, {tile((64, 1))}\n" + OUT
    body += "nisa.memset(dst=low, value=4.0)\nnisa.memset(dst=high, value=30.0)\n"
    body += (
        "nisa.range_select(dst=out, on_true_tile=tx, comp_op0=nl.greater_equal, comp_op1=nl.less,\n"
    )
    body += "                  bound0=low, bound1=high)"
    found = compute(body, X)
    assert np.array_equal(found[:, 4:30], X[:, 4:30])
    assert (found[:, :4] < -1e38).all()
    assert (found[:, 30:] < -1e38).all()


def test_patterns_shuffles_and_gathers() -> None:
    body = f"out = {tile((64, 48), 'int32')}\n"
    body += "nisa.iota(dst=out, pattern=[[100, 6], [-2, 8]], offset=7, channel_multiplier=1000)"
    p, i, j = np.indices((64, 6, 8))
    assert np.array_equal(compute(body, X), (7 + 1000 * p + 100 * i - 2 * j).reshape(64, 48))
    body = OUT + "nisa.nc_stream_shuffle(dst=out, src=tx, shuffle_mask=[31 - i for i in range(32)])"
    assert np.array_equal(compute(body, X), X.reshape(2, 32, 48)[:, ::-1].reshape(64, 48))
    places = RNG.integers(0, 48, (64, 48)).astype(np.uint32)
    body = OUT + "nisa.nc_n_gather(dst=out, data=tx, indices=tz)"
    assert np.array_equal(compute(body, X, Y, places), np.take_along_axis(X, places.astype(int), 1))


def test_transposes_by_three_engines() -> None:
    x = X.astype(BF16)
    for buffer, engine, rows in (("psum", "tensor", 64), ("sbuf", "vector", 32)):
        body = f"flipped = {tile((32, rows), 'bfloat16', buffer)}\n"
        body += f"out = {tile((32, rows), 'bfloat16')}\n"
        body += f"nisa.nc_transpose(dst=flipped, data=tx[0:{rows}, 0:32],\n"
        body += f"                  engine=nisa.engine.{engine})\n"
        body += "nisa.tensor_copy(dst=out, src=flipped)"
        assert np.array_equal(compute(body, x), x[:rows, :32].T)
    body = f"out = {tile((48, 64), 'bfloat16')}\nnisa.dma_transpose(dst=out, src=x, axes=(1, 0))"
    assert np.array_equal(compute(body, x), x.T)


def test_products_of_fp8_by_double_rows() -> None:
    a = RNG.standard_normal((64, 2, 16)).astype(ml_dtypes.float8_e4m3)
    b = RNG.standard_normal((64, 2, 40)).astype(ml_dtypes.float8_e5m2)
    body = f"acc, out = {tile((16, 40), buffer='psum')}, {tile((16, 40))}\n"
    body += "nisa.nc_matmul(dst=acc, stationary=tx, moving=ty, accumulate=False,\n"
    body += "               perf_mode=nisa.matmul_perf_mode.double_row)\n"
    body += "nisa.tensor_copy(dst=out, src=acc)"
    want = np.einsum("kim,kin->mn", a.astype(np.float32), b.astype(np.float32))
    np.testing.assert_allclose(compute(body, a, b), want, rtol=1e-5, atol=1e-5)


def test_sums_in_psum_keep_float32() -> None:
    """256 products of 1 and one of 2**-9: bf16 sums would lose it."""
    a = np.ones((64, 1), BF16)
    b = np.full((64, 1), 1.0, BF16)
    b[0] = BF16(2**-9)
    body = f"acc, out = {tile((1, 1), buffer='psum')}, {tile((1, 1))}\n"
    body += "for i in range(4):\n"
    body += "    nisa.nc_matmul(dst=acc, stationary=tx, moving=ty, accumulate=(i > 0))\n"
    body += "nisa.tensor_copy(dst=out, src=acc)"
    assert compute(body, a, b).item() == 4 * (63 + 2**-9)


def test_views() -> None:
    x = np.arange(64 * 48, dtype=np.float32).reshape(64, 48)
    cases = {
        "tx[0:64, 1:48:2]": x[:, 1::2],
        "tx[32:64, ...]": x[32:],
        "tx.reshape((64, 6, 8))[0:64, 2:4, 1:3]": x.reshape(64, 6, 8)[:, 2:4, 1:3],
        "tx.reshape_dim(1, (6, 8)).permute((0, 2, 1))": x.reshape(64, 6, 8).transpose(0, 2, 1),
        "tx.ap(pattern=[[48, 64], [0, 3], [1, 48]])": np.repeat(x[:, None], 3, 1),
        "tx[0:64, 0:1].broadcast(1, 5)": np.repeat(x[:, :1], 5, 1),
        "tx.expand_dim(1).squeeze_dim(1)": x,
        "tx.reshape((64, 6, 8)).flatten_dims(1, 2)": x,
        "tx[0:64, nl.ds(3, 4)]": x[:, 3:7],
    }
    for text, want in cases.items():
        body = f"view = {text}\nout = nl.ndarray(view.shape, dtype=nl.float32, buffer=nl.sbuf)\n"
        found = compute(body + "nisa.tensor_copy(dst=out, src=view)", x)
        assert np.array_equal(found, want), text


def test_bits_as_another_type() -> None:
    x = RNG.integers(0, 2**31, (64, 4)).astype(np.int32)
    body = f"out = {tile((64, 16), 'uint8')}\nnisa.tensor_copy(dst=out, src=tx.view(nl.uint8))"
    assert np.array_equal(compute(body, x), x.view(np.uint8))
    body = f"out = {tile((64, 4), 'int32')}\nt = {tile((64, 16), 'uint8')}\n"
    body += "nisa.dma_copy(dst=t, src=tx.view(nl.uint8))\n"
    body += "nisa.tensor_copy(dst=out, src=t.view(nl.int32))"
    assert np.array_equal(compute(body, x), x)


def test_rows_are_gathered_and_scattered_by_numbers() -> None:
    rows = RNG.permutation(64).astype(np.uint32)[:, None]
    body = OUT + "nisa.dma_copy(dst=out, src=x.ap(pattern=[[48, 64], [1, 48]], vector_offset=tz))"
    assert np.array_equal(compute(body, X, Y, rows), X[rows[:, 0]])
    body = f"there = {tile((64, 48), buffer='hbm')}\n"
    body += "place = there.ap(pattern=[[48, 64], [1, 48]], vector_offset=tz, indirect_dim=0)\n"
    body += "nisa.dma_copy(dst=place, src=tx)\n" + OUT + "nisa.dma_copy(dst=out, src=there)"
    want = np.empty_like(X)
    want[rows[:, 0]] = X
    assert np.array_equal(compute(body, X, Y, rows), want)
    beyond = rows.copy()
    beyond[5] = 64
    gather = "src=x.ap(pattern=[[48, 64], [1, 48]], vector_offset=tz)"
    body = OUT + "nisa.memset(dst=out, value=-1.0)\nnisa.dma_copy(dst=out, " + gather
    with pytest.raises(NkiFault, match="there is no row 64"):
        compute(body + ")", X, Y, beyond)
    found = compute(body + ", oob_mode=nisa.oob_mode.skip)", X, Y, beyond)
    assert (found[5] == -1).all()
    assert np.array_equal(found[6:], X[rows[6:, 0]])


def test_dma_engines_add_on_the_way() -> None:
    body = OUT + "nisa.dma_compute(dst=out, srcs=[x, ty, x], reduce_op=nl.add)"
    np.testing.assert_allclose(compute(body, X, Y), X + Y + X, rtol=1e-6)


def test_activations_of_v4_with_two_immediates() -> None:
    body = (
        OUT + "nisa.activate2(dst=out, op=nl.silu, data=tx, imm0=2.0, imm1=tz, op0=nl.multiply,\n"
    )
    body += "               op1=nl.subtract, reverse1=True)"
    x = COLUMN - 2 * X
    np.testing.assert_allclose(compute(body, X, Y, COLUMN, "trn3"), x * sigmoid(x), rtol=1e-4)
    with pytest.raises(NkiFault, match="NeuronCore-v4"):
        compute(body, X, Y, COLUMN)


def test_a_cumulative_sum_that_goes_on_in_the_next_instruction() -> None:
    body = (
        OUT + "nisa.tensor_scalar_cumulative(dst=out[0:64, 0:20], src=tx[0:64, 0:20], op0=nl.add,\n"
    )
    body += "    op1=nl.add, imm0=1.0)\n"
    body += "nisa.tensor_scalar_cumulative(dst=out[0:64, 20:48], src=tx[0:64, 20:48], op0=nl.add,\n"
    body += "    op1=nl.add, imm0=1.0, reduce_cmd=nisa.reduce_cmd.reduce)"
    np.testing.assert_allclose(compute(body, X), np.cumsum(X + 1, axis=1), rtol=1e-4)


def test_a_register_is_an_index_of_a_tensor_in_hbm() -> None:
    body = f"number = {tile((1, 1), 'int32')}\nnisa.memset(dst=number, value=3)\n"
    body += "row = nisa.register_alloc()\nnisa.register_load(row, number)\n"
    body += f"out = {tile((1, 48))}\nnisa.dma_copy(dst=out, src=x[row, 0:48])"
    assert np.array_equal(compute(body, X), X[3:4])
