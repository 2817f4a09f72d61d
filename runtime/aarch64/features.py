"""What instructions a CPU has, as the operating system tells it.

On Linux by the words of the auxiliary vector (kernel, Documentation/arch/arm64/elf_hwcaps.rst): a bit
means another thing in AT_HWCAP than in AT_HWCAP2, so a feature names its word. On macOS by sysctl.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import sys
from collections.abc import Callable, Iterable, Mapping
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

VARIANTS: Mapping[str, frozenset[str]] = {
    "base": frozenset(),
    "dotprod": frozenset({"fp16", "dotprod"}),
    "i8mm": frozenset({"fp16", "dotprod", "i8mm"}),
    "bf16": frozenset({"fp16", "dotprod", "i8mm", "bf16"}),
}
"""What the code of a target `aarch64:<variant>` needs, the best last."""


def best_variant(variants: Iterable[str], features: frozenset[str]) -> str | None:
    """The best of these variants that a CPU with such features runs."""
    fitting = [v for v in VARIANTS if v in set(variants) and VARIANTS[v] <= features]
    return fitting[-1] if fitting else None


def features_of(hwcap: int, hwcap2: int) -> frozenset[str]:
    """The features that the two words of Linux tell."""
    words = {AT_HWCAP: hwcap, AT_HWCAP2: hwcap2}
    return frozenset(
        name for name, f in FEATURES.items() if all(words[f.word] >> bit & 1 for bit in f.bits)
    )


def macos_features(sysctl: Callable[[str], int]) -> frozenset[str]:
    """The features that macOS tells; `sysctl` gives the number of a name, 0 for one it has not."""
    return frozenset(n for n, f in FEATURES.items() if sysctl(f"hw.optional.arm.{f.sysctl}"))


def host_features() -> frozenset[str]:
    """Those of the CPU that this process runs on, an Arm one."""
    libc = ctypes.CDLL(ctypes.util.find_library("c") if sys.platform == "darwin" else None)
    if sys.platform == "darwin":
        return macos_features(lambda name: _sysctl(libc, name))
    libc.getauxval.restype = ctypes.c_ulong
    libc.getauxval.argtypes = (ctypes.c_ulong,)
    return features_of(libc.getauxval(AT_HWCAP), libc.getauxval(AT_HWCAP2))


def _sysctl(libc: ctypes.CDLL, name: str) -> int:
    value, size = ctypes.c_int64(0), ctypes.c_size_t(8)
    failed = libc.sysctlbyname(name.encode(), ctypes.byref(value), ctypes.byref(size), None, 0)
    return 0 if failed else value.value
