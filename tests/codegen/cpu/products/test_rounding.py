"""f32 rounded to bf16 in place: what two conversions give, by the interpreter of Vector IR."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from dslc.codegen.cpu.products.panels import rounded_to_bf16
from dslc.compiler.dtypes import BF16, F32
from dslc.compiler.vector.building import Builder
from dslc.compiler.vector.function import Module
from dslc.compiler.vector.interpreter import interpret
from dslc.compiler.vector.types import VectorType

LANES = 16


def test_rounded_in_place_is_converted_twice() -> None:
    b = Builder("rounds")
    source, near, twice = b.pointer("source"), b.pointer("near"), b.pointer("twice")
    with b.loop(0, 64) as loop:
        at = b.mul(loop.var, 4 * LANES)
        x = b.load(source, at, VectorType(F32, LANES))
        b.store(near, at, rounded_to_bf16(SimpleNamespace(b=b), x))  # type: ignore[arg-type]
        b.store(twice, at, b.convert(b.convert(x, BF16), F32))
    bits = np.random.default_rng(5).integers(0, 1 << 32, 64 * LANES, dtype=np.uint32)
    ties = [0x3F808000, 0x3F818000, 0x7F7FFFFF, 0xFF800000, 0x7F800000, 0x7FC00001, 0x00008000, 0]
    bits[: len(ties)] = ties
    given = bits.view(np.float32)
    found, wanted = np.zeros_like(given), np.zeros_like(given)
    assert interpret(Module((b.function(),)), "rounds", given, found, wanted) == 0
    unknown = np.isnan(wanted)
    assert (np.isnan(found) == unknown).all()
    np.testing.assert_array_equal(found[~unknown].view(np.uint32), wanted[~unknown].view(np.uint32))
