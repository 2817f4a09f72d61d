"""Faults put into the ISA text of kernels that are right: each has to be refused or give wrong numbers.

An edit is a pattern, what takes its place, and which of the matches within the kernel is meant (-1: all).
Every wait and every barrier is deleted in turn in test_kernels.py.
"""

# ruff: noqa: E501 - a fault is a line of a table

from __future__ import annotations

import re

import pytest

from support.hip.subjects import SUBJECTS, body_lines, text_of
from support.hip.toolchain import needs_clang

pytestmark = needs_clang
LATE, UNDEFINED, OUTSIDE, RACE = "before the s_waitcnt", "undefined", "has", "race"
WRONG, DEADLOCK, UNKNOWN = "wrong numbers", "deadlock", "does not know"
ANY = ""

# subject, what is wrong: pattern, replacement, which match, what the emulator says
FAULTS: dict[str, tuple[str, str, str, int, str]] = {
    # waits that leave one too many on its way
    "a copy of the newest stage is not waited for": ("gemm", r"s_waitcnt vmcnt\(4\)", "s_waitcnt vmcnt(5)", 0, LATE),
    "a whole stage is not waited for": ("gemm", r"s_waitcnt vmcnt\(4\)", "s_waitcnt vmcnt(8)", 0, LATE),
    "the last stage is not waited for": ("gemm", r"s_waitcnt vmcnt\(0\)", "s_waitcnt vmcnt(4)", 0, LATE),
    "an operand from LDS is not waited for": ("gemm", r"s_waitcnt lgkmcnt\(2\)", "s_waitcnt lgkmcnt(3)", 0, LATE),
    "the wait for LDS comes to be one for memory": ("gemm", r"s_waitcnt lgkmcnt\(2\)", "s_waitcnt vmcnt(0)", 0, LATE),
    "the arguments are not waited for": ("add", r"s_waitcnt lgkmcnt\(0\)", "s_waitcnt lgkmcnt(1)", 0, LATE),
    "one of two loads is not waited for": ("add", r"s_waitcnt vmcnt\(0\)", "s_waitcnt vmcnt(1)", 0, LATE),
    "a register is overwritten under way": ("add", r"(\ts_waitcnt vmcnt\(0\))", r"\tv_mov_b32_e32 v6, 0\n\1", 0, LATE),
    # barriers in the wrong place
    "the barrier comes before the wait": ("gemm", r"(\.LBB0_3:[^\n]*\n)((?s:.*?))\ts_barrier\n", r"\1\ts_barrier\n\2", 0, ANY),
    "the copy starts before the barrier": ("gemm", r"\ts_barrier\n(\ts_cbranch_scc1 \.LBB0_7\n)((?s:.*?))(\.LBB0_7:)", r"\1\2\3\ts_barrier\n", 0, ANY),
    "one wave leaves the barrier out": ("lds", r"\ts_barrier", "\ts_cbranch_vccnz .Lover\n\ts_barrier\n.Lover:", 0, ANY),
    # addresses in LDS
    "m0 of one copy is a row late": ("gemm", r"s_addk_i32 s0, 0x1000", "s_addk_i32 s0, 0x1080", 0, ANY),
    "the slot of a copy is the one that is read": ("gemm", r"s_add_i32 s26, s0, 0x8000", "s_add_i32 s26, s0, 0x4000", 0, ANY),
    "m0 is not set": ("gemm", r"\ts_mov_b32 m0, s1\n", "", 0, UNDEFINED),
    "the swizzle of reads is another": ("gemm", r"bitop3:0x6c", "bitop3:0x3c", 0, ANY),
    "the second half is not swizzled": ("gemm", r"v_bitop3_b32 (v\d+), (v\d+), v\d+, 4 bitop3:0x36", r"v_or_b32_e32 \1, 4, \2", 0, WRONG),
    "the swizzle of copies is left out": ("gemm", r"v_xor_b32_e32 v3, v2, v0", "v_mov_b32_e32 v3, v0", 0, WRONG),
    "an offset in LDS is off by a row": ("gemm", r"offset:8192", "offset:8320", 0, WRONG),
    "an offset in LDS is past the end": ("gemm", r"offset:10240", "offset:65520", 0, "of LDS, of which the workgroup has"),
    "less LDS is asked for than is used": ("gemm", r"group_segment_fixed_size: 49152", "group_segment_fixed_size: 40960", 0, "of LDS, of which the workgroup has"),
    "ds_read of half the width": ("gemm", r"ds_read_b128 v\[10:13\]", "ds_read_b64 v[10:11]", 0, ANY),
    "two waves write one row": ("transpose", r"ds_write_b32 (v\d+), (v\d+) offset:1040", r"ds_write_b32 \1, \2", 0, ANY),
    # addresses in memory
    "a row too far": ("gemm", r"v_min_i32_e32 v4, s19, v4", "v_max_i32_e32 v4, s19, v4", 0, ANY),
    "the tail of columns is not masked": ("add", r"v_cmp_gt_i32_e32 vcc, s3, v0", "v_cmp_le_i32_e32 vcc, 0, v0", 0, OUTSIDE),
    "the tail of rows is not masked": ("gemm", r"s_and_saveexec_b64 s\[0:1\], vcc", "s_mov_b64 s[0:1], exec", 1, OUTSIDE),
    "exec is not given back": ("lds", r"\ts_or_b64 exec, exec, s\[[04]:[15]\]\n", "", -1, ANY),
    "a loop forgets the lanes that are done": ("lds", r"s_andn2_b64 exec, exec, s\[4:5\]", "s_mov_b64 exec, exec", 0, ANY),
    "an element's size is forgotten": ("add", r"v_lshlrev_b64 v\[0:1\], 2,", "v_lshlrev_b64 v[0:1], 3,", 0, OUTSIDE),
    "the workgroup's number is forgotten": ("add", r"v_lshl_or_b32 v0, s2, 8, v0", "v_and_b32_e32 v0, 0xff, v0", 0, ANY),
    "the output is stored to an input": ("add", r"s_load_dwordx2 s\[2:3\], s\[0:1\], 0x10", "s_load_dwordx2 s[2:3], s[0:1], 0x0", 0, "is an input"),
    "an argument from past the arguments": ("add", r"s\[0:1\], 0x18", "s[0:1], 0x80", 0, "the arguments"),
    "the buffer is taken to be longer, and read there": ("gemm", r"s_add_i32 s19, s8, -1", "s_mov_b32 s6, 0x7fffffff\n\ts_mov_b32 s19, 0x3ff", 0, OUTSIDE),
    "a step along k is too short": ("gemm", r"s_add_i32 s21, s21, 64", "s_add_i32 s21, s21, 32", 0, WRONG),
    # arithmetic
    "the matrix unit takes another type": ("gemm", r"v_mfma_f32_16x16x32_bf16 a\[0:3\], v\[18:21\], v\[22:25\]", "v_mfma_f32_16x16x32_f16 a[0:3], v[18:21], v[22:25]", 0, WRONG),
    "the operands change places": ("gemm", r"v_mfma_f32_16x16x32_bf16 a\[12:15\], v\[10:13\], v\[14:17\]", "v_mfma_f32_16x16x32_bf16 a[12:15], v[14:17], v[10:13]", 0, WRONG),
    "a product is left out": ("gemm", r"\tv_mfma_f32_16x16x32_bf16 a\[4:7\][^\n]*\n", "", 0, WRONG),
    "sums begin anew each iteration": ("gemm", r"(v_mfma_f32_16x16x32_bf16 a\[8:11\], [^\n]*), a\[8:11\]", r"\1, 0", 0, WRONG),
    "an accumulator is not cleared": ("gemm", r"\tv_accvgpr_write_b32 a5, 0\n", "", -1, UNDEFINED),
    "a stored register is another": ("gemm", r"global_store_dword v\[4:5\], a12, off", "global_store_dword v[4:5], a13, off", 0, WRONG),
    "a register that nothing wrote is stored": ("gemm", r"global_store_dword v\[4:5\], a12, off", "global_store_dword v[4:5], v60, off", 0, UNDEFINED),
    "the numerator is the denominator": ("add", r"v_div_scale_f32 v4, vcc, v6, v7, v6", "v_div_scale_f32 v4, vcc, v7, v7, v6", 0, WRONG),
    "another lane is read": ("dpp", r"row_shr:2", "row_shr:3", 0, WRONG),
    "a mask leaves a row out": ("dpp", r"row_shr:4 row_mask:0xf", "row_shr:4 row_mask:0xe", 0, ANY),
    "the wrong lane is read": ("dpp", r"v_readlane_b32 (s\d+), (v\d+), 31", r"v_readlane_b32 \1, \2, 32", 0, WRONG),
    "the permutation is another": ("permutes", r"offset:swizzle\(SWAP,1\)|offset:\w+\([^\n]*", "offset:swizzle(SWAP,2)", 0, WRONG),
    "the lane's number counts words": ("permutes", r"v_xor_b32_e32 (v\d+), 0x80,", r"v_xor_b32_e32 \1, 32,", 0, WRONG),
    # between workgroups
    "one counts itself twice": ("split_k", r"s_bcnt1_i32_b64 s13, s\[16:17\]", "s_mov_b32 s13, 2", 0, ANY),
    "the counter is not cleared": ("split_k", r"\tglobal_store_dword v0, v0, s\[0:1\] sc1\n", "", 0, WRONG),
    "the last but one reduces": ("split_k", r"s_add_i32 s4, s15, -1", "s_add_i32 s4, s15, -2", 0, ANY),
    "a share goes to another's place": ("split_k", r"v_lshl_or_b32 v2, s2, 7, v0", "v_lshl_or_b32 v2, s12, 7, v0", 0, ANY),
    "the counter is not atomic": ("split_k", r"\tglobal_atomic_add v2, v2, v3, s\[20:21\] sc0\n", "\tglobal_load_dword v4, v2, s[20:21]\n\ts_waitcnt vmcnt(0)\n\tv_add_u32_e32 v3, v4, v3\n\tglobal_store_dword v2, v3, s[20:21]\n\tv_mov_b32_e32 v2, v4\n", 0, WRONG),
    "nobody signals": ("signalled", r"v_mov_b32_e32 v4, 1\b", "v_mov_b32_e32 v4, 0", 0, DEADLOCK),
    "the signal stays": ("signalled", r"\tglobal_store_dword v\d+, v\d+, s\[\d+:\d+\] sc1\n(?!.*sc1\n)", "", -2, ANY),
    # what is no instruction of the chip
    "an instruction of another chip": ("gemm", r"v_mfma_f32_16x16x32_bf16", "v_mfma_f32_16x16x8_xf32", 0, "no such instruction"),
    "an instruction that nobody knows": ("add", r"v_add_u32_e32|v_lshl_or_b32", "v_frobnicate_b32", 0, UNKNOWN),
    "a branch to nowhere": ("add", r"s_cbranch_execz \.LBB0_2", "s_cbranch_execz .LBB9_9", 0, "label"),
    "the kernel does not end": ("add", r"\ts_endpgm\n", "", 0, "past its end"),
    "a loop without an end": ("add", r"(\ts_waitcnt vmcnt\(0\)\n)", r".Lagain:\n\1\ts_branch .Lagain\n", 0, DEADLOCK),
}  # fmt: skip


