"""Loads, stores, gathers, scatters and atomic additions: edges, strides, packed bits."""

import numpy as np
import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.dtypes import decode, encode, pack_bits, storage_dtype, unpack_bits
from dslc.compiler.interpreter import Options, run
from dslc.compiler.ir import Role
from dslc.compiler.ir import instructions as ins
from hypothesis import given, settings
from hypothesis import strategies as st

from support.building import Builder, at, const, dt, random_codes, var, whole


def test_a_read_past_the_edge_gives_zero_and_a_write_is_dropped():
    b = Builder()
    m, n = var("M"), var("N")
    x, y = b.tensor("x", "f16", [m, n]), b.out("y", "f16", [m, n])
    i, j = var("i"), var("j")
    t = b.load(at(x, (i, 4), (j, 3)))
    b.store(at(y, (i, 4), (j, 3)), b.binary("add", t, b.full("f16", (4, 3), 1.0)))
    k = b.kernel(grid=[("i", 0, m, 4), ("j", 0, n, 3)])
    for shape in [(4, 3), (7, 8), (1, 1), (9, 2), (0, 5), (5, 0)]:
        a = np.arange(np.prod(shape)).reshape(shape).astype(np.float16)
        found = np.full(shape, 99, np.float16)
        run(k, {"x": a, "y": found})
        np.testing.assert_array_equal(found, a + 1)


@settings(max_examples=200)
@given(
    extent=st.integers(0, 7), start=st.integers(-9, 9), size=st.integers(1, 5),
    step=st.integers(1, 3), other=st.sampled_from([None, 7]), drop=st.integers(-2, 4),
)  # fmt: skip
def test_a_load_is_indexing_with_a_fill(extent, start, size, step, other, drop):
    b = Builder()
    x = b.tensor("x", "i32", [3, var("N")])
    s = b.integer("s")
    fill = None if other is None else const(other, "i32")
    t = b.load(at(x, drop, (s, size, step)), fill)
    b.store(whole(b.out("y", "i32", [size])), t)
    codes = np.arange(3 * extent, dtype=np.int32).reshape(3, extent) + 100
    found = np.empty(size, np.int32)
    run(b.kernel(), {"x": codes, "s": start, "y": found})
    wanted = [
        codes[drop, i] if 0 <= i < extent and 0 <= drop < 3 else (other or 0)
        for i in range(start, start + size * step, step)
    ]
    assert found.tolist() == wanted


@settings(max_examples=200)
@given(extent=st.integers(0, 7), start=st.integers(-9, 9), size=st.integers(1, 5),
       step=st.integers(1, 3))  # fmt: skip
def test_a_store_is_assignment_to_the_part_in_bounds(extent, start, size, step):
    b = Builder()
    y = b.tensor("y", "i32", [var("N")], Role.INOUT)
    s = b.integer("s")
    b.store(at(y, (s, size, step)), b.arange(size))
    found = np.full(extent, -1, np.int32)
    run(b.kernel(), {"s": start, "y": found})
    wanted = [-1] * extent
    for n in range(size):
        if 0 <= start + n * step < extent:
            wanted[start + n * step] = n
    assert found.tolist() == wanted


def test_out_of_bounds_on_an_unchecked_axis_is_an_error():
    b = Builder()
    x, y = b.tensor("x", "f32", [var("N")]), b.out("y", "f32", [4])
    b.store(whole(y), b.load(at(x, (2, 4), checked=False)))
    k = b.kernel()
    run(k, {"x": np.zeros(6, np.float32), "y": np.zeros(4, np.float32)})
    with pytest.raises(DiagnosticError) as caught:
        run(k, {"x": np.zeros(5, np.float32), "y": np.zeros(4, np.float32)})
    assert caught.value.summary == (
        "t.tile:1:1: error[DSL0601]: the read reaches out of bounds: axis 0 of x has 5 elements, "
        "the access takes 2 to 5"
    )


@pytest.mark.parametrize("dtype", ["f16", "bf16", "u4", "i5", "f6e3m2", "f8e4m3", "bool", "i64"])
def test_strided_and_transposed_arrays_work(dtype):
    rng = np.random.default_rng(1)
    x = random_codes(dt(dtype), (12, 10), rng)[::2, ::-1].T
    base = np.zeros((20, 6), storage_dtype(dt(dtype)))
    b = Builder()
    b.store(whole(b.out("y", dtype, [10, 6])), b.load(whole(b.tensor("x", dtype, [10, 6]))))
    run(b.kernel(), {"x": x, "y": base[::2]})
    np.testing.assert_array_equal(base[::2], x)
    assert not base[1::2].any()


