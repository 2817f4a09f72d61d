"""What instructions an Arm CPU has, as the operating system tells it.

On Linux by the words of the auxiliary vector (kernel, Documentation/arch/arm64/elf_hwcaps.rst): a bit
means another thing in AT_HWCAP than in AT_HWCAP2, so a feature names its word. On macOS by sysctl.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

AT_HWCAP, AT_HWCAP2 = 16, 26


@dataclass(frozen=True, slots=True)
class Feature:
    """The bits of a word of the auxiliary vector that all have to be set, and sysctl's name."""

    word: int
    bits: tuple[int, ...]
    sysctl: str


FEATURES: Mapping[str, Feature] = {
    "fp16": Feature(AT_HWCAP, (9, 10), "FEAT_FP16"),  # scalar and vector
    "dotprod": Feature(AT_HWCAP, (20,), "FEAT_DotProd"),
    "sve": Feature(AT_HWCAP, (22,), "FEAT_SVE"),
    "sve2": Feature(AT_HWCAP2, (1,), "FEAT_SVE2"),
    "i8mm": Feature(AT_HWCAP2, (13,), "FEAT_I8MM"),
    "bf16": Feature(AT_HWCAP2, (14,), "FEAT_BF16"),
    "sme": Feature(AT_HWCAP2, (23,), "FEAT_SME"),
    "sme2": Feature(AT_HWCAP2, (37,), "FEAT_SME2"),
}
"""By the names that targets and artifacts use."""


def features_of(hwcap: int, hwcap2: int) -> frozenset[str]:
    """The features that the two words of Linux tell."""
    words = {AT_HWCAP: hwcap, AT_HWCAP2: hwcap2}
    return frozenset(
        name for name, f in FEATURES.items() if all(words[f.word] >> bit & 1 for bit in f.bits)
    )


def macos_features(sysctl: Callable[[str], int]) -> frozenset[str]:
    """The features that macOS tells; `sysctl` gives the number of a name, 0 for one it has not."""
    return frozenset(n for n, f in FEATURES.items() if sysctl(f"hw.optional.arm.{f.sysctl}"))
