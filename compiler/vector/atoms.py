"""Dot-accumulate units of machines, as data.

One unit of an atom holds m x n sums, m x k elements of a and n x k of b, all row-major, so that a lane
of the sums reads a row of a and a row of b:

    acc[i, j] + sum over t of a[i, t] * b[j, t]

A vector holds several units one after another, as many for each operand. Sums of integers wrap unless
the atom saturates.

Sources: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2 (VPDPBUSD, VPDPWSSD,
VDPBF16PS, VPMADDUBSW, VPMADDWD); Arm Architecture Reference Manual for A-profile, section C7.2 (SDOT,
UDOT, USDOT, SMMLA, UMMLA, USMMLA, BFDOT, BFMMLA).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from dslc.compiler.dtypes import DType, decode, encode, parse_dtype
from dslc.compiler.dtypes.storage import Array


@dataclass(frozen=True, slots=True)
class DotAtom:
    """A unit's shape and dtypes: a of `a`, b of `b`, sums of `acc`.

    Without `accumulates` it gives the sum of products alone. With `saturates` that sum is clamped to
    the range of `acc`. The hardware may round float sums otherwise than the interpreter, which adds the
    exact sum of products and rounds once.
    """

    name: str
    a: DType
    b: DType
    acc: DType
    k: int
    m: int = 1
    n: int = 1
    accumulates: bool = True
    saturates: bool = False

    def lanes(self, units: int) -> tuple[int, int, int]:
        """The lanes of acc, a and b where they hold so many units."""
        return units * self.m * self.n, units * self.m * self.k, units * self.n * self.k


def atom_of(name: str, dtypes: str, k: int, m: int = 1, n: int = 1, **flags: bool) -> DotAtom:
    """The atom whose operands and sums have these dtypes, by their names."""
    dtypes_of = [parse_dtype(word) for word in dtypes.split()]
    a, b, acc = (d for d in dtypes_of if d is not None)
    return DotAtom(name, a, b, acc, k, m, n, **flags)


ATOMS = {
    atom.name: atom
    for atom in (
        atom_of("vpdpbusd", "u8 i8 i32", 4),
        atom_of("vpdpwssd", "i16 i16 i32", 2),
        atom_of("vdpbf16ps", "bf16 bf16 f32", 2),
        atom_of("vpmaddubsw", "u8 i8 i16", 2, accumulates=False, saturates=True),
        atom_of("vpmaddwd", "i16 i16 i32", 2, accumulates=False),
        atom_of("sdot", "i8 i8 i32", 4),
        atom_of("udot", "u8 u8 i32", 4),
        atom_of("usdot", "u8 i8 i32", 4),
        atom_of("smmla", "i8 i8 i32", 8, 2, 2),
        atom_of("ummla", "u8 u8 i32", 8, 2, 2),
        atom_of("usmmla", "u8 i8 i32", 8, 2, 2),
        atom_of("bfdot", "bf16 bf16 f32", 2),
        atom_of("bfmmla", "bf16 bf16 f32", 4, 2, 2),
    )
}
"""Every atom by its name, which is the machine's mnemonic."""


def multiply(atom: DotAtom, a: Array, b: Array, acc: Array | None) -> Array:
    """What the atom gives for the storage arrays of vectors, as a storage array of acc's dtype."""
    x = _wide(a, atom.a).reshape(-1, atom.m, 1, atom.k)
    y = _wide(b, atom.b).reshape(-1, 1, atom.n, atom.k)
    total = (x * y).sum(-1).reshape(-1)
    if atom.saturates:
        total = np.clip(total, *atom.acc.integer_range)
    if acc is not None:
        total = total + _wide(acc, atom.acc)
    return encode(total, atom.acc)


def _wide(codes: Array, dtype: DType) -> Array:
    return decode(codes, dtype).astype(np.float64 if dtype.is_float else np.int64)
