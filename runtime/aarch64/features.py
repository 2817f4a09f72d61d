"""The variants of targets for Arm CPUs, by the features that their code needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dslc.runtime.native.features import host_machine

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


def is_host() -> bool:
    """Whether this machine runs AArch64."""
    return host_machine() == "aarch64"
