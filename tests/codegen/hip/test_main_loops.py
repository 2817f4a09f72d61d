"""The loops that kernels live in, by the compiler's ISA text: what they are made of."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import dslc
import pytest
from dslc.codegen.hip.generate import emit
from dslc.codegen.hip.isa import Code, read_isa
from dslc.codegen.hip.occupancy import occupancy
from dslc.codegen.hip.resources import Resources
from dslc.codegen.hip.toolchain import compile_hip
from dslc.codegen.quoting import entry_name
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.traverse import walk
from dslc.compiler.targets import find_target

from support.hip.products import OPERANDS, SOURCE, product

FIXED = (("K", 8192), ("M", 8192), ("N", 8192))
LARGE = (256, 256, 64)


def compiled(chip: str, **options: object) -> tuple[Code, Resources]:
    """The main loop of the large product, and what the kernel takes."""
    tile = LARGE if chip == "gfx950" else (128, 128, 64)
    kernel = product(chip, tile, FIXED, **options)  # type: ignore[arg-type]
    text, _ = emit(kernel, find_target(f"hip:{chip}"))
    made = compile_hip(text, chip)
    loop = read_isa(made.isa)[entry_name(kernel.name)].main_loop()
    assert loop is not None
    return loop, made.resources[entry_name(kernel.name)]


@pytest.mark.usefixtures("clang")
def test_half_of_the_large_products_loop_is_matrix_instructions() -> None:
    """256 x 256 x 64 of bf16 on gfx950; AITER's assembly has 58 %, FlyDSL's kernel 37 %."""
    loop, used = compiled("gfx950")
    assert loop.count("v_mfma_f32_16x16x32_bf16") == 128
    assert loop.share("matrix") >= 0.5
    # Four waves hold 128 x 128 results each: an operand's row is read twice, k twice by 16 bytes.
    assert loop.count("ds_read_b128") == loop.mix()["lds"] == 32
    assert loop.count("buffer_load_dwordx4") == loop.mix()["memory"] == 16
    assert not used.spills


@pytest.mark.usefixtures("clang")
def test_sizes_known_at_the_call_cost_neither_the_loop_nor_registers(tmp_path: Path) -> None:
    """Steps of rows in registers, masks, results rounded where they are stored."""
    file = tmp_path / "gemm.tile"
    file.write_text(SOURCE.format(t="bf16", **OPERANDS["nt"]))
    sizes, tile = dict(FIXED), dict(zip(("BM", "BN", "BK"), LARGE, strict=True))
    made = dslc.compile(file, "hip:gfx950").gemm.specialize_for(sizes, tile).artifact
    loop = read_isa(made.files["gfx950.s"].decode())["gemm_kernel"].main_loop()
    assert loop is not None
    assert loop.count("v_mfma_f32_16x16x32_bf16") == 128
    assert loop.share("matrix") >= 0.5
    used = made.launch["resources"]
    assert used["stack"] == used["spilled"] == 0


@pytest.mark.usefixtures("clang")
def test_columns_that_lie_together_are_read_together() -> None:
    """b as [K, N]: 16 bytes of 8 columns for each k, put in pairs along k by permutations."""
    loop, used = compiled("gfx950", operands="nn")
    assert loop.count("v_mfma_f32_16x16x32_bf16") == 128
    assert loop.share("matrix") >= 0.4
    assert loop.count("ds_read_b128") == loop.mix()["lds"] == 32
    assert loop.count("v_perm_b32") == 64
    assert not used.spills


@pytest.mark.usefixtures("clang")
@pytest.mark.parametrize("chip", ["gfx942", "gfx950"])
def test_lanes_compute_nothing_but_addresses_in_a_products_loop(chip: str) -> None:
    loop, used = compiled(chip)
    vector = [i for i in loop.instructions if i.kind == "vector"]
    assert len(vector) <= 8
    bumps = re.compile(r"v_(add|or|lshl_add|xor|mov)\w*_[ub](32|64)")
    assert all(bumps.match(i.opcode) for i in vector), [i.opcode for i in vector]
    assert not used.spills


@pytest.mark.usefixtures("clang")
def test_a_ring_waits_for_the_loads_of_its_last_turn_only() -> None:
    """With three stages one iteration's loads stay under way: the wait counts them, until the end."""
    kernel = product("gfx950", (128, 128, 64), FIXED, stages=3)
    text, _ = emit(kernel, find_target("hip:gfx950"))
    assert "copy_wait<8>();" in text
    isa = compile_hip(text, "gfx950").isa
    code = read_isa(isa)[entry_name(kernel.name)]
    loop = code.main_loop()
    assert loop is not None
    assert any(i.opcode == "s_waitcnt" and i.operands == "vmcnt(8)" for i in loop.instructions)
    assert any(i.opcode == "s_waitcnt" and i.operands == "vmcnt(0)" for i in code.instructions)


def test_a_units_waves_are_those_that_registers_lds_and_slots_leave() -> None:
    target = find_target("hip:gfx950")
    assert occupancy(target, Resources(64), 256).waves == 8
    assert occupancy(target, Resources(129), 256).limit == "registers"
    assert occupancy(target, Resources(129), 256).waves == 3
    assert occupancy(target, Resources(64, shared=128 << 10), 256).limit == "LDS"
    # What nothing of the kernel's own holds back is held back by the slots.
    assert occupancy(target, Resources(64), 256).limit == "waves"


@pytest.mark.parametrize("chip", ["gfx942", "gfx950"])
def test_the_order_that_is_asked_for_has_all_products_and_reads_of_a_turn(chip: str) -> None:
    kernel = product(chip, (128, 128, 64), FIXED)
    target = find_target(f"hip:{chip}")
    text, _ = emit(kernel, target)
    asked: Counter[int] = Counter()
    for kind, count in re.findall(r"sched_group_barrier\((0x[0-9a-f]+), (\d+), 0\)", text):
        asked[int(kind, 16)] += int(count)
    (name,) = {s.atom for s in walk(kernel.body) if isinstance(s, ins.Dot)}
    atom = target.atom(name or "")
    assert atom is not None
    assert kernel.threads is not None
    waves = kernel.threads // target.warp_size
    assert asked[0x8] * waves * atom.m * atom.n * atom.k == 128 * 128 * 64
    # Every wave reads 16 bytes a lane of the rows and columns that it multiplies.
    assert asked[0x100] >= (128 + 128) * 64 * 2 // (16 * kernel.threads)


LOOP = """	.text
k:                                      ; @k
; %bb.0:
	s_load_dword s0, s[0:1], 0x0
.LBB0_1:                                ; =>This Inner Loop Header: Depth=1
	s_waitcnt lgkmcnt(0)
	ds_read_b128 v[0:3], v4
	v_mfma_f32_16x16x32_bf16 a[0:3], v[0:3], v[0:3], a[0:3]
	v_add_u32_e32 v4, 1, v4
	s_cbranch_scc1 .LBB0_1
; %bb.2:
	buffer_load_dword v1, s[0:3], 0 offen lds
	s_endpgm
	.section	.rodata,"a",@progbits
"""


def test_instructions_are_read_by_class() -> None:
    code = read_isa(LOOP)["k"]
    assert code.mix() == {
        "scalar": 3, "sync": 1, "lds": 1, "matrix": 1, "vector": 1, "memory": 1,
    }  # fmt: skip
    (loop,) = code.loops()
    assert len(loop) == 5
    assert loop.share("matrix") == 0.2
    assert code.main_loop() == loop
