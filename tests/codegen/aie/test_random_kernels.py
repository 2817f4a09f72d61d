"""Random kernels: their emitted modules, run in the simulator, give what the interpreter gives."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from dslc.codegen.aie.planning.events import Tensor
from dslc.codegen.aie.planning.plan_kernel import plan_kernel
from dslc.codegen.aie.printing.objectfifos import print_objectfifos
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.interpreter import Options, run
from dslc.compiler.ir import Kernel
from dslc.compiler.ir.expr import Expr, Var, index
from dslc.compiler.ir.rewrite import Substitution
from dslc.compiler.ir.text.printer import print_program
from dslc.compiler.passes.pass_lists.npu import aie_passes
from dslc.compiler.passes.pass_manager import run_passes
from dslc.runtime.aie_simulator import AieFault, simulate
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from strategies import random_ir
from support.npu.kernels import TARGET

_SAID = {"DSL0550", "DSL0551", "DSL0552", "DSL0553", "DSL0554", "DSL0590"}


def _inside(tensor: Tensor, shape: tuple[int, ...]) -> tuple[slice, ...]:
    """Where a caller's array of a shape lies in the tensor's memory."""
    return tuple(slice(o, o + n) for o, n in zip(tensor.origin, shape, strict=True))


@given(random_ir.kernels(), st.integers(0, 99))
@settings(max_examples=60, suppress_health_check=list(HealthCheck))
def test_the_text_means_what_the_kernel_means(kernel: Kernel, seed: int) -> None:
    args = random_ir.inputs(kernel, seed)
    wanted = {n: a.copy() for n, a in args.items()}
    run(kernel, wanted, Options())
    lowered = run_passes(_fixed(kernel, args), aie_passes(TARGET))
    assert isinstance(lowered, Kernel)
    try:
        planned = plan_kernel(lowered, TARGET)
    except DiagnosticError as problem:
        # What the machine has no place for is said so; nothing else may stop the compiler.
        assume(problem.diagnostics[0].code not in _SAID)
        raise
    text = print_objectfifos(planned, "npu2")
    padded = []
    for tensor in planned.plan.tensors:
        own = args[tensor.memory.name]
        array = np.zeros(tensor.shape, own.dtype)
        array[_inside(tensor, own.shape)] = own
        padded.append(array)
    try:
        simulate(text, padded)
    except AieFault as problem:
        raise AssertionError(f"{problem}\n{print_program(lowered)}\n{text}") from None
    for tensor, array in zip(planned.plan.tensors, padded, strict=True):
        name = tensor.memory.name
        found = array[_inside(tensor, wanted[name].shape)]
        message = f"{name}\n{print_program(lowered)}\n{text}"
        np.testing.assert_allclose(found, wanted[name], rtol=1e-4, atol=1e-4, err_msg=message)


def _fixed(kernel: Kernel, args: dict[str, Any]) -> Kernel:
    """The kernel for the sizes of its arguments: an NPU's kernels know all dims."""
    sizes: dict[Var, Expr] = {}
    for memory in kernel.tensors:
        for extent, size in zip(memory.shape, args[memory.name].shape, strict=True):
            if isinstance(extent, Var):
                sizes[extent] = index(size)
    made = Substitution(scalars=sizes).kernel(kernel)
    left = tuple(d for d in kernel.dims if d not in sizes)
    return dataclasses.replace(made, dims=left)
