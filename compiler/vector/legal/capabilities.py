"""What a machine has, as far as legalisation asks."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Capabilities:
    """A machine's units; the defaults are those of a machine that has none of them.

    `vector_bits` is the width of its widest register. `f16_converts` says that f16 becomes f32 and back
    by an instruction, `fma` that products are added with one rounding, `masks` that accesses of 8 bits
    and more take masks, `atoms` which of `vector/atoms.py` it has.
    """

    vector_bits: int = 128
    fma: bool = False
    f16_converts: bool = False
    masks: bool = False
    atoms: frozenset[str] = frozenset()
