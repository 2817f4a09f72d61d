"""Random kernels: their machine code gives what the interpreter gives."""

from __future__ import annotations

import numpy as np
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.interpreter import Options, run
from dslc.compiler.ir import Kernel
from dslc.compiler.ir.text.printer import print_program
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from strategies import random_ir
from support.machines import this_cpu
from support.stood_in import execute


@given(random_ir.kernels(), st.integers(0, 99))
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_the_code_means_what_the_kernel_means(kernel: Kernel, seed: int) -> None:
    args = random_ir.inputs(kernel, seed)
    wanted = {n: a.copy() for n, a in args.items()}
    run(kernel, wanted, Options())
    try:
        execute(kernel, this_cpu(), args)
    except DiagnosticError as problem:
        # What the machine has no words for is said so; nothing else may stop the compiler.
        assume(problem.diagnostics[0].code != "DSL0590")
        raise
    for name, expected in wanted.items():
        message = f"{name}\n{print_program(kernel)}"
        np.testing.assert_allclose(args[name], expected, rtol=1e-4, atol=1e-4, err_msg=message)
