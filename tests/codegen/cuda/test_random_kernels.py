"""Random kernels of Tile IR: their emitted text, run on the host, gives what the interpreter gives."""

from __future__ import annotations

import numpy as np
import pytest
from dslc.compiler.interpreter import Options, run
from dslc.compiler.ir import Kernel
from dslc.compiler.ir.text.printer import print_program
from dslc.runtime.cuda_emulator import EmulationError, compiler
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from strategies import random_ir
from support.gpu.emulation import emitted, execute, lower

pytestmark = pytest.mark.skipif(compiler() is None, reason="needs g++ or clang++")


@given(random_ir.kernels(), st.integers(0, 99))
@settings(max_examples=60, suppress_health_check=list(HealthCheck))
def test_the_text_means_what_the_kernel_means(kernel: Kernel, seed: int) -> None:
    args = random_ir.inputs(kernel, seed)
    wanted = {n: a.copy() for n, a in args.items()}
    run(kernel, wanted, Options())
    lowered = lower(kernel)
    assert isinstance(lowered, Kernel)
    text = emitted(lowered)[0]
    try:
        execute(lowered, args, seed)
    except EmulationError as problem:
        raise AssertionError(f"{problem}\n{print_program(lowered)}\n{text}") from None
    for name, expected in wanted.items():
        message = f"{name}\n{print_program(lowered)}\n{text}"
        np.testing.assert_allclose(args[name], expected, rtol=1e-4, atol=1e-4, err_msg=message)
