"""Which features a CPU has, by faked words of the auxiliary vector and a faked sysctl."""

from __future__ import annotations

import pytest
from dslc.runtime.aarch64.features import (
    FEATURES,
    VARIANTS,
    best_variant,
    features_of,
    macos_features,
)

# The words of machines, as Linux tells them.
NEOVERSE_N1 = (0x119FFF, 0)
NEOVERSE_V2 = (0xEFFFFFFB, 0x2307F7FF)
CORTEX_A57 = (0x0FF, 0)


def test_the_features_of_known_machines() -> None:
    assert features_of(*NEOVERSE_N1) == {"fp16", "dotprod"}
    assert {"fp16", "dotprod", "i8mm", "bf16", "sve", "sve2"} <= features_of(*NEOVERSE_V2)
    assert "sme" not in features_of(*NEOVERSE_V2)
    assert features_of(*CORTEX_A57) == frozenset()


@pytest.mark.parametrize("name", ["i8mm", "bf16", "sme", "sme2"])
def test_a_feature_of_the_second_word_is_not_read_in_the_first(name: str) -> None:
    bits = sum(1 << bit for bit in FEATURES[name].bits)
    assert name not in features_of(bits, 0)
    assert name in features_of(0, bits)


@pytest.mark.parametrize("name", ["fp16", "dotprod"])
def test_a_feature_of_the_first_word_is_not_read_in_the_second(name: str) -> None:
    bits = sum(1 << bit for bit in FEATURES[name].bits)
    assert name in features_of(bits, 0)
    assert name not in features_of(0, bits)


def test_every_bit_of_a_feature_counts() -> None:
    assert "fp16" not in features_of(1 << 9, 0)
    assert "fp16" not in features_of(1 << 10, 0)


def test_macos_tells_by_name() -> None:
    m2 = {"hw.optional.arm.FEAT_DotProd", "hw.optional.arm.FEAT_I8MM", "hw.optional.arm.FEAT_FP16"}
    assert macos_features(lambda name: int(name in m2)) == {"dotprod", "i8mm", "fp16"}


def test_the_best_variant_is_the_largest_that_the_cpu_runs() -> None:
    for words, best in ((NEOVERSE_N1, "dotprod"), (NEOVERSE_V2, "bf16"), (CORTEX_A57, "base")):
        assert best_variant(VARIANTS, features_of(*words)) == best
    assert best_variant(["base", "i8mm"], features_of(*NEOVERSE_N1)) == "base"
    assert best_variant(["i8mm"], features_of(*NEOVERSE_N1)) is None
