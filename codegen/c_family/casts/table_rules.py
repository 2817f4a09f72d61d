"""Casts of codes of four bits to floats of 8 bits: a table of 16 bytes in registers.

A byte permutation picks four bytes of eight by the lower three bits of four nibbles. So the two halves
of the table are asked with the same nibbles, and each code's highest bit says which answer counts: a
third permutation takes it from there.

    sel = codes & 0x77777777                       both for eight codes
    top = 0x32103210 + ((codes & 0x88888888) >> 1)             a shift and a sum are one instruction
    out = bytes(bytes(t0, t1, sel), bytes(t2, t3, sel), top)

Whatever the two types, it is the table that knows: rounding, bias, zeros and NaN are in it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from dslc.codegen.c_family.casts.bits import Positions
from dslc.codegen.c_family.casts.extraction import Words, hexadecimal, pieces
from dslc.compiler.dtypes import DType, Kind, decode, encode
from numpy.typing import NDArray

_CODES, _BYTES = 16, 4  # of the table, of a word


def has_table(dtype: DType, to: DType) -> bool:
    """Whether the cast goes by a table."""
    return dtype.bits == 4 and to.bits == 8 and to.kind is Kind.FLOAT


def table(dtype: DType, to: DType) -> tuple[int, ...]:
    """The words of the table, the bytes of lower codes first."""
    every = np.arange(_CODES, dtype=np.int8)
    # Integers with a sign are stored extended.
    codes: NDArray[Any] = (
        (every ^ 8) - np.int8(8) if dtype.kind is Kind.INT else every.view(np.uint8)
    )
    converted = encode(decode(codes, dtype).astype(np.float32), to)
    return tuple(int(x) for x in np.ascontiguousarray(converted).view(np.uint8).view("<u4"))


def table_word(words: Words, at: Positions, dtype: DType, to: DType) -> str:
    """A word of four results."""
    select, top = _selectors(words, at)
    t0, t1, t2, t3 = map(hexadecimal, table(dtype, to))
    first, second = f"bytes({t0}, {t1}, {select})", f"bytes({t2}, {t3}, {select})"
    return f"bytes({first}, {second}, {top})"


def _selectors(words: Words, at: Positions) -> tuple[str, str]:
    """The nibbles that ask the halves, and those that choose between the answers."""
    start = int(at[0, 0])
    number, shift = start // 32, start % 32
    if shift in (0, 16) and (at.reshape(-1) == start + np.arange(16)).all():
        source, name = words.names[number], f"{words.names[number]}_"
        by = f" >> {shift}" if shift else ""
    else:  # they lie elsewhere: put in order first
        field = words.field(pieces(at, 4), 0, 4)
        source, name, by = words.once(("nibbles", at.tobytes()), "c", lambda: field), "c_", ""
    select = words.once(("select", source), f"{name}select", lambda: f"{source} & 0x77777777u")
    high = f"(({source} & 0x88888888u) >> 1) + 0x32103210u"
    top = words.once(("top", source), f"{name}top", lambda: high)
    return f"{select}{by}", f"{top}{by}"
