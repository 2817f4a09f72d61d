"""Contiguity, vector width, bank conflicts and conversions."""

import random

import numpy as np
import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.layout import (
    Conversion,
    Layout,
    addresses,
    bank_conflicts,
    bits_per_thread,
    column_local,
    column_spatial,
    contiguity,
    conversion,
    local,
    locate,
    parse_layout,
    replicate,
    reshape,
    slice_tile,
    spatial,
    swizzle,
    vector_width,
)
from dslc.compiler.targets import TARGETS
from hypothesis import assume, given
from hypothesis import strategies as st

LAYOUT = st.from_type(Layout)
CUDA = TARGETS["cuda:sm_90a"].banks
BANKS = [t.banks for t in TARGETS.values() if t.banks is not None]


def memory_for(f: Layout, seed: int) -> Layout:
    """Some memory layout of f's shape."""
    dice = random.Random(seed)
    memory = dice.choice([local(*f.shape), column_local(*f.shape)])
    for dim in range(f.rank):
        source = dim - 1 if dim else 1
        if f.rank > 1 and f.shape[dim] % 2 == 0 and f.shape[source] > 1 and dice.random() < 0.4:
            memory = swizzle(memory, dim, 0)
    return memory


@given(LAYOUT, st.integers(0, 99))
def test_addresses_are_those_of_the_memory(f, seed):
    memory = memory_for(f, seed)
    found = addresses(f, memory)
    for t in range(f.threads):
        for i in range(f.locals):
            assert memory.index(0, int(found[t, i])) == f.index(t, i)


@given(LAYOUT, st.integers(0, 99))
def test_contiguity_is_the_longest_aligned_run(f, seed):
    memory = memory_for(f, seed)
    table = addresses(f, memory)

    def is_run(count):
        if f.locals % count:
            return False
        return all(
            row[j] % count == 0 and row[j + k] == row[j] + k
            for row in table.tolist()
            for j in range(0, f.locals, count)
            for k in range(count)
        )

    assert contiguity(f, memory) == max(c for c in range(1, f.locals + 1) if is_run(c))


def test_known_vector_widths():
    operand = parse_layout("local(2, 1).spatial(8, 4).local(1, 2)")
    assert contiguity(operand) == 2
    assert vector_width(operand, local(16, 8), 16) == 2
    assert vector_width(operand, column_local(16, 8), 16) == 1
    row = spatial(8, 4).local(1, 16)
    assert vector_width(row, local(8, 64), 16) == 8
    assert vector_width(row, local(8, 64), 16, max_bits=64) == 4
    assert vector_width(row, local(8, 64), 4) == 16
    assert vector_width(row, local(8, 64), 6) == 1
    assert vector_width(spatial(8, 4).local(1, 3), None, 32) == 1
    assert vector_width(spatial(8, 1).local(1, 8), local(3, 16, 64), 16, offset=(2, 8, 56)) == 8
    assert bits_per_thread(operand, 6) == 24


def test_without_a_memory_layout_only_the_last_axis_is_contiguous():
    assert contiguity(local(4, 4)) == 4
    assert contiguity(local(4, 4), local(4, 4)) == 16
    assert contiguity(column_local(4, 4)) == 1
    assert contiguity(spatial(2).local(3)) == 3


@pytest.mark.parametrize(
    ("register", "memory", "offset"),
    [
        (local(2, 2), spatial(2, 2), None),
        (local(2, 2), local(2), None),
        (local(4), local(2), None),
        (local(4), local(6), (3,)),
        (local(4), local(6), (0, 0)),
    ],
)
def test_a_tile_outside_its_memory_is_an_error(register, memory, offset):
    with pytest.raises(DiagnosticError, match="DSL0313"):
        addresses(register, memory, offset)


