"""Which features a CPU has, by what systems say of machines, and of this one by LLVM too."""

from __future__ import annotations

import platform

import pytest
from dslc.compiler.targets.cpu import TARGETS, processor_of
from dslc.runtime.native.arm_features import FEATURES, features_of, macos_features
from dslc.runtime.native.features import (
    host_features,
    maker_of_linux,
    x86_features_of_linux,
    x86_features_of_macos,
)

# The words of machines, as Linux tells them.
NEOVERSE_N1 = (0x119FFF, 0)
NEOVERSE_V2 = (0xEFFFFFFB, 0x2307F7FF)
CORTEX_A57 = (0x0FF, 0)

_TILES = {"amxtile", "amxint8", "amxbf16"}


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


CPUINFO = """\
processor	: 0
flags		: fpu cmov sse sse2 pni ssse3 cx16 sse4_1 sse4_2 lahf_lm abm bmi1 avx2 avx512_vnni avx_vnni
bugs		: spectre_v1

processor	: 1
flags		: fpu cmov sse sse2 pni ssse3 cx16 sse4_1 sse4_2 lahf_lm abm bmi1 avx2 avx512_vnni

"""


def test_linux_tells_flags_and_only_those_of_all_cpus_count() -> None:
    found = x86_features_of_linux(CPUINFO)
    assert {"sse3", "sse4.1", "sse4.2", "sahf", "lzcnt", "bmi", "avx2", "avx512vnni"} <= found
    assert "avxvnni" not in found
    assert x86_features_of_linux("") == frozenset()


def test_macos_tells_the_names_of_intel() -> None:
    words = "FPU SSE3 SSE4.1 FMA AVX1.0 MOVBE BMI1 AVX2 LAHF LZCNT AVX512F"
    assert x86_features_of_macos(words.split()) >= {
        "sse3", "sse4.1", "fma", "avx", "movbe", "bmi", "avx2", "sahf", "lzcnt", "avx512f",
    }  # fmt: skip


@pytest.mark.skipif(platform.machine() != "x86_64", reason="needs an x86-64 CPU")
def test_the_system_and_llvm_agree_on_this_cpu() -> None:
    """Of what targets ask for: LLVM asks the CPU itself."""
    import llvmlite.binding as llvm

    asked = {f for t in TARGETS for f in processor_of(t).features}
    features = llvm.get_host_cpu_features().items()
    found = {name.replace("amx-", "amx") for name, has in features if has}
    if not host_features() & _TILES:  # what the CPU has and the system does not permit
        found -= _TILES
    assert host_features() & asked == found & asked


def test_the_maker_of_the_cpu() -> None:
    assert maker_of_linux("processor\t: 0\nvendor_id\t: AuthenticAMD\n") == "AuthenticAMD"
    assert maker_of_linux("") == ""
