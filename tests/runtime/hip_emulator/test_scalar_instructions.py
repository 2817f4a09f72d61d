"""Scalar instructions, one by one against integers of Python."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from support.hip.instructions import Case, run
from support.hip.toolchain import needs_clang

pytestmark = needs_clang
RNG = np.random.default_rng(9)
M32, M64 = 2**32 - 1, 2**64 - 1


def signed(x: int, bits: int = 32) -> int:
    return x - (1 << bits) if x >> (bits - 1) & 1 else x


Result = tuple[int, ...]
# text, types of results and operands, the same in Python: results, then SCC where the text names it
TABLE: list[tuple[str, str, str, Callable[..., Result]]] = [
    ("s_add_u32 {d}, {a}, {b}{scc}", "u4", "u4 u4", lambda a, b: (a + b & M32, a + b >> 32)),
    ("s_sub_u32 {d}, {a}, {b}{scc}", "u4", "u4 u4", lambda a, b: (a - b & M32, b > a)),
    (
        "s_add_i32 {d}, {a}, {b}{scc}",
        "u4",
        "u4 u4",
        lambda a, b: (a + b & M32, signed(a) + signed(b) != signed(a + b & M32)),
    ),
    ("s_mul_i32 {d}, {a}, {b}", "u4", "u4 u4", lambda a, b: (a * b & M32,)),
    ("s_mul_hi_u32 {d}, {a}, {b}", "u4", "u4 u4", lambda a, b: (a * b >> 32,)),
    (
        "s_mul_hi_i32 {d}, {a}, {b}",
        "u4",
        "u4 u4",
        lambda a, b: (signed(a) * signed(b) >> 32 & M32,),
    ),
    ("s_and_b64 {d}, {a}, {b}{scc}", "u8", "u8 u8", lambda a, b: (a & b, a & b != 0)),
    ("s_andn2_b64 {d}, {a}, {b}{scc}", "u8", "u8 u8", lambda a, b: (a & ~b, a & ~b != 0)),
    (
        "s_nor_b32 {d}, {a}, {b}{scc}",
        "u4",
        "u4 u4",
        lambda a, b: (~(a | b) & M32, ~(a | b) & M32 != 0),
    ),
    (
        "s_lshl_b64 {d}, {a}, {b}{scc}",
        "u8",
        "u8 u4",
        lambda a, b: (a << b % 64 & M64, a << b % 64 & M64 != 0),
    ),
    (
        "s_ashr_i32 {d}, {a}, {b}{scc}",
        "u4",
        "u4 u4",
        lambda a, b: (signed(a) >> b % 32 & M32, signed(a) >> b % 32 != 0),
    ),
    ("s_bfe_u32 {d}, {a}, 0x70005{scc}", "u4", "u4", lambda a: (a >> 5 & 127, a >> 5 & 127 != 0)),
    (
        "s_bfe_i32 {d}, {a}, 0x70005{scc}",
        "u4",
        "u4",
        lambda a: (signed(a >> 5 & 127, 7) & M32, a >> 5 & 127 != 0),
    ),
    ("s_bfm_b32 {d}, {a}, {b}", "u4", "u4 u4", lambda a, b: ((1 << a % 32) - 1 << b % 32 & M32,)),
    ("s_bcnt1_i32_b64 {d}, {a}{scc}", "u4", "u8", lambda a: (a.bit_count(), a != 0)),
    ("s_ff1_i32_b32 {d}, {a}", "u4", "u4", lambda a: ((a & -a).bit_length() - 1 & M32,)),
    ("s_flbit_i32_b32 {d}, {a}", "u4", "u4", lambda a: (32 - a.bit_length() if a else M32,)),
    ("s_abs_i32 {d}, {a}{scc}", "u4", "u4", lambda a: (abs(signed(a)) & M32, a != 0)),
    (
        "s_min_i32 {d}, {a}, {b}{scc}",
        "u4",
        "u4 u4",
        lambda a, b: (min(signed(a), signed(b)) & M32, signed(a) < signed(b)),
    ),
    ("s_sext_i32_i8 {d}, {a}", "u4", "u4", lambda a: (signed(a & 255, 8) & M32,)),
    ("s_brev_b32 {d}, {a}", "u4", "u4", lambda a: (int(f"{a:032b}"[::-1], 2),)),
    ("s_pack_lh_b32_b16 {d}, {a}, {b}", "u4", "u4 u4", lambda a, b: (a & 0xFFFF | b & 0xFFFF0000,)),
    (
        "s_lshl3_add_u32 {d}, {a}, {b}{scc}",
        "u4",
        "u4 u4",
        lambda a, b: (a * 8 + b & M32, a * 8 + b > M32),
    ),
    ("s_bitset1_b32 {d}, {a}\n\ts_mov_b32 {d}, {a}", "u4", "u4", lambda a: (a,)),
    ("s_cmp_lt_i32 {a}, {b}{scc}", "", "u4 u4", lambda a, b: (signed(a) < signed(b),)),
    ("s_cmp_ge_u32 {a}, {b}{scc}", "", "u4 u4", lambda a, b: (a >= b,)),
    ("s_cmpk_eq_u32 {a}, 0x1{scc}", "", "u4", lambda a: (a == 1,)),
    ("s_bitcmp1_b32 {a}, 3{scc}", "", "u4", lambda a: (a >> 3 & 1,)),
    ("s_mov_b64 {d}, {a}", "u8", "u8", lambda a: (a,)),
]
VALUES = [0, 1, M32, 2**31, 0x12345678, 0xFFFF8000, 37, 2**31 - 1]


def test_a_scalar_instruction_gives_what_python_does() -> None:
    cases, wanted = [], []
    for text, result, operands, oracle in TABLE:
        kinds = operands.split()
        for k, first in enumerate(VALUES):
            given = [first, VALUES[(3 * k + 1) % len(VALUES)]][: len(kinds)]
            given = [x | x << 32 if t == "u8" else x for x, t in zip(given, kinds, strict=True)]
            arrays = tuple(np.full(64, x, t) for x, t in zip(given, kinds, strict=True))
            results = (*([result] if result else []), *(["u4"] if "{scc}" in text else []))
            before = "" if "bitset" not in text else "s_mov_b32 s60, 0"
            cases.append(Case(text, results, arrays, before))
            wanted.append((text, given, tuple(int(x) for x in oracle(*given))))
    for (text, given, expected), found in zip(wanted, run("gfx950", cases), strict=True):
        assert tuple(int(x[0]) for x in found) == expected, (text, given)
