"""Dead code."""

import meaning
import random_ir
from dslc.compiler.ir.verify import verify
from dslc.compiler.passes.simplification.dead_code import DeadCode
from hypothesis import given, settings
from hypothesis import strategies as st


@given(random_ir.kernels(), st.integers(0, 9))
@settings(max_examples=60)
def test_dead_code_has_no_meaning(kernel, seed):
    changed = DeadCode()(kernel)
    verify(changed)
    assert DeadCode()(changed) is changed
    meaning.assert_same_meaning(kernel, changed, random_ir.inputs(kernel, seed))
