"""Random kernels: their emitted nki, run in the simulator, gives what the interpreter gives."""

from __future__ import annotations

import numpy as np
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.ir import Kernel
from dslc.compiler.ir.text.printer import print_program
from dslc.runtime.nki_simulator import NkiFault
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from strategies import random_ir
from support.nki.trainium import execute, interpret, lower, source


@given(random_ir.kernels(), st.integers(0, 99))
@settings(max_examples=60, suppress_health_check=list(HealthCheck))
def test_the_text_means_what_the_kernel_means(kernel: Kernel, seed: int) -> None:
    args = random_ir.inputs(kernel, seed)
    wanted = {n: a.copy() for n, a in args.items()}
    interpret(kernel, wanted)
    try:
        text = source(kernel)[0]
    except DiagnosticError as problem:
        # What the machine has no words for is said so; nothing else may stop the compiler.
        assume(problem.diagnostics[0].code != "DSL0590")
        raise
    try:
        execute(kernel, args)
    except NkiFault as problem:
        raise AssertionError(f"{problem}\n{print_program(lower(kernel))}\n{text}") from None
    for name, expected in wanted.items():
        message = f"{name}\n{print_program(lower(kernel))}\n{text}"
        np.testing.assert_allclose(args[name], expected, rtol=1e-4, atol=1e-4, err_msg=message)
