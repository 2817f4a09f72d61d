from __future__ import annotations

from dslc.runtime.aarch64 import VARIANTS, best_variant
from dslc.runtime.native.arm_features import features_of

# The words of machines, as Linux tells them.
NEOVERSE_N1 = (0x119FFF, 0)
NEOVERSE_V2 = (0xEFFFFFFB, 0x2307F7FF)
CORTEX_A57 = (0x0FF, 0)


def test_the_best_variant_is_the_largest_that_the_cpu_runs() -> None:
    for words, best in ((NEOVERSE_N1, "dotprod"), (NEOVERSE_V2, "bf16"), (CORTEX_A57, "base")):
        assert best_variant(VARIANTS, features_of(*words)) == best
    assert best_variant(["base", "i8mm"], features_of(*NEOVERSE_N1)) == "base"
    assert best_variant(["i8mm"], features_of(*NEOVERSE_N1)) is None