def simulate(f, memory, bits, model, store, width):
    """Cycles and ways, phase by phase and lane by lane, from the definition."""
    size = width * bits // 8
    row = model.access(width * bits, store)
    cycles = []
    for warp in range(0, f.threads, model.warp_size):
        for j in range(0, f.locals, width):
            for phase in row.phases:
                words = {bank: set() for bank in range(row.banks)}
                for lane in phase:
                    if warp + lane >= f.threads:
                        continue
                    (_, first) = locate(memory, f.index(warp + lane, j))
                    start = first * bits // 8
                    for byte in range(start, start + size):
                        word = byte // model.word_bytes
                        words[word % row.banks].add(word)
                busiest = max(len(w) for w in words.values())
                if busiest:
                    cycles.append(busiest)
    return max(cycles), sum(cycles), len(cycles)


@given(
    st.sampled_from(
        [
            "spatial(8, 4).local(1, 2)",
            "local(2, 1).spatial(8, 4).local(1, 2)",
            "spatial(16, 4).local(1, 8)",
            "column_spatial(16, 4).local(1, 8)",
            "spatial(2, 1).local(2, 1).column_spatial(4, 8).local(2, 1)",
            "replicate(2).spatial(4, 8)",
            "spatial(4, 3).local(1, 4)",
            "spatial(32, 1).local(1, 8)",
        ]
    ),
    st.integers(0, 99),
    st.sampled_from([8, 16, 32, 64]),
    st.sampled_from(range(len(BANKS))),
    st.booleans(),
)
def test_conflicts_are_those_of_a_simulation(text, seed, bits, which, store):
    f, model = parse_layout(text), BANKS[which]
    memory = memory_for(f, seed)
    width = vector_width(f, memory, bits, model.max_bits)
    found = bank_conflicts(f, memory, bits, model, store=store)
    assert found.access_bits == width * bits
    assert (found.ways, found.cycles, found.phases) == simulate(
        f, memory, bits, model, store, width
    )


def test_known_conflicts():
    rows = spatial(8, 1).local(1, 8)  # eight rows of 16 bytes: a phase of ldmatrix
    assert bank_conflicts(rows, local(16, 64), 16, CUDA, (0, 0)).ways == 8
    assert bank_conflicts(rows, local(16, 32), 16, CUDA, (0, 0)).ways == 4
    swizzled = swizzle(local(16, 8), dim=1).local(1, 8)
    for k in range(0, 64, 8):
        assert bank_conflicts(rows, swizzled, 16, CUDA, (8, k)).ways == 1
    assert bank_conflicts(spatial(32), local(32), 32, CUDA).ways == 1
    assert bank_conflicts(spatial(32), local(32), 8, CUDA).ways == 1
    column = spatial(32, 1)
    assert bank_conflicts(column, local(32, 32), 32, CUDA, (0, 0)).ways == 32
    assert bank_conflicts(replicate(32), local(1), 32, CUDA).ways == 1
    assert bank_conflicts(spatial(32).local(4), local(128), 32, CUDA).cycles == 4


@pytest.mark.parametrize(
    ("target", "tile_k", "plain_ways", "ways"),
    [
        ("hip:gfx942", 32, 2, 1),
        ("hip:gfx942", 64, 4, 1),
        ("hip:gfx942", 128, 4, 1),
        ("hip:gfx942", 256, 4, 1),
        ("hip:gfx950", 32, 2, 2),
        ("hip:gfx950", 64, 4, 1),
        ("hip:gfx950", 128, 8, 1),
        ("hip:gfx950", 256, 8, 1),
    ],
)
def test_the_swizzle_of_the_gemm_on_amd(target, tile_k, plain_ways, ways):
    """16-byte chunk ^= row % chunks, read as an MFMA operand: the counts known of the machines."""
    chunks = tile_k * 2 // 16
    rows = max(16, chunks)
    banks = TARGETS[target].banks
    operand = column_spatial(16, 4).local(1, 8)
    swizzled = swizzle(local(rows, chunks), dim=1).local(1, 8)
    assert bank_conflicts(operand, swizzled, 16, banks, (0, 0)).ways == ways
    assert bank_conflicts(operand, local(rows, tile_k), 16, banks, (0, 0)).ways == plain_ways


