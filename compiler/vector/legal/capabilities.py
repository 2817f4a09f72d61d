"""What a machine has, as far as legalisation asks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Capabilities:
    """A machine's units; the defaults are those of a machine that has none of them.

    Every machine adds products with one rounding, and takes vectors of any lanes apart itself.
    `f16_converts` says that f16 becomes f32 and back by an instruction at any speed worth having for
    other floats. `atoms` are the dot-accumulate atoms that it has, each with the lanes of sums
    that one instruction takes, the most first. `permutations` are the tables whose lanes it chooses by
    an index: their bits a lane, and lanes.
    """

    f16_converts: bool = False
    atoms: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    permutations: frozenset[tuple[int, int]] = frozenset()
