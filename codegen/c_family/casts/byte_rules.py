"""Casts of small floats to 16 bits four at a time, through bytes that are floats of 8 bits themselves.

The four bytes of a word get the codes' fields where f8e5m2 or f8e4m3 has its own: sign at bit 7, the
mantissa's highest bit below the exponent. That takes half the masks and shifts that two halves take.
From there each pair of results is one instruction:

- a float of at most 2 bits of mantissa is a byte of f8e5m2, which is the upper byte of an f16 (PRMT);
- one of 3 bits is a byte of f8e4m3, which machines that multiply such floats convert two at a time.

What the narrower exponent lacks is a power of two. The two 8-bit floats reach bf16 by way of f16, which
has their infinities and NaN. Storage in four lanes has codes so
(`dslc.compiler.low_bit_format`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from dslc.codegen.c_family.casts.bits import Positions
from dslc.codegen.c_family.casts.extraction import Words, pieces
from dslc.compiler.dtypes import DType
from dslc.compiler.low_bit_format import ByteForm, byte_form


@dataclass(frozen=True, slots=True)
class ByteCast:
    """How a small float becomes f16 through bytes; results are to be multiplied by `factor`."""

    form: ByteForm
    to: DType
    mantissa: int
    whole: bool  # the codes are bytes of the form already
    factor: float

    def word(self, words: Words, at: Positions) -> str | None:
        """A word of two results, which lack the factor; None where the bits do not lie in bytes."""
        first = first_lane(at)
        if first is None:
            return None
        four = at[0] - 8 * first + 8 * np.arange(4)[:, None]
        source = words.once(four.tobytes(), "b", lambda: self._bytes(words, four))
        if self.form is ByteForm.E5M2:
            text = f"bytes({source}, 0u, 0x{first + 1}4{first}4u)"
        else:
            text = f"f16x2_of_f8e4m3x2({source}{' >> 16' if first else ''})"
        return text if self.to.name == "f16" else f"bf16x2_of_f16x2({text})"

    def _bytes(self, words: Words, four: Positions) -> str:
        """Four codes as bytes of the form."""
        if self.whole:
            return words.names[int(four[0, 0]) // 32]
        place = self.form.mantissa - self.mantissa
        text = words.field(pieces(four[:, :-1], 8), place, 8)
        return words.field(pieces(four[:, -1:], 8), 7, 8, text)


def byte_cast(dtype: DType, to: DType) -> ByteCast | None:
    """The way through bytes of a dtype, or None."""
    form = byte_form(dtype, to)
    if form is None:
        return None
    factor = 2.0 ** (form.bias - ((1 << (dtype.exponent - 1)) - 1))
    return ByteCast(form, to, dtype.mantissa, dtype.bits == 8 and factor == 1, factor)


def first_lane(at: Positions) -> int | None:
    """The byte that the bits of a word's first element lie in, those of the second in the next one."""
    lanes = at % 32 // 8
    first = int(lanes[0, 0])
    beside = (lanes[0] == first).all() and (at[1] - at[0] == 8).all()
    return first if beside and first in (0, 2) else None