def test_accesses_that_no_machine_has():
    with pytest.raises(DiagnosticError, match="DSL0314"):
        bank_conflicts(spatial(32), local(32), 4, CUDA)
    with pytest.raises(DiagnosticError, match="DSL0314"):
        bank_conflicts(local(4), local(4), 16, CUDA, width=3)
    with pytest.raises(DiagnosticError, match="DSL0314"):
        bank_conflicts(local(4), local(4), 64, CUDA, width=4)


@given(LAYOUT, st.data())
def test_conversion_is_by_who_holds_what(f, data):
    kinds = [local(f.elements), spatial(f.elements), f, swizzle_free_copy(f)]
    pick = data.draw(st.sampled_from(kinds))
    g = pick if pick.shape == f.shape else reshape(pick, f.shape)
    warp = data.draw(st.sampled_from([1, 2, 4, 32]))
    held = [{f.index(t, i) for i in range(f.locals)} for t in range(f.threads)]
    want = [{g.index(t, i) for i in range(g.locals)} for t in range(g.threads)]

    def served(group):
        for t, wanted in enumerate(want):
            start = t // group * group
            if not wanted <= set().union(*held[start : start + group]):
                return False
        return True

    if f == g:
        expected = Conversion.NONE
    elif served(1):
        expected = Conversion.REGISTERS
    elif served(warp):
        expected = Conversion.SHUFFLE
    else:
        expected = Conversion.SHARED
    assert conversion(f, g, warp) is expected


def swizzle_free_copy(f: Layout) -> Layout:
    return Layout(f.shape, f.spatial_modes, tuple(reversed(f.local_modes)))


def test_known_conversions():
    c = parse_layout("local(2, 1).spatial(8, 4).local(1, 2)")
    assert conversion(c, c) is Conversion.NONE
    other_order = parse_layout("spatial(8, 4).local(1, 2)")
    c_rows = other_order * local(2, 1)
    moved = parse_layout("spatial(8, 4).local(2, 1)")
    moved_other = parse_layout("spatial(8, 4).column_local(2, 1)")
    assert conversion(moved, moved_other) is Conversion.NONE
    assert conversion(spatial(2, 2).local(2, 2), spatial(2, 2).column_local(2, 2)) is (
        Conversion.REGISTERS
    )
    assert c_rows.shape == c.shape
    assert conversion(c, c_rows) is Conversion.SHUFFLE
    assert conversion(spatial(64), local(2).spatial(32)) is Conversion.SHARED
    assert conversion(spatial(64), local(2).spatial(32), 64) is Conversion.SHUFFLE
    assert conversion(replicate(4) * local(4), spatial(4)) is Conversion.REGISTERS
    with pytest.raises(DiagnosticError, match="DSL0302"):
        conversion(local(2), local(3))


def test_the_operand_swap_needs_no_conversion():
    """Two accumulators side by side are the A operand of the next product."""
    c = parse_layout("local(1, 2).local(2, 1).spatial(8, 4).local(1, 2)")
    a = parse_layout("column_local(2, 2).spatial(8, 4).local(1, 2)")
    assert conversion(c, a) is Conversion.NONE


@given(LAYOUT, st.integers(0, 20))
def test_an_offset_is_a_slice(f, seed):
    assume(f.elements <= 64)
    count = 1 + seed % 3
    ring = local(count, *[1] * f.rank) * memory_for(f, seed)
    for stage in range(count):
        part = slice_tile(ring, 0, stage, 1)
        offset = (stage, *[0] * f.rank)
        whole = addresses(f, ring, offset)
        np.testing.assert_array_equal(whole - stage * f.elements, addresses(f, part))