def edited(subject: str, pattern: str, replacement: str, which: int) -> str:
    """The text with one match, all (-1) or the last (-2) within the kernel replaced."""
    text = text_of(subject, "gfx950")
    lines = text.splitlines(keepends=True)
    inside = body_lines(subject, text)
    head, tail = "".join(lines[: inside[0]]), "".join(lines[inside[-1] + 1 :])
    body = "".join(line for n, line in enumerate(lines) if inside[0] <= n <= inside[-1])
    body = re.sub(r"\t\.loc[^\n]*\n|; %bb[^\n]*\n|\.Ltmp\d+:\n", "", body)
    if "segment_fixed_size:" in pattern:
        return re.sub(pattern, replacement, text)
    matches = list(re.finditer(pattern, body))
    assert matches, f"{subject} has no {pattern}"
    chosen = matches if which == -1 else [matches[-1 if which == -2 else which]]
    for match in reversed(chosen):
        body = body[: match.start()] + match.expand(replacement) + body[match.end() :]
    return head + body + tail


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_caught(fault: str) -> None:
    subject, pattern, replacement, which, expected = FAULTS[fault]
    found = SUBJECTS[subject].run(edited(subject, pattern, replacement, which))
    assert found is not None, "nobody noticed"
    assert expected in found


def test_a_text_with_its_comments_taken_out_still_runs() -> None:
    assert SUBJECTS["gemm"].run(edited("gemm", r"\ts_nop 0\n", "\ts_nop 0\n", 0)) is None


def test_there_are_enough_of_them() -> None:
    assert len(FAULTS) >= 40
