"""Kernels on the simulated NPU: planned, printed, run, and compared with the interpreter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dslc
import numpy as np
from dslc.codegen.aie.planning.plan_kernel import Planned, plan_kernel
from dslc.codegen.aie.printing.objectfifos import print_objectfifos
from dslc.compiler.dtypes import storage_dtype
from dslc.compiler.interpreter import Options, run
from dslc.compiler.ir import Kernel, Role
from dslc.compiler.passes.pass_lists.npu import aie_passes
from dslc.compiler.passes.pass_manager import run_passes
from dslc.compiler.targets import find_target

TARGET = find_target("aie:npu2")
EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


def lowered(
    source: str | Path, kernel: str, config: Mapping[str, object] | None = None, **sizes: object
) -> Kernel:
    """Tile IR after the passes; sizes are dims, and constants such as T="bf16"."""
    define = dict(sizes)
    library = dslc.compile(source, target="interp", define=define, cache=False)
    origin: Any = getattr(library, kernel).origin
    dims = {d: int(str(define[d])) for d in origin.signature.dims}
    program = origin.elaborated(dims, dict(config or {}), dims.get).program
    made = run_passes(program, aie_passes(TARGET))
    assert isinstance(made, Kernel)
    return made


@dataclass
class Case:
    """A kernel with its plan, its module and arrays as the module wants them."""

    kernel: Kernel
    planned: Planned
    text: str
    arrays: dict[str, Any]

    @property
    def packed(self) -> dict[str, int]:
        """The bits of an element of the tensors whose rows are packed."""
        return {m.name: m.dtype.bits for m in self.kernel.tensors if m.packed == "row"}

    @property
    def padded(self) -> list[Any]:
        """The arrays with zeros up to whole tiles."""
        found = []
        for tensor in self.planned.plan.tensors:
            own = self.arrays[tensor.memory.name]
            if self.packed.get(tensor.memory.name):
                own = _packed(own, self.packed[tensor.memory.name])
            array = np.zeros(tensor.shape, own.dtype)
            ends = zip(tensor.origin, own.shape, strict=True)
            array[tuple(slice(o, o + n) for o, n in ends)] = own
            found.append(array)
        return found

    def expected(self) -> dict[str, Any]:
        """What the interpreter gives, by name of the written tensors."""
        own = {name: array.copy() for name, array in self.arrays.items()}
        run(self.kernel, own, Options())
        return {m.name: own[m.name] for m in self.kernel.tensors if m.role is not Role.IN}

    def written(self, padded: list[Any]) -> dict[str, Any]:
        """The written tensors without their padding."""
        pairs = zip(self.planned.plan.tensors, padded, strict=True)
        return {
            t.memory.name: array[
                tuple(
                    slice(o, o + n)
                    for o, n in zip(t.origin, self.arrays[t.memory.name].shape, strict=True)
                )
            ]
            for t, array in pairs
            if t.memory.role is not Role.IN
        }


def _packed(codes: Any, bits: int) -> Any:
    """Rows of codes as bytes, the lowest bits first."""
    flat = np.unpackbits(codes.view(np.uint8)[..., None], axis=-1, count=bits, bitorder="little")
    return np.packbits(flat.reshape(*codes.shape[:-1], -1), axis=-1, bitorder="little")


def case(source: str | Path, kernel: str, config: Any = None, seed: int = 0, **sizes: Any) -> Case:
    """A kernel with random arrays of its sizes."""
    made = lowered(source, kernel, config, **sizes)
    planned = plan_kernel(made, TARGET)
    rng = np.random.default_rng(seed)
    arrays = {}
    for memory in made.tensors:
        shape = tuple(int(n.value) for n in memory.shape)  # type: ignore[union-attr]
        dtype = storage_dtype(memory.dtype)
        if memory.role is Role.OUT:
            arrays[memory.name] = np.zeros(shape, dtype)
        elif memory.dtype.is_float:
            arrays[memory.name] = rng.standard_normal(shape).astype(dtype)
        else:
            low, high = memory.dtype.integer_range
            arrays[memory.name] = rng.integers(max(low, -9), min(high, 9), shape).astype(dtype)
    return Case(made, planned, print_objectfifos(planned, "npu2"), arrays)


def assert_close(found: Mapping[str, Any], expected: Mapping[str, Any], rtol: float = 2e-2) -> None:
    """Within bf16's tolerance, relative to the largest element."""
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        x, y = array.astype(np.float64), found[name].astype(np.float64)
        np.testing.assert_allclose(y, x, rtol=rtol, atol=rtol * 0.1 * max(1e-6, np.abs(x).max()))
