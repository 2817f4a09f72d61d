"""What a kernel computes, for tests that run it before and after a pass."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from dslc.compiler.interpreter import Options, run
from dslc.compiler.ir import Kernel
from dslc.compiler.ir.text.printer import print_program


def results(kernel: Kernel, args: Mapping[str, np.ndarray], shuffle: int | None = None) -> dict:
    """Copies of the arguments after a run of the kernel, checks on."""
    copies = {n: a.copy() if isinstance(a, np.ndarray) else a for n, a in args.items()}
    run(kernel, copies, Options(shuffle=shuffle))
    return copies


def assert_same_meaning(before: Kernel, after: Kernel, args: Mapping[str, np.ndarray]) -> None:
    """Both kernels leave the same bits in their arguments."""
    wanted = results(before, args)
    found = results(after, args, shuffle=1)
    for name in wanted:
        message = f"{name}\n{print_program(before)}\n{print_program(after)}"
        np.testing.assert_array_equal(found[name], wanted[name], err_msg=message)
