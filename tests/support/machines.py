"""A kernel called on any machine, as a user calls it: what is not here is emulated, and CUDA always.

for target in MACHINES:
    call(target, SOURCE, {"x": x, "y": y})   # `out` and `inout` arrays are written in place
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Mapping
from typing import Any

import dslc
import pytest
from dslc.calls.arguments import dim_size
from dslc.codegen.hip.compilers import compilers
from dslc.compilation.templates import TemplateOrigin
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.interpreter.dims import evaluate
from dslc.compiler.ir import Memory, Role, TileProgram
from dslc.compiler.targets import find_target
from dslc.machines.cpu_processors import present_target
from dslc.machines.registry import machine_class
from dslc.runtime import cuda_emulator, hip_emulator, packing
from dslc.runtime.storage import read_storage

from support.aarch64 import needs_emulator
from support.gpu import emulation

MACHINES = ("cuda:sm_90a", "hip:gfx950", "nki:trn2", "aie:npu2", "aarch64:bf16", "cpu")


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
    library = dslc.compile(source, target=target_of(target), define=define, cache=False)
    launch(target, library[kernel or list(library)[-1]], args, config)


def launch(
    target: str, kernel: Any, args: Mapping[str, Any], config: Mapping[str, int] | None = None
) -> None:
    """Run a kernel that was compiled for the target once; CUDA on a GPU where DSLC_TEST_GPU is set."""
    parameters = kernel.origin.signature.parameters
    if absent := [p.name for p in parameters if p.optional and p.name not in args]:
        kernel = kernel.without(*absent)
    if target == "cpu":
        kernel(**packed(kernel, args, config or {}), **(config or {}))
        return
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


def target_of(machine: str) -> str:
    """The target that a machine of these tests is: `cpu` is the best of the CPU that is here."""
    return this_cpu() if machine == "cpu" else machine


def packed(kernel: Any, args: Mapping[str, Any], config: Mapping[str, int]) -> dict[str, Any]:
    """The arguments with codes of tensors that a kernel reads packed, as a CPU's kernel takes them.

    And the sizes of dims, which packed bytes may not tell.
    """
    parameters = kernel.origin.signature.parameters
    dims = {d for p in parameters for d in p.dims or () if d.isidentifier()}
    sizes = {d: n for d in dims if (n := dim_size(parameters, args, d)) is not None}
    given = dict(args)
    for p in parameters:
        array = args.get(p.name)
        if p.dtype.bits <= 8 and hasattr(array, "shape") and not p.is_written:
            with contextlib.suppress(dslc.DiagnosticError):
                given[p.name] = kernel.pack(p.name, array, **sizes, **config)
    told = any(given[name] is not array for name, array in args.items())
    return {**given, **sizes} if told else given


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
    if family == "cpu":
        this_cpu()


@functools.cache
def _present() -> str | None:
    try:
        return present_target()
    except DiagnosticError:
        return None


def this_cpu() -> str:
    """The best target of this CPU; skips the test where it has none, or where LLVM is not here."""
    pytest.importorskip("llvmlite")
    found = _present()
    if found is None:
        pytest.skip("there is no target for this CPU")
    return found


def kinds_here() -> list[str]:
    """Targets of different widths of vectors that this CPU runs: itself, and one with AVX2."""
    found = _present()
    if found is None:
        return []
    plain = "cpu:x86-64-v3"
    runs = machine_class(plain).runs_here(plain)
    return list(dict.fromkeys([found, *([plain] if runs else [])]))
