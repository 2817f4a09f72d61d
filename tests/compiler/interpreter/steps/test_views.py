"""View: bits of each thread in the order of its local elements, against a big-integer oracle."""

import numpy as np
import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.dtypes import storage_dtype
from dslc.compiler.interpreter import run
from dslc.compiler.ir import instructions as ins
from dslc.compiler.layout import column_local, local, replicate, spatial

from support.building import Builder, dt, random_codes, whole


def oracle(codes, src, before, dst, after):
    """By the definition: pack each thread's codes into one number, cut it into new codes."""
    table, target = before.table(), after.table()
    out = np.zeros(after.shape, np.int64)
    unsigned = codes.astype(object)
    if src.bits >= 8 and codes.dtype.kind not in "iu":
        unsigned = codes.view(f"u{codes.dtype.itemsize}").astype(object)
    for thread in range(len(table)):
        bits = 0
        for i, index in enumerate(table[thread]):
            bits |= (int(unsigned[tuple(index)]) & ((1 << src.bits) - 1)) << (i * src.bits)
        for i, index in enumerate(target[thread]):
            out[tuple(index)] = bits >> (i * dst.bits) & ((1 << dst.bits) - 1)
    return out


def through(codes, src, before, dst, after):
    b = Builder()
    x = b.load(whole(b.tensor("x", src, before.shape)), layout=before)
    out = b.add(ins.View(b.value(dst, after.shape, after), x, loc=b.loc()))
    b.store(whole(b.out("y", dst, after.shape)), out)
    y = np.zeros(after.shape, storage_dtype(dt(dst)))
    run(b.kernel(), {"x": codes, "y": y})
    return y


CASES = [
    ("u8", local(3).spatial(32).local(16), "i6", local(2, 1).spatial(8, 4).local(4, 8)),
    ("u8", local(2).spatial(8).local(4), "u4", column_local(2, 4).spatial(4, 2).local(1, 2)),
    ("u8", spatial(4).local(6), "f6e3m2", spatial(4).local(8)),
    ("u8", spatial(4).local(3), "u3", spatial(4).local(8)),
    ("i8", spatial(4).local(8), "f16", spatial(2, 2).local(2, 2)),
    ("u16", spatial(4).local(2), "f32", local(1, 1).spatial(2, 2)),
    ("f16", spatial(4).local(2), "u32", spatial(4)),
    ("i1", spatial(2).local(8), "u8", spatial(2)),
    ("u5", spatial(2).local(3), "u3", spatial(2).local(5)),
]


@pytest.mark.parametrize(("src", "before", "dst", "after"), CASES)
def test_view_keeps_each_threads_bits(src, before, dst, after):
    codes = random_codes(dt(src), before.shape, np.random.default_rng(0))
    found = through(codes, src, before, dst, after)
    wanted = oracle(codes, dt(src), before, dt(dst), after)
    if found.dtype.kind == "f":
        found = found.view(f"u{found.dtype.itemsize}")
    np.testing.assert_array_equal(found.astype(np.int64) & ((1 << dt(dst).bits) - 1), wanted)
    back = through(through(codes, src, before, dst, after), dst, after, src, before)
    np.testing.assert_array_equal(back, codes)


def test_view_of_a_replicated_layout_takes_the_first_replica():
    twice = spatial(4).local(2) * replicate(2, rank=1)
    codes = np.arange(8, dtype=np.uint8)
    found = through(codes, "u8", twice, "u16", spatial(4) * replicate(2, rank=1))
    np.testing.assert_array_equal(found, codes.view("<u2"))


def test_view_without_layouts_is_of_one_thread_in_row_major_order():
    b = Builder()
    x = b.load(whole(b.tensor("x", "u8", [2, 3])))
    out = b.add(ins.View(b.value("u4", (2, 6)), x))
    b.store(whole(b.out("y", "u4", [2, 6])), out)
    y = np.zeros((2, 6), np.uint8)
    run(b.kernel(), {"x": np.array([[0x21, 0x43, 0x65], [0x87, 0xA9, 0xCB]], np.uint8), "y": y})
    assert y.reshape(-1).tolist() == list(range(1, 13))


def test_a_view_of_undefined_bits_is_undefined_where_any_bit_is():
    b = Builder()
    halves = b.add(ins.Concat(b.value("u8", (4,), name="r"), (
        b.full("u8", (3,), 1), b.undefined("u8", (1,))), 0))  # fmt: skip
    wide = b.add(ins.View(b.value("u16", (2,), name="wide"), halves))
    first = b.add(ins.Extract(b.value("u16", (1,)), wide, (0,), (1,)))
    b.store(whole(b.out("y", "u16", [1])), first)
    y = np.zeros(1, np.uint16)
    run(b.kernel(), {"y": y})
    assert y[0] == 0x0101
    b.unary("neg", wide)
    with pytest.raises(DiagnosticError, match=r"element \[1\] of the register tile wide"):
        run(b.kernel(), {"y": y})
