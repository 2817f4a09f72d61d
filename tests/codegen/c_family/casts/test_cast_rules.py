"""Which casts have rules of their own."""

from __future__ import annotations

import itertools

import pytest
from dslc.codegen.c_family.casts.cast_rules import biased_rule
from dslc.compiler.dtypes import DType, parse_dtype


def named(name: str) -> DType:
    found = parse_dtype(name)
    assert found is not None
    return found


@pytest.mark.parametrize("to", ["f16", "bf16"])
def test_integers_of_no_more_bits_than_a_mantissa_have_a_biased_rule(to: str) -> None:
    for letter, bits in itertools.product("iu", range(1, 9)):
        rule = biased_rule(named(f"{letter}{bits}"), named(to))
        assert (rule is not None) == (bits <= named(to).mantissa), (letter, bits)
    assert biased_rule(named("i16"), named(to)) is None
