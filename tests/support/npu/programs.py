"""Programs on the simulated NPU: stitched, printed at both levels, run and compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import dslc
import numpy as np
from dslc.codegen.aie.planning.arguments import program_as_arrays
from dslc.codegen.aie.planning.stitching import Stitched, plan_program
from dslc.codegen.aie.printing.descriptors import descriptor_lines
from dslc.codegen.aie.printing.dispatch import print_dispatch
from dslc.codegen.aie.printing.objectfifos import fifo_lines
from dslc.codegen.aie.proving.stitched_legality import prove_stitched
from dslc.compiler.dtypes import storage_dtype
from dslc.compiler.interpreter import Options, run
from dslc.compiler.ir import Memory, Program, Role
from dslc.compiler.ir.arithmetic.affine import constant
from dslc.compiler.passes.pass_lists.npu import aie_passes
from dslc.compiler.passes.pass_manager import run_passes

from support.npu.kernels import TARGET


@dataclass
class Dispatch:
    """A program in launches, and random arrays for its parameters."""

    program: Program
    stitched: Stitched
    given: dict[str, Any]

    def text(self, *, explicit: bool = False) -> str:
        """The module, with object FIFOs or with locks."""
        lines = descriptor_lines if explicit else fifo_lines
        return print_dispatch(self.stitched, "npu2", lines)

    def arrays(self) -> tuple[list[Any], dict[int, Any]]:
        """The dispatch's arguments, padded, and which of their elements hold nothing yet."""
        arrays, blank = [], {}
        for number, tensor in enumerate(self.stitched.tensors):
            own = tuple(slice(int(constant(n) or 0)) for n in tensor.memory.shape)
            array = np.zeros(tensor.shape, storage_dtype(tensor.memory.dtype))
            if tensor.memory.role in (Role.IN, Role.INOUT):
                array[own] = self.given[tensor.memory.name]
            else:
                blank[number] = np.zeros(tensor.shape, bool)
                blank[number][own] = True
            arrays.append(array)
        return arrays, blank

    def written(self, arrays: list[Any]) -> dict[str, Any]:
        """The results without their padding."""
        return {
            t.memory.name: a[tuple(slice(int(constant(n) or 0)) for n in t.memory.shape)]
            for t, a in zip(self.stitched.tensors, arrays, strict=True)
            if t.memory.role in (Role.OUT, Role.INOUT)
        }

    def expected(self) -> dict[str, Any]:
        """What the interpreter gives."""
        own = {name: array.copy() for name, array in self.given.items()}
        run(self.program, own, Options())
        params = [p for p in self.program.params if isinstance(p, Memory)]
        return {p.name: own[p.name] for p in params if p.role is not Role.IN}


def dispatch(
    source: Any, name: str, change: Callable[[dict[str, Any]], None] | None = None, **sizes: Any
) -> Dispatch:
    """A program for sizes: dims, and constants such as T="bf16"; `change` edits its arguments."""
    library = dslc.compile(source, target="interp", define=sizes, cache=False)
    origin: Any = getattr(library, name).origin
    dims = {d: int(str(sizes[d])) for d in origin.signature.dims}
    program = run_passes(origin.elaborated(dims, {}, dims.get).program, aie_passes(TARGET))
    assert isinstance(program, Program)
    arrays, _ = program_as_arrays(program)
    stitched = plan_program(arrays, TARGET)
    prove_stitched(stitched)
    rng = np.random.default_rng(0)
    given: dict[str, Any] = {}
    for memory in program.params:
        assert isinstance(memory, Memory)
        shape = tuple(int(constant(n) or 0) for n in memory.shape)
        dtype = storage_dtype(memory.dtype)
        if memory.dtype.is_float:
            given[memory.name] = rng.standard_normal(shape).astype(dtype)
        else:
            given[memory.name] = rng.integers(0, 9, shape).astype(dtype)
    if change is not None:
        change(given)
    return Dispatch(program, stitched, given)
