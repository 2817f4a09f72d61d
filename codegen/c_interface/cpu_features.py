"""What a CPU has, asked in C: for a set of features the condition that all of them are there.

A feature is a bit that CPUID gives on x86-64 (Intel 64 and IA-32 Architectures Software Developer's
Manual, volume 2, CPUID; AMD64 Architecture Programmer's Manual, volume 3, appendix E), on Arm of the
auxiliary vector of Linux (Documentation/arch/arm64/elf_hwcaps.rst).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import TypeAlias

from dslc.compiler.targets.cpu import Machine

Place: TypeAlias = tuple[int, int, int]
"""Leaf and subleaf of CPUID, and which register it is: 0 to 3 for EAX, EBX, ECX, EDX."""

_BASIC: Place = (1, 0, 2)
_SEVEN_B: Place = (7, 0, 1)
_SEVEN_C: Place = (7, 0, 2)
_SEVEN_D: Place = (7, 0, 3)
_SEVEN_1: Place = (7, 1, 0)
_EXTENDED: Place = (0x80000001, 0, 2)
X86: Mapping[str, tuple[Place, int]] = {
    "sse3": (_BASIC, 0),
    "ssse3": (_BASIC, 9),
    "fma": (_BASIC, 12),
    "cx16": (_BASIC, 13),
    "sse4.1": (_BASIC, 19),
    "sse4.2": (_BASIC, 20),
    "movbe": (_BASIC, 22),
    "popcnt": (_BASIC, 23),
    "avx": (_BASIC, 28),
    "f16c": (_BASIC, 29),
    "bmi": (_SEVEN_B, 3),
    "avx2": (_SEVEN_B, 5),
    "bmi2": (_SEVEN_B, 8),
    "avx512f": (_SEVEN_B, 16),
    "avx512dq": (_SEVEN_B, 17),
    "avx512ifma": (_SEVEN_B, 21),
    "avx512cd": (_SEVEN_B, 28),
    "avx512bw": (_SEVEN_B, 30),
    "avx512vl": (_SEVEN_B, 31),
    "avx512vbmi": (_SEVEN_C, 1),
    "avx512vbmi2": (_SEVEN_C, 6),
    "gfni": (_SEVEN_C, 8),
    "avx512vnni": (_SEVEN_C, 11),
    "avx512bitalg": (_SEVEN_C, 12),
    "avx512vpopcntdq": (_SEVEN_C, 14),
    "amxbf16": (_SEVEN_D, 22),
    "avx512fp16": (_SEVEN_D, 23),
    "amxtile": (_SEVEN_D, 24),
    "amxint8": (_SEVEN_D, 25),
    "avxvnni": (_SEVEN_1, 4),
    "avx512bf16": (_SEVEN_1, 5),
    "sahf": (_EXTENDED, 0),
    "lzcnt": (_EXTENDED, 5),
}
ARM: Mapping[str, tuple[int, tuple[int, ...]]] = {
    "fp16": (16, (9, 10)),
    "dotprod": (16, (20,)),
    "i8mm": (26, (13,)),
    "bf16": (26, (14,)),
}
# Registers that the system has to keep, in XCR0: of SSE and AVX, of AVX-512, of AMX.
_YMM, _ZMM, _TMM = 0x6, 0xE6, 0x60000


def condition(features: Collection[str], machine: Machine) -> str:
    """Whether a CPU has all these features, as an expression of C."""
    parts = _x86(features) if machine == "x86_64" else _arm(features)
    return " && ".join(parts) or "1"


def _x86(features: Collection[str]) -> list[str]:
    masks: dict[Place, int] = defaultdict(int)
    for name in features:
        place, bit = X86[name]
        masks[place] |= 1 << bit
    lines = []
    if any(name.startswith("avx") for name in features):
        wide = any(name.startswith("avx512") for name in features)
        lines.append(f"dslc_keeps({_ZMM if wide else _YMM:#x})")
    tiles = any(name.startswith("amx") for name in features)
    if tiles:
        lines.append(f"dslc_keeps({_TMM:#x})")
    for (leaf, part, word), mask in sorted(masks.items()):
        lines.append(f"dslc_has({leaf:#x}, {part}, {word}, {mask:#x}u)")
    return [*lines, "dslc_tiles()"] if tiles else lines


def _arm(features: Collection[str]) -> list[str]:
    masks: dict[int, int] = defaultdict(int)
    for name in features:
        word, bits = ARM[name]
        masks[word] |= sum(1 << bit for bit in bits)
    return [f"dslc_has({word}, {mask:#x}ul)" for word, mask in sorted(masks.items())]