def test_a_loaded_tile_keeps_its_value_when_the_memory_changes():
    b = Builder()
    y = b.tensor("y", "f32", [4], Role.INOUT)
    before = b.load(whole(y))
    b.store(whole(y), b.full("f32", (4,), 0.0))
    b.store(whole(y), b.binary("add", before, b.load(whole(y))))
    array = np.arange(4, dtype=np.float32)
    run(b.kernel(), {"y": array})
    np.testing.assert_array_equal(array, np.arange(4))


def test_an_input_that_shares_its_memory_with_an_output_is_not_seen_changing():
    b = Builder()
    x, y = b.tensor("x", "f32", [4]), b.out("y", "f32", [4])
    tile = b.load(whole(x))
    b.store(whole(y), b.full("f32", (4,), 5.0))
    b.store(whole(y), tile)
    array = np.arange(4, dtype=np.float32)
    run(b.kernel(), {"x": array, "y": array})
    np.testing.assert_array_equal(array, np.arange(4))


@pytest.mark.parametrize("dtype", ["u3", "i5", "u4", "f6e3m2", "i1", "u7"])
def test_packed_row_takes_bytes_or_codes_and_writes_bytes_back(dtype):
    d = dt(dtype)
    codes = random_codes(d, (3, 5), np.random.default_rng(2))
    b = Builder()
    m = var("M")
    x = b.tensor("x", dtype, [m, 5], packed="row")
    b.tensor("n", "i8", [m])
    y = b.out("y", dtype, [m, 5], packed="row")
    b.store(at(y, (0, 2), (0, 5)), b.load(at(x, (0, 2), (0, 5))))
    b.store(at(y, (2, 2), (1, 4)), b.load(at(x, (2, 2), (1, 4))))
    bits = pack_bits(codes, d.bits)
    for given_x in (codes, bits):
        found = np.full(bits.size, 0xFF, np.uint8)
        run(b.kernel(), {"x": given_x, "n": np.zeros(3, np.int8), "y": found})
        wanted = codes.copy()
        wanted[2, 0] = unpack_bits(np.full(8, 0xFF, np.uint8), d.bits, 1, codes.dtype == np.int8)[0]
        unpacked = unpack_bits(found, d.bits, 15, codes.dtype == np.int8)
        np.testing.assert_array_equal(unpacked.reshape(3, 5), wanted)


def test_packed_row_with_one_axis_is_told_by_its_size():
    b = Builder()
    n = var("N")
    x, y = b.tensor("x", "u4", [n], packed="row"), b.out("y", "i32", [n])
    b.store(at(y, (0, 8)), b.cast(b.load(at(x, (0, 8))), "i32"))
    codes = np.array([1, 2, 3, 4, 5], np.uint8)
    for given_x in (codes, pack_bits(codes, 4)):
        found = np.zeros(5, np.int32)
        run(b.kernel(), {"x": given_x, "y": found})
        assert found.tolist() == [1, 2, 3, 4, 5]
    with pytest.raises(DiagnosticError, match=r"DSL0752.*4 packed bytes, expected 3"):
        run(b.kernel(), {"x": np.zeros(4, np.uint8), "y": np.zeros(5, np.int32)})


def test_gather_reads_rows_and_zero_out_of_range():
    b = Builder()
    x, y = b.tensor("x", "f16", [var("V"), 6]), b.out("y", "f16", [2, 3, 4])
    ids = b.load(whole(b.tensor("ids", "i32", [2, 3])))
    out = b.value("f16", (2, 3, 4))
    b.add(ins.Gather(out, at(x, (0, 1), (4, 4)), (ids,), (0,), loc=b.loc()))
    b.store(whole(y), out)
    table = np.arange(30, dtype=np.float16).reshape(5, 6) + 1
    rows = np.array([[0, 4, -1], [5, 2, 2]], np.int32)
    found = np.empty((2, 3, 4), np.float16)
    run(b.kernel(), {"x": table, "ids": rows, "y": found})
    wanted = np.zeros((2, 3, 4), np.float16)
    for i, j in np.ndindex(2, 3):
        if 0 <= rows[i, j] < 5:
            wanted[i, j, :2] = table[rows[i, j], 4:]
    np.testing.assert_array_equal(found, wanted)


def test_gather_along_the_last_axis_with_a_start_and_a_dropped_axis():
    b = Builder()
    x, y = b.tensor("x", "i32", [2, 3, 8]), b.out("y", "i32", [3, 4])
    ids = b.load(whole(b.tensor("ids", "i32", [4])))
    out = b.value("i32", (3, 4))
    b.add(ins.Gather(out, at(x, 1, (0, 3), (2, 1)), (ids,), (2,)))
    b.store(whole(y), out)
    table = np.arange(48, dtype=np.int32).reshape(2, 3, 8)
    found = np.empty((3, 4), np.int32)
    run(b.kernel(), {"x": table, "ids": np.array([0, 5, 1, 0], np.int32), "y": found})
    np.testing.assert_array_equal(found, table[1][:, [2, 7, 3, 2]])


