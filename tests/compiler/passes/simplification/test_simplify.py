"""Simplification of expressions and control flow."""

import meaning
import random_ir
from dslc.compiler.ir.verify import verify
from dslc.compiler.passes.simplification.simplify import Simplify
from hypothesis import given, settings
from hypothesis import strategies as st


@given(random_ir.kernels(), st.integers(0, 9))
@settings(max_examples=100)
def test_simple_kernels_mean_the_same(kernel, seed):
    changed = Simplify()(kernel)
    verify(changed)
    meaning.assert_same_meaning(kernel, changed, random_ir.inputs(kernel, seed))


@given(random_ir.kernels())
@settings(max_examples=60)
def test_simplification_is_idempotent(kernel):
    changed = Simplify()(kernel)
    assert Simplify()(changed) is changed
