"""Every layout of the Tilus paper, against what its figures say of it."""

import numpy as np
from dslc.compiler.layout import (
    bank_conflicts,
    bits_per_thread,
    column_spatial,
    conversion,
    local,
    parse_layout,
    reduce,
    spatial,
    vector_width,
)
from dslc.compiler.layout.conversions import Conversion
from dslc.compiler.targets import TARGETS

CUDA = TARGETS["cuda:sm_90a"].banks


def test_figure_3_operand_of_a_tensor_core():
    f = parse_layout("local(2, 1).spatial(8, 4).local(1, 2)")
    assert (f.shape, f.threads, f.locals) == ((16, 8), 32, 4)
    for t in range(32):
        for i in range(4):
            assert f.index(t, i) == (t // 4 + i // 2 * 8, t % 4 * 2 + i % 2)


def test_figure_4_primitives():
    for k in range(6):
        assert local(2, 3).index(0, k) == (k // 3, k % 3)
        assert spatial(2, 3).index(k, 0) == (k // 3, k % 3)


def test_figure_5_composition():
    # (c) has shape (4, 6): six threads, four elements each; its lower half holds a2 and a3.
    a, b = local(2, 1), spatial(2, 3).local(1, 2)
    c = a * b
    assert (c.shape, c.threads, c.locals) == ((4, 6), 6, 4)
    for t in range(6):
        for i in range(4):
            high = np.array(a.index(t // 6, i // 2)) * (2, 6)
            assert c.index(t, i) == tuple(high + np.array(b.index(t % 6, i % 2)))
    # (e): column_spatial is a chain of row-major primitives.
    assert spatial(1, 3).spatial(2, 1) == column_spatial(2, 3)


def test_figures_2_and_8_weights_as_bytes():
    a = parse_layout("column_local(2, 2).spatial(8, 4).local(1, 2)")
    b = parse_layout("local(2, 1).column_spatial(4, 8).local(2, 1)")
    stored = parse_layout("local(3).spatial(32)")
    assert (a.shape, a.threads, a.locals) == ((16, 16), 32, 8)
    assert (b.shape, b.threads, b.locals) == ((16, 8), 32, 4)
    assert bits_per_thread(b, 6) == bits_per_thread(stored, 8) == 24
    assert stored.threads == b.threads
    assert stored.elements * 8 == b.elements * 6


def test_figure_14_registers():
    a = parse_layout(
        "reduce(spatial(1, 1, 4), dims=[2]).local(1, 4).column_local(2, 2).spatial(8, 4).local(1, 2)"
    )
    b = parse_layout("spatial(1, 4).local(4, 1).local(2, 1).column_spatial(4, 8).local(2, 1)")
    c = parse_layout("spatial(1, 4).local(2, 1).spatial(8, 4).local(1, 2)")
    b_stored = parse_layout("spatial(4).local(3).spatial(32)")
    assert (a.shape, a.threads, a.locals, a.replication) == ((16, 64), 128, 32, 4)
    assert (b.shape, b.threads, b.locals) == ((64, 32), 128, 16)
    assert (c.shape, c.threads, c.locals) == ((16, 32), 128, 4)
    assert (b_stored.shape, b_stored.threads, b_stored.locals) == ((384,), 128, 3)
    assert bits_per_thread(b, 6) == bits_per_thread(b_stored, 32) == 96
    # The product over a warp is the atom's, repeated.
    atom = TARGETS["cuda:sm_80"].atom("mma.m16n8k16")
    assert a / atom.a == parse_layout("replicate(4, rank=2).local(1, 4)")
    assert b / atom.b == spatial(1, 4).local(4, 1)
    assert c / atom.c == spatial(1, 4)
    assert reduce(a, dims=[0, 1]).threads == 128
    assert conversion(c, c) is Conversion.NONE


def test_figure_14_shared_memory():
    smem_a = local(3, 1, 1).swizzle(local(16, 32), dim=1).local(1, 8)
    smem_b = local(3, 1536)
    smem_c = local(1, 2).swizzle(local(16, 4), dim=1, log_step=1).local(1, 8)
    assert smem_a.shape == (3, 16, 256)
    assert smem_b.shape == (3, 1536)
    assert smem_c.shape == (16, 64)
    for i in range(0, smem_a.locals, 13):
        stage, rest = divmod(i, 16 * 256)
        row, column = divmod(rest, 256)
        chunk, part = divmod(column, 8)
        assert smem_a.index(0, i) == (stage, row, (chunk ^ row) * 8 + part)
    for i in range(smem_c.locals):
        outer, rest = divmod(i, 16 * 32)
        row, column = divmod(rest, 32)
        chunk, part = divmod(column, 8)
        assert smem_c.index(0, i) == (row, outer * 32 + (chunk ^ (row >> 1) % 4) * 8 + part)


def test_figure_14_is_free_of_conflicts():
    smem_a = local(3, 1, 1).swizzle(local(16, 32), dim=1).local(1, 8)
    plain = local(3, 16, 256)
    # Eight rows of 16 bytes each: what one phase of ldmatrix reads, at every place of the operand.
    rows = spatial(8, 1).local(1, 8)
    for row in (0, 8):
        for column in range(0, 256, 8):
            at = (2, row, column)
            assert bank_conflicts(rows, smem_a, 16, CUDA, at).ways == 1
            assert bank_conflicts(rows, plain, 16, CUDA, at).ways == 8
    # The copy from global memory: 128 threads, 16 bytes each, 32 threads a row.
    copy = spatial(4, 32).local(1, 8)
    assert vector_width(copy, smem_a, 16, 128, (0, 4, 0)) == 8
    assert bank_conflicts(copy, smem_a, 16, CUDA, (0, 4, 0), store=True).ways == 1