def test_gather_by_a_single_id():
    b = Builder()
    x, y = b.tensor("x", "i32", [5]), b.out("y", "i32", [1])
    n = b.load(at(b.tensor("ids", "i32", [1]), 0))
    out = b.value("i32", ())
    b.add(ins.Gather(out, at(x, (0, 1)), (n,), (0,)))
    b.store(whole(y), b.broadcast(out, (1,)))
    found = np.empty(1, np.int32)
    run(
        b.kernel(),
        {"x": np.arange(5, dtype=np.int32) * 3, "ids": np.array([4], np.int32), "y": found},
    )
    assert found.tolist() == [12]


def scatter():
    b = Builder()
    y = b.tensor("y", "f32", [5, 3], Role.INOUT)
    ids = b.load(whole(b.tensor("ids", "i32", [4])))
    b.add(ins.Scatter(at(y, (0, 1), (1, 3)), b.load(whole(b.tensor("x", "f32", [4, 3]))), (ids,), (0,),
                      loc=b.loc()))  # fmt: skip
    return b.kernel()


def test_scatter_writes_rows_and_drops_what_is_out_of_range():
    x = np.arange(12, dtype=np.float32).reshape(4, 3) + 1
    y = np.zeros((5, 3), np.float32)
    run(scatter(), {"x": x, "ids": np.array([3, -1, 0, 9], np.int32), "y": y})
    wanted = np.zeros((5, 3), np.float32)
    wanted[3, 1:], wanted[0, 1:] = x[0, :2], x[2, :2]
    np.testing.assert_array_equal(y, wanted)


def test_equal_ids_in_one_scatter_are_a_race():
    args = {"x": np.zeros((4, 3), np.float32), "y": np.zeros((5, 3), np.float32)}
    with pytest.raises(DiagnosticError) as caught:
        run(scatter(), {**args, "ids": np.array([3, 1, 3, 0], np.int32)})
    assert caught.value.summary == (
        "t.tile:3:1: error[DSL0606]: row 3 of y is written more than once by one scatter, "
        "in the only turn"
    )
    run(scatter(), {**args, "ids": np.array([9, 9, -1, -1], np.int32)})
    run(scatter(), {**args, "ids": np.array([3, 1, 3, 0], np.int32)}, Options(check=False))


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "i8", "i32", "u4"])
def test_atomic_add_rounds_and_wraps_in_the_dtype_of_the_memory(dtype):
    d = dt(dtype)
    rng = np.random.default_rng(3)
    x, y = random_codes(d, (8, 4), rng), random_codes(d, (4,), rng)
    b = Builder()
    total = b.tensor("y", dtype, [4], Role.INOUT)
    b.atomic_add(whole(total), b.load(at(b.tensor("x", dtype, [8, 4]), var("i"), (0, 4))))
    wanted = decode(y, d)
    for row in x:
        wide = wanted.astype(np.int64) if d.is_integer else wanted
        wanted = decode(encode(wide + decode(row, d), d), d)
    run(b.kernel(grid=[("i", 0, 8, 1)]), {"x": x, "y": y})
    np.testing.assert_array_equal(decode(y, d), wanted)


def test_atomic_add_gives_what_stood_there():
    b = Builder()
    y = b.tensor("y", "i32", [3], Role.INOUT)
    before = b.atomic_add(at(y, (1, 4)), b.full("i32", (4,), 10), out=True)
    b.store(whole(b.out("z", "i32", [4])), before)
    array, found = np.array([1, 2, 3], np.int32), np.empty(4, np.int32)
    run(b.kernel(), {"y": array, "z": found})
    assert array.tolist() == [1, 12, 13]
    assert found.tolist() == [2, 3, 0, 0]


def test_a_buffer_holds_codes_of_its_dtype():
    b = Builder()
    buffer = b.buffer("s", "f16", [2, 4], place=None)
    b.store(whole(buffer), b.load(whole(b.tensor("x", "f16", [2, 4]))))
    b.store(whole(b.out("y", "f16", [4])), b.load(at(buffer, 1, (0, 4))))
    x, found = np.arange(8, dtype=np.float16).reshape(2, 4), np.empty(4, np.float16)
    run(b.kernel(), {"x": x, "y": found})
    np.testing.assert_array_equal(found, x[1])
