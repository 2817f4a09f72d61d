"""What a machine has, as far as legalisation asks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Capabilities:
    """A machine's units; the defaults are those of a machine that has none of them.

    Every machine adds products with one rounding, and takes vectors of any lanes apart itself.
    `f16_converts` says that an instruction makes f32 of f16, so that other floats go that way too,
    Elements of `masked_bits` and more are loaded and stored under masks.
    `scales` and `multishifts` that there are `scale` and `multishift` of vectors of `vector_bits`,
    which are as wide as its registers.
    `atoms` are the dot-accumulate atoms, each with the lanes of sums that one instruction takes, the
    most first. `permutations` are the tables whose lanes an index chooses: bits of a lane, and lanes.
    """

    f16_converts: bool = False
    masked_bits: int = 128
    scales: bool = False
    multishifts: bool = False
    vector_bits: int = 128
    atoms: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    permutations: frozenset[tuple[int, int]] = frozenset()
