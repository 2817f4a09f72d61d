"""Targets are found by name; their data agree with themselves and with the machines' formulas."""

import re

import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.diagnostics.catalogue import entries
from dslc.compiler.dtypes import parse_dtype
from dslc.compiler.layout import permute
from dslc.compiler.targets import TARGETS, Atom, find_target, listed_as
from dslc.compiler.targets.cuda import wgmma
from dslc.compiler.targets.nki import nc_matmul

ATOMS = {atom.name: atom for target in TARGETS.values() for atom in target.atoms}


def names(prefix: str) -> list[str]:
    found = [name for name in ATOMS if name.startswith(prefix)]
    assert found
    return found


@pytest.mark.parametrize("name", TARGETS)
def test_every_target_is_found(name):
    target = find_target(name)
    assert target.name == name
    assert target.family == name.split(":")[0]
    assert all(m.bytes > 0 for m in target.memories)
    assert len({a.name for a in target.atoms}) == len(target.atoms)
    for atom in target.atoms:
        assert target.atom(atom.name) is atom
    for memory in target.memories:
        assert target.memory(memory.name) is memory


def test_a_gpu_may_have_another_number_of_multiprocessors():
    usual, fewer = find_target("cuda:sm_90a"), find_target("cuda:sm_90a.78")
    assert (fewer.units, fewer.chip, usual.chip) == (78, "sm_90a", "sm_90a")
    assert fewer.rates == usual.rates
    assert listed_as("cuda:sm_90a.78", ["cuda:sm_80", "cuda:sm_90a"]) == "cuda:sm_90a"
    assert listed_as("cuda:sm_90a.78", ["cuda:sm_90a", "cuda:sm_90a.78"]) == "cuda:sm_90a.78"
    assert listed_as("cuda:sm_90a.78", ["cuda:sm_80"]) is None


@pytest.mark.parametrize("name", ["cuda:sm_90a.0", "cuda:sm_90a.", "cuda:sm_90a.x", "interp.4"])
def test_a_number_of_multiprocessors_is_one(name):
    with pytest.raises(DiagnosticError, match=re.escape(name)):
        find_target(name)


def test_the_chips_of_one_family_tell_what_they_have():
    """f8 by mma.sync is a unit of its own where the assembler writes QMMA, wgmma Hopper's alone."""
    chips = {t.chip: t for t in TARGETS.values() if t.family == "cuda"}
    f8 = {n for n, t in chips.items() if t.atom("mma.m16n8k32.f8") is not None}
    assert f8 == {"sm_89", "sm_90a", "sm_120a"}
    wgmma = {n for n, t in chips.items() if any(a.name.startswith("wgmma") for a in t.atoms)}
    assert wgmma == {"sm_90a"}
    assert {n for n, t in chips.items() if t.bulk_copies} == {*chips} - {"sm_80", "sm_89"}
    assert {n for n, t in chips.items() if t.clusters > 1} == {"sm_90a", "sm_100a", "sm_103a"}
    assert {n for n, t in chips.items() if t.rates.measured} == {"sm_90a"}


def test_known_sizes():
    assert find_target("cuda:sm_89").memory("shared").bytes == 99 * 1024
    assert find_target("cuda:sm_120a").memory("shared").bytes == 99 * 1024
    assert find_target("cuda:sm_80").memory("shared").bytes == 163 * 1024
    assert find_target("cuda:sm_90a").memory("shared").bytes == 232448
    assert find_target("hip:gfx950").memory("shared").bytes == 160 * 1024
    assert find_target("nki:trn2").memory("psum").bytes == 16 * 1024
    assert find_target("aie:npu2").memory("core").bytes == 65536


@pytest.mark.parametrize(
    ("name", "hint"), [("cuda:sm_90", "cuda:sm_90a"), ("hip", "hip:gfx942"), ("tpu", "interp")]
)
def test_an_unknown_target_names_the_nearest(name, hint):
    with pytest.raises(DiagnosticError) as raised:
        find_target(name)
    diagnostic = raised.value.diagnostics[0]
    assert diagnostic.code == "DSL0901"
    assert diagnostic.code in entries()
    assert hint in diagnostic.hint


@pytest.mark.parametrize("name", ATOMS)
def test_the_operands_have_the_shapes_of_the_product(name):
    atom: Atom = ATOMS[name]
    assert atom.c.shape == (atom.m, atom.n)
    if atom.a is not None:
        assert atom.a.shape == (atom.m, atom.k)
        assert atom.a.threads == atom.threads or name.startswith("nc_matmul")
    if atom.b is not None:
        assert atom.b.shape == (atom.k, atom.n)
    for types in atom.types:
        assert all(parse_dtype(t) is not None for t in types)
        assert atom.takes(*types[:2])
    assert not atom.takes("bool", "bool")


@pytest.mark.parametrize("target", [t for t in TARGETS.values() if t.banks])
def test_every_lane_is_in_one_phase(target):
    for row in (*target.banks.loads, *target.banks.stores):
        lanes = [lane for phase in row.phases for lane in phase]
        assert sorted(lanes) == list(range(target.warp_size))
        words = row.bits // 8 // target.banks.word_bytes
        assert all(len(phase) * words == row.banks for phase in row.phases)


# PTX ISA, "Matrix Fragments for mma": groupID = lane >> 2, threadID_in_group = lane % 4.


