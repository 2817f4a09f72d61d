"""A kernel called on any machine, as a user calls it: what is not here is emulated, and CUDA always.

for target in MACHINES:
    call(target, SOURCE, {"x": x, "y": y})   # `out` and `inout` arrays are written in place
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import dslc
import pytest
from dslc.calls.arguments import dim_size
from dslc.codegen.hip.compilers import compilers
from dslc.compilation.templates import TemplateOrigin
from dslc.compiler.interpreter.dims import evaluate
from dslc.compiler.ir import Memory, Role, TileProgram
from dslc.compiler.targets import find_target
from dslc.runtime import cuda_emulator, hip_emulator, packing
from dslc.runtime.storage import read_storage

from support.aarch64 import needs_emulator
from support.gpu import emulation

MACHINES = ("cuda:sm_90a", "hip:gfx950", "nki:trn2", "aie:npu2", "aarch64:bf16")


def call(
    target: str,
    source: str,
    args: Mapping[str, Any],
    config: Mapping[str, int] | None = None,
    kernel: str | None = None,
    define: Mapping[str, object] | None = None,
) -> None:
    """Compile the last kernel of a source (or the one of that name) and run it once.

    Skips the test where the machine's toolchain or emulator is not here.
    """
    require(target)
    library = dslc.compile(source, target=target, define=define, cache=False)
    launch(target, library[kernel or list(library)[-1]], args, config)


def launch(
    target: str, kernel: Any, args: Mapping[str, Any], config: Mapping[str, int] | None = None
) -> None:
    """Run a kernel that was compiled for the target once; CUDA on a GPU where DSLC_TEST_GPU is set."""
    if not target.startswith("cuda") or "DSLC_TEST_GPU" in os.environ:
        kernel(**args, **(config or {}))
        return
    origin = kernel.origin
    assert isinstance(origin, TemplateOrigin)
    parameters = origin.signature.parameters
    made = origin.elaborated({}, dict(config or {}), lambda d: dim_size(parameters, args, d))
    gpu = find_target(target)
    rows = [p for p in made.program.params if isinstance(p, Memory) and p.packed == "row"]
    codes = _codes(made.program, rows, args)
    lowered = emulation.lower(made.program, target=gpu)
    emulation.execute(lowered, {**args, **codes}, seed=1, target=gpu)
    for param in rows:
        if param.role is not Role.IN and codes[param.name] is not args[param.name]:
            args[param.name][...] = packing.pack(codes[param.name], emulation.row_storage(param))


def _codes(program: TileProgram, rows: list[Memory], args: Mapping[str, Any]) -> dict[str, Any]:
    """The `packed row` tensors of a call, one code a byte, as the emulator takes them.

    A call gives codes or bytes, as on every machine; it has back what it gave. What may be either is
    bytes.
    """
    dims = emulation.dims_of(program, args, {p.name for p in rows})
    found = {}
    for param in rows:
        given = args[param.name]
        storage = emulation.row_storage(param)
        try:
            shape = tuple(evaluate(e, dims) for e in param.shape)
        except KeyError:  # a dim that this tensor alone has: only codes tell it
            is_bytes = False
        else:
            is_bytes = given.shape == read_storage(storage).shape(shape)
        found[param.name] = packing.unpack(given, storage, shape) if is_bytes else given
    return found


def require(target: str) -> None:
    """Skip the test where a target cannot run on this machine."""
    family = target.partition(":")[0]
    if family == "cuda" and cuda_emulator.compiler() is None:
        pytest.skip("needs g++ or clang++")
    if family == "hip" and (next(compilers(), None) is None or hip_emulator.compiler() is None):
        pytest.skip("needs a clang for AMD GPUs and a C compiler")
    if family == "aarch64":
        needs_emulator()
