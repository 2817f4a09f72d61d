"""Memory: what is loaded and stored, and what the machine does not let pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from dslc.runtime.hip_emulator import Buffer, EmulationError, Module

from support.hip.instructions import Array, assembly
from support.hip.toolchain import needs_clang

pytestmark = needs_clang
RNG = np.random.default_rng(5)
WORDS = RNG.integers(0, 1 << 32, 64 * 8, dtype=np.uint32)
# s[2:3] and s[4:5] are the pointers; a buffer of 256 bytes at the first is s[8:11]
RESOURCE = [
    "s_mov_b32 s8, s2",
    "s_mov_b32 s9, s3",
    "s_movk_i32 s10, 0x100",
    "s_mov_b32 s11, 0x20000",
]


def run(
    body: Sequence[str], args: Sequence[Any] = (), chip: str = "gfx942", lds: int = 0,
    waves: int = 1, seed: int = 0,
) -> Array:  # fmt: skip
    """Runs lines over WORDS and a new output of 64 x 4 words, which they leave in v[20:23]."""
    out = np.zeros((256, 4), np.uint32)
    store = ["s_waitcnt vmcnt(0) lgkmcnt(0)", "v_lshlrev_b32 v2, 4, v0"]
    store.append("global_store_dwordx4 v2, v[20:23], s[4:5]")
    clear = [f"v_mov_b32 v{r}, 0" for r in range(20, 24)]
    text = assembly(chip, [*clear, *body, *store], ("in", "out"), lds)
    Module(text).launch("k", [*(args or (WORDS,)), out], 1, 64 * waves, seed=seed)
    return out


def refused(body: Sequence[str], args: Sequence[Any] = (), **more: Any) -> str:
    with pytest.raises(EmulationError) as raised:
        run(body, args, **more)
    return str(raised.value)


BYTES = WORDS.view(np.uint8)
LOADS = {
    "global_load_dword v20, v1, s[2:3]": WORDS[:64],
    "global_load_dword v20, v1, s[2:3] offset:16": WORDS[4:68],
    "global_load_ubyte v20, v0, s[2:3]": BYTES[:64].astype(np.uint32),
    "global_load_sbyte v20, v0, s[2:3]": BYTES[:64].view(np.int8).astype(np.int32).view(np.uint32),
    "global_load_short_d16_hi v20, v1, s[2:3]": WORDS[:64] << np.uint32(16),
    "global_load_sshort v20, v1, s[2:3]": (WORDS[:64] << np.uint32(16)).view(np.int32) >> 16,
    "buffer_load_dword v20, v1, s[8:11], 0 offen": WORDS[:64],
    "buffer_load_dword v20, v1, s[8:11], 0 offen offset:128": np.where(
        np.arange(64) < 32, WORDS[32:96], 0
    ),
    "buffer_load_ushort v20, v1, s[8:11], 0 offen": WORDS[:64] & np.uint32(0xFFFF),
}


@pytest.mark.parametrize("seed", range(2))
def test_loads(seed: int) -> None:
    for line, wanted in LOADS.items():
        found = run([*RESOURCE, line], seed=seed)[:64, 0]
        assert (found == np.asarray(wanted).astype(np.int64).astype(np.uint32)).all(), line


def test_a_wide_buffer_load_is_checked_word_by_word() -> None:
    body = [*RESOURCE, "s_movk_i32 s10, 0xf8", "v_lshlrev_b32 v3, 4, v0"]
    found = run([*body, "buffer_load_dwordx4 v[20:23], v3, s[8:11], 0 offen"])[:64]
    wanted = np.zeros((64, 4), np.uint32)
    wanted.reshape(-1)[:62] = WORDS[:62]
    assert (found == wanted).all()


def test_stores_of_halves_and_past_a_buffer() -> None:
    data = np.zeros(128, np.uint32)
    body = ["global_load_dword v3, v1, s[2:3]", *RESOURCE, "s_waitcnt vmcnt(0)"]
    body += ["s_mov_b32 s8, s6", "s_mov_b32 s9, s7", "v_lshlrev_b32 v4, 3, v0"]
    body.append("buffer_store_short_d16_hi v3, v4, s[8:11], 0 offen")
    text = assembly("gfx942", [*body, "s_waitcnt vmcnt(0)"], ("in", "unused", "out"))
    Module(text).launch("k", [WORDS, WORDS, data], 1, 64)
    assert (data[:64:2] == WORDS[:32] >> np.uint32(16)).all()
    assert not data[64:].any()


def lds(*lines: str, width: int = 4) -> list[str]:
    shift = {4: 2, 8: 3, 16: 4}[width]
    load = {4: "dword v3", 8: "dwordx2 v[4:5]", 16: "dwordx4 v[4:7]"}[width]
    head = [f"v_lshlrev_b32 v2, {shift}, v0", f"global_load_{load}, v2, s[2:3]"]
    return [*head, "s_waitcnt vmcnt(0)", *lines]


def test_lds_reads_and_writes_of_all_widths() -> None:
    swap = "v_xor_b32 v8, {}, v2"
    found = run(
        lds("ds_write_b128 v2, v[4:7]", swap.format(16), "ds_read_b128 v[20:23], v8", width=16),
        lds=1024,
    )
    assert (found[:64] == WORDS[:256].reshape(64, 4)[np.arange(64) ^ 1]).all()
    body = lds(
        "ds_write_b64 v2, v[4:5]",
        "ds_read2_b32 v[20:21], v2 offset1:1",
        "ds_read_u8_d16_hi v22, v2",
        width=8,
    )
    found = run(body, lds=512)
    assert (found[:64, :2] == WORDS[:128].reshape(64, 2)).all()
    assert (found[:64, 2] == (WORDS[:128:2] & np.uint32(255)) << np.uint32(16)).all()
    body = lds("ds_write2st64_b32 v2, v3, v0 offset1:1", "ds_read_b32 v20, v2 offset:256")
    assert (run(body, lds=512)[:64, 0] == np.arange(64)).all()


def test_atomics_in_lds_and_memory() -> None:
    body = lds(
        "v_mov_b32 v8, 0",
        "v_mov_b32 v9, 1",
        "ds_write_b32 v8, v8",
        "ds_add_rtn_u32 v20, v8, v9",
        "ds_max_u32 v8, v3",
        "ds_read_b32 v21, v8",
    )
    found = run(body, lds=4)[:64]
    assert sorted(found[:, 0]) == list(range(64))
    assert (found[:, 1] == max(64, WORDS[:64].max())).all()
    sums = np.zeros(4, np.float32)
    body = ["v_mov_b32 v3, 0", "v_cvt_f32_u32 v4, v0", "global_atomic_add_f32 v3, v4, s[2:3]"]
    run(body, [sums])
    assert sums[0] == 63 * 32
    cells = np.array([5, 7], np.uint32)
    body = ["v_mov_b32 v3, 0", "v_mov_b32 v4, 9", "v_mov_b32 v5, 5", "s_mov_b64 exec, 1"]
    body += [
        "global_atomic_cmpswap v20, v3, v[4:5], s[2:3] sc0",
        "s_waitcnt vmcnt(0)",
        "s_mov_b64 exec, -1",
    ]
    assert run(body, [cells])[0, 0] == 5
    assert cells.tolist() == [9, 7]


# Lane 0 adds v6 to the word around byte 4 of an array by comparing.
IN_A_WORD = """
v_mov_b32 v3, 4
s_mov_b64 exec, 1
global_load_dword v5, v3, s[2:3] sc1
s_waitcnt vmcnt(0)
v_add_u32 v4, v5, v6
global_atomic_cmpswap v20, v3, v[4:5], s[2:3] sc0
s_waitcnt vmcnt(0)
s_mov_b64 exec, -1
""".strip().splitlines()


def test_a_word_that_an_array_ends_in() -> None:
    cells = np.array([1, 2, 7], np.uint16)
    run(["v_mov_b32 v6, 1", *IN_A_WORD], [cells])
    assert cells.tolist() == [1, 2, 8]
    other = refused(["v_mov_b32 v6, 0x10000", *IN_A_WORD], [cells])
    assert "changes byte 2 of a word, which is of another array" in other
    plain = [line.replace(" sc1", "") for line in IN_A_WORD]
    assert "it reads 4 bytes at byte 4" in refused(["v_mov_b32 v6, 1", *plain], [cells])


def test_a_word_that_an_array_begins_in() -> None:
    cells = np.array([1, 2, 7], np.uint16)
    body = [line.replace("s[2:3] sc", "s[2:3] offset:-6 sc") for line in IN_A_WORD]
    run(["v_mov_b32 v6, 0x10000", *body], [Buffer(cells, skew=2)])
    assert cells.tolist() == [2, 2, 7]
    other = refused(["v_mov_b32 v6, 1", *body], [Buffer(cells, skew=2)])
    assert "changes byte 0 of a word, which is of another array" in other


@pytest.mark.parametrize(("chip", "words"), [("gfx942", 1), ("gfx950", 4)])
def test_a_copy_to_lds_goes_to_consecutive_places(chip: str, words: int) -> None:
    kind = "dword" if words == 1 else "dwordx4"
    body = [*RESOURCE, "s_movk_i32 s10, 0x800", f"v_lshlrev_b32 v3, {2 if words == 1 else 4}, v0"]
    body += [
        "v_xor_b32 v4, 0x30, v3",
        "s_mov_b32 m0, 64",
        f"buffer_load_{kind} v4, s[8:11], 0 offen lds",
    ]
    body += ["s_waitcnt vmcnt(0)", f"ds_read_b{32 * words} v[20:{19 + words}], v3 offset:64"]
    body[-1] = body[-1].replace("v[20:20]", "v20")
    found = run(body, chip=chip, lds=2048)[:64, :words]
    given = WORDS[: 64 * words].reshape(64, words)
    assert (found == given[np.arange(64) ^ (12 if words == 1 else 3)]).all()


def test_transposed_reads_of_gfx950() -> None:
    body = lds("ds_write_b64 v2, v[4:5]", "ds_read_b64_tr_b16 v[20:21], v2", width=8)
    found = run(body, chip="gfx950", lds=512)[:64, :2]
    got = np.ascontiguousarray(found).view(np.uint16).reshape(4, 16, 4)
    rows = WORDS[:128].view(np.uint16).reshape(4, 4, 16)  # of 16 lanes: 4 rows of 16 columns
    assert (got == rows.transpose(0, 2, 1)).all()


def test_scratch_memory_is_each_lane_s_own() -> None:
    body = [
        "scratch_store_dword off, v0, off offset:4",
        "v_mov_b32 v5, 4",
        "scratch_load_dword v20, v5, off",
    ]
    text = assembly(
        "gfx942", [*body, "s_waitcnt vmcnt(0)", "global_store_dword v1, v20, s[4:5]"], ("in", "out")
    )
    text = text.replace(".private_segment_fixed_size: 0", ".private_segment_fixed_size: 8")
    out = np.zeros(64, np.uint32)
    Module(text).launch("k", [WORDS, out], 1, 64)
    assert (out == np.arange(64)).all()
    short = text.replace("segment_fixed_size: 8", "segment_fixed_size: 4")
    with pytest.raises(EmulationError, match="scratch memory, which has 4"):
        Module(short).launch("k", [WORDS, out], 1, 64)


def test_constants_in_memory_have_addresses() -> None:
    body = [
        "s_getpc_b64 s[8:9]",
        "s_add_u32 s8, s8, table@rel32@lo+4",
        "s_addc_u32 s9, s9, table@rel32@hi+12",
    ]
    body += ["global_load_dword v20, v1, s[8:9]"]
    rows = "\n".join(f"\t.long {n * n}" for n in range(64))
    text = assembly(
        "gfx942", [*body, "s_waitcnt vmcnt(0)", "global_store_dword v1, v20, s[4:5]"], ("in", "out")
    )
    text = text.replace(
        "\t.amdgpu_metadata",
        f"\t.section .rodata.x\n\t.p2align 4\ntable:\n{rows}\n\t.text\n\t.amdgpu_metadata",
    )
    out = np.zeros(64, np.uint32)
    Module(text).launch("k", [WORDS, out], 1, 64)
    assert (out == np.arange(64) ** 2).all()


# What is refused


def test_what_nothing_wrote_may_be_moved_but_not_used() -> None:
    fresh = Buffer(np.zeros(64, np.uint32), defined=False)
    load = ["global_load_dword v20, v1, s[2:3]", "s_waitcnt vmcnt(0)"]
    assert "stores depends on v20" in refused(load, [fresh])
    hidden = [*load, "v_and_b32 v20, 0, v20"]  # what it holds makes no difference
    assert not run(hidden, [fresh])[:64, 0].any()
    masked = [*load, "v_lshlrev_b32 v21, 8, v0", "v_perm_b32 v20, v21, v20, v22"]
    assert "undefined" in refused(masked, [fresh])
    compared = [*load, "v_cmp_eq_u32 vcc, 0x12345, v20", "s_cbranch_vccnz .L1", "s_nop 0", ".L1:"]
    assert "a branch depends on vcc" in refused(compared, [fresh])
    assert "exec becomes undefined" in refused([*load, "v_cmpx_eq_u32 vcc, 7, v20"], [fresh])
    addressed = [*load, "global_load_dword v21, v20, s[2:3]"]
    assert "the address depends on v20" in refused(addressed, [fresh])


def test_bytes_are_undefined_one_by_one() -> None:
    body = ["v_mov_b32_sdwa v20, v0 dst_sel:WORD_0 dst_unused:UNUSED_PRESERVE src0_sel:WORD_0"]
    half = ["global_load_short_d16_hi v30, v1, s[2:3]", "s_waitcnt vmcnt(0)"]
    assert (
        run([*half, "v_lshrrev_b32 v20, 16, v30"])[:64, 0] == WORDS[:64] & np.uint32(0xFFFF)
    ).all()
    assert "undefined" in refused([*half, "v_mov_b32 v20, v30"])
    assert (run(body)[:64, 0] == np.arange(64)).all()


def test_registers_of_scalars_are_watched_too() -> None:
    assert "depends on s40" in refused(["s_load_dword s8, s[40:41], 0x0"])
    assert "s8 is read before" in refused(["s_load_dword s8, s[2:3], 0x0", "v_mov_b32 v20, s8"])
    assert "v20 is written before" in refused(
        ["global_load_dword v20, v1, s[2:3]", "v_mov_b32 v20, 0"]
    )
    both = ["s_load_dword s8, s[2:3], 0x0", "s_load_dword s9, s[2:3], 0x4", "s_waitcnt lgkmcnt(1)"]
    assert "s8 is read before" in refused([*both, "v_mov_b32 v20, s8"])  # they land in any order


def test_races_between_waves() -> None:
    body = ["v_lshrrev_b32 v3, 6, v0", "v_lshlrev_b32 v4, 2, v0", "v_and_b32 v5, 63, v0"]
    write = [*body, "ds_write_b32 v4, v0", "s_waitcnt lgkmcnt(0)"]
    assert (
        run(
            [*write, "s_barrier", "v_xor_b32 v6, 0x100, v4", "ds_read_b32 v20, v6"],
            lds=512,
            waves=2,
        )[:128, 0]
        == np.arange(128) ^ 64
    ).all()
    for seed in range(4):
        together = refused(
            [*write, "v_xor_b32 v6, 0x100, v4", "ds_read_b32 v20, v6"], lds=512, waves=2, seed=seed
        )
        assert "a race" in together or "undefined" in together  # by which of the two is first
        unwaited = [*write[:-1], "s_barrier", "v_xor_b32 v6, 0x100, v4", "ds_read_b32 v20, v6"]
        assert "a race" in refused(unwaited, lds=512, waves=2, seed=seed)


def test_waves_that_meet_at_atomics_do_not_race() -> None:
    body = ["v_mov_b32 v3, 0", "v_mov_b32 v4, 1", "ds_write_b32 v3, v3", "s_waitcnt lgkmcnt(0)"]
    alone = [
        "v_cmp_eq_u32 vcc, 0, v0",
        "s_and_saveexec_b64 s[8:9], vcc",
        body[2],
        "s_mov_b64 exec, s[8:9]",
    ]
    line = [
        *body[:2],
        *alone,
        body[3],
        "s_barrier",
        "ds_add_u32 v3, v4",
        "s_waitcnt lgkmcnt(0)",
        "s_barrier",
        "ds_read_b32 v20, v3",
    ]
    assert (run(line, lds=4, waves=4)[:, 0] == 256).all()
    assert "nothing wrote" in refused([*body[:2], "ds_add_u32 v3, v4"], lds=4)


def test_places_are_reported() -> None:
    found = refused(["global_load_dword v20, v1, s[2:3] offset:4"], [WORDS[:64]])
    assert "reads 4 bytes at byte 256 of in, which has 256 (lane 63)" in found
    assert "global_load_dword v20, v1, s[2:3] offset:4" in found
    flat = refused(["v_mov_b32 v2, 8", "v_mov_b32 v3, 0", "flat_load_dword v20, v[2:3]"])
    assert "which is of no array" in flat
    frozen = WORDS[:64].copy()
    frozen.flags.writeable = False
    assert "is an input" in refused(["global_store_dword v1, v0, s[2:3]"], [frozen])


@pytest.mark.parametrize("first", ["vmcnt(0)", "lgkmcnt(0)"])
def test_a_flat_load_lands_when_both_counters_were_waited_for(first: str) -> None:
    """One after the other, in either order; one alone is not enough."""
    load = [
        "v_mov_b32 v2, s2",
        "v_mov_b32 v3, s3",
        "flat_load_dword v20, v[2:3]",
        f"s_waitcnt {first}",
    ]
    other = "lgkmcnt(0)" if first == "vmcnt(0)" else "vmcnt(0)"
    found = run([*load, "s_nop 0", f"s_waitcnt {other}", "v_not_b32 v20, v20"], [WORDS[:64]])
    assert (found[:64, 0] == ~WORDS[0]).all()
    assert "before the s_waitcnt" in refused([*load, "v_not_b32 v20, v20"], [WORDS[:64]])


def test_loads_of_one_register_end_in_order() -> None:
    """The second may go where the first is still to write; what computes there may not."""
    loads = ["global_load_dword v20, v1, s[2:3]", "global_load_dword v20, v1, s[2:3] offset:16"]
    for seed in range(4):
        assert (run(loads, seed=seed)[:64, 0] == WORDS[4:68]).all()
    assert "v20 is written before the s_waitcnt" in refused([loads[0], "v_mov_b32 v20, 0"])
    lds = ["v_mov_b32 v2, 0", "ds_write_b32 v2, v2", "s_waitcnt lgkmcnt(0)", "ds_read_b32 v20, v2"]
    assert "v20 is written before" in refused([*lds, loads[0]], lds=64)