def check_c_m16n8(layout):
    for lane in range(32):
        group, member = lane >> 2, lane % 4
        for i in range(4):
            row = group if i < 2 else group + 8
            assert layout.index(lane, i) == (row, member * 2 + (i & 1))


@pytest.mark.parametrize("name", names("mma.m16n8"))
def test_the_accumulator_fragment(name):
    check_c_m16n8(ATOMS[name].c)


@pytest.mark.parametrize(
    ("name", "vector"),
    [
        ("mma.m16n8k16", 2),
        ("mma.m16n8k32", 4),
        ("mma.m16n8k32.f8", 4),
        ("mma.m16n8k64", 8),
        ("mma.m16n8k8.tf32", 1),
    ],
)
def test_the_fragments_of_two_k_halves(name, vector):
    a, b = ATOMS[name].a, ATOMS[name].b
    half = 4 * vector
    for lane in range(32):
        group, member = lane >> 2, lane % 4
        for i in range(4 * vector):
            register, part = divmod(i, vector)
            row = group if register in (0, 2) else group + 8
            column = member * vector + part + (half if register >= 2 else 0)
            assert a.index(lane, i) == (row, column)
        for i in range(2 * vector):
            register, part = divmod(i, vector)
            assert b.index(lane, i) == (member * vector + part + half * register, group)


def test_the_fragments_of_m16n8k8():
    a, b = ATOMS["mma.m16n8k8"].a, ATOMS["mma.m16n8k8"].b
    for lane in range(32):
        group, member = lane >> 2, lane % 4
        for i in range(4):
            assert a.index(lane, i) == (group + 8 * (i >= 2), member * 2 + (i & 1))
        for i in range(2):
            assert b.index(lane, i) == (member * 2 + i, group)


def test_the_fragments_of_m8n8k4():
    atom = ATOMS["mma.m8n8k4.f64"]
    for lane in range(32):
        assert atom.a.index(lane, 0) == (lane >> 2, lane % 4)
        assert atom.b.index(lane, 0) == (lane % 4, lane >> 2)
        for i in range(2):
            assert atom.c.index(lane, i) == (lane >> 2, lane % 4 * 2 + i)


@pytest.mark.parametrize("name", names("wgmma"))
def test_the_warpgroups_fragments(name):
    atom = ATOMS[name]
    vector = atom.k // 8
    for thread in range(0, 128, 7):
        warp, lane = divmod(thread, 32)
        group, member = lane >> 2, lane % 4
        for i in range(atom.a.locals if atom.a is not None else 0):
            register, part = divmod(i, vector)
            row = warp * 16 + group + 8 * (register & 1)
            column = member * vector + part + 4 * vector * (register >> 1)
            assert atom.a.index(thread, i) == (row, column)
        for i in range(atom.c.locals):
            row = warp * 16 + group + 8 * (i >> 1 & 1)
            assert atom.c.index(thread, i) == (row, i // 4 * 8 + member * 2 + (i & 1))
    assert atom.threads == 128


def test_the_warpgroups_name():
    assert wgmma(128, 16, (), "").name == "wgmma.m64n128k16"


@pytest.mark.parametrize("name", names("mfma.16x16"))
def test_the_16x16_matrix_core(name):
    atom = ATOMS[name]
    vector = atom.k // 4
    for lane in range(64):
        for i in range(vector):
            k = vector * (lane // 16) + i
            assert atom.a.index(lane, i) == (lane % 16, k)
            assert atom.b.index(lane, i) == (k, lane % 16)
        for i in range(4):
            assert atom.c.index(lane, i) == (4 * (lane // 16) + i, lane % 16)


@pytest.mark.parametrize("name", names("mfma.32x32"))
def test_the_32x32_matrix_core(name):
    atom = ATOMS[name]
    vector = atom.k // 2
    for lane in range(64):
        for i in range(vector):
            k = vector * (lane // 32) + i
            assert atom.a.index(lane, i) == (lane % 32, k)
            assert atom.b.index(lane, i) == (k, lane % 32)
        for i in range(16):
            row = 8 * (i // 4) + 4 * (lane // 32) + i % 4
            assert atom.c.index(lane, i) == (row, lane % 32)


def test_the_tensor_engine_contracts_over_partitions():
    atom = nc_matmul(64, 256)
    stationary = permute(atom.a, [1, 0])
    for partition in (0, 5, 127):
        assert stationary.index(partition, 3) == (partition, 3)
        assert atom.b.index(partition, 200) == (partition, 200)
    assert atom.c.index(63, 255) == (63, 255)


def test_the_matrix_instructions_of_one_vector():
    for name in ("smmla", "ummla", "usmmla"):
        for i in range(16):
            assert ATOMS[name].a.index(0, i) == (i // 8, i % 8)
            assert ATOMS[name].b.index(0, i) == (i % 8, i // 8)
        for i in range(4):
            assert ATOMS[name].c.index(0, i) == (i // 2, i % 2)
    for i in range(16):
        assert ATOMS["sdot.lane"].b.index(0, i) == (i % 4, i // 4)
    for i in range(8):
        assert ATOMS["bfmmla"].b.index(0, i) == (i % 4, i // 4)
    for name in names("matmul_aie2p"):
        assert ATOMS[name].a.index(0, 1) == ((0, 1) if ATOMS[name].k > 1 else (1, 0))
