"""Rates of a core of the CPUs that LLVM makes code for.

Those of Zen 4 were measured on 23 Nov 2026, on a core of an EPYC at 3.6 GHz (docs/performance/cpu.md):
one zmm multiply-add a cycle, 26 GB/s from memory, 80 GB/s from caches. Of the others the multiply-adds
of a cycle are published (Agner Fog, "Instruction tables"; Arm's Software Optimization Guides), the rest
is taken to be the same at 3 GHz: they order choices, and predict no time well.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from dslc.compiler.targets.rates import CoreRates

_CALL = 2e-6  # seconds of a call
# How many vectors a core multiplies and adds in a cycle.
_PIPES: Mapping[str, int] = {
    "x86-64-v4": 1, "znver4": 1, "armv8-a": 1, "apple-m1": 4, "neoverse-v2": 4, "apple-m2": 4,
}  # fmt: skip
_MOST_CPUS = 2
_MEASURED = {"znver4": (3.6e9, 26e9, 80e9)}
_USUAL = (3.0e9, 20e9, 60e9)


def core_rates(name: str, vector_bits: int, features: Collection[str]) -> CoreRates:
    """Those of a kind of CPU, from its vectors and the instructions that multiply narrow operands."""
    clock, read, cache = _MEASURED.get(name, _USUAL)
    singles = _PIPES.get(name, _MOST_CPUS) * vector_bits / 32
    bytes_ = (
        8 if "i8mm" in features else 4 if {"dotprod", "avx512vnni", "avxvnni"} & {*features} else 2
    )
    halves = 4 if "bf16" in features else 2 if "avx512bf16" in features else 1
    of_bytes, of_halves = singles * bytes_, singles * halves
    if "amxint8" in features:
        # A tile's product takes 16 cycles, for 16 x 16 sums of 64 bytes of k; loads take as long.
        of_bytes, of_halves = 512.0, 256.0
    matrix = ((8, of_bytes), (16, of_halves), (32, singles), (64, singles / 2))
    return CoreRates(clock, read, cache, _CALL, singles, matrix)
