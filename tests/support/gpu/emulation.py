"""A lowered program on the host: every kernel's text is emitted, and the emulator runs the text.

lowered = lower(program)
execute(lowered, args, seed=1)   # arrays of `out` and `inout` parameters are written in place
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
from dslc.codegen.c_family.memory.widths import is_row
from dslc.codegen.cuda.generate import emit
from dslc.codegen.cuda.tma import tensor_maps
from dslc.codegen.cuda.warp_specialization import launched_threads
from dslc.codegen.quoting import entry_name
from dslc.compiler.dtypes import Kind, as_storage, storage_dtype
from dslc.compiler.interpreter import bind_dims
from dslc.compiler.interpreter.dims import evaluate, number
from dslc.compiler.ir import Kernel, Memory, Program, Role, TileProgram, View, alignment
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.traverse import walk
from dslc.compiler.passes.pass_lists.gpu import gpu_passes
from dslc.compiler.passes.pass_manager import run_passes
from dslc.compiler.targets import Target, find_target
from dslc.runtime import packing
from dslc.runtime.cuda_emulator import BoxMap, emulate
from dslc.runtime.expression import evaluate as evaluated
from dslc.runtime.scalars import as_dtype
from numpy.lib.stride_tricks import as_strided

TARGET = find_target("cuda:sm_90a")
Edit = Callable[[str], str]


@functools.cache
def emitted(kernel: Kernel, target: Target = TARGET) -> tuple[str, int]:
    """The text of a kernel and its bytes of shared memory."""
    return emit(kernel, target)


def lower(
    program: TileProgram, units: int = 0, target: Target = TARGET, **options: int
) -> TileProgram:
    """After all passes of a GPU, or of one with so many multiprocessors."""
    machine = replace(target, units=units) if units else target
    return run_passes(program, gpu_passes(machine, **options))


def execute(
    program: TileProgram,
    args: Mapping[str, Any],
    seed: int = 0,
    edit: Edit | None = None,
    target: Target = TARGET,
) -> None:
    """Run a lowered program by its emitted text (changed by `edit`, for tests of the tests)."""

    def launch(
        kernel: Kernel, given: Mapping[str, Any], known: Mapping[str, Any], seed: int
    ) -> None:
        _launch(kernel, given, known, seed, edit, target)

    run_calls(program, args, seed, launch)


Launch = Callable[[Kernel, Mapping[str, Any], Mapping[str, Any], int], None]


def run_calls(program: TileProgram, args: Mapping[str, Any], seed: int, launch: Launch) -> None:
    """Launch a kernel, or those of a program in order, with packed arguments and buffers made."""
    given = dict(args)
    for param in program.packed:
        codes = as_storage(given[param.name], param.dtype)
        assert codes is not None
        given[param.name] = packing.pack(codes, param.storage.to_data())
    if isinstance(program, Kernel):
        launch(program, {**given, **_rounded(program, given)}, {}, seed)
        return
    dims = {**dims_of(program, given), **_rounded(program, given)}
    arrays = {p: given[p.name] for p in program.params if isinstance(p, Memory)}
    for memory in program.buffers:
        shape = tuple(evaluate(e, dims) for e in memory.shape)
        arrays[memory] = np.full(prod(shape) * memory_bytes(memory), 0xFF, np.uint8).view(
            storage_dtype(memory.dtype)
        )
        arrays[memory] = arrays[memory].reshape(shape)
    views = {v.memory: v for v in program.views}
    for place, call in enumerate(program.calls):
        if call.when is not None and not number(call.when, dims):
            continue
        pairs = list(zip(call.kernel.params, call.args, strict=True))
        arrays |= {a: _part(views[a], arrays, dims) for a in call.args if a in views}
        passed = {p.name: arrays[a] for p, a in pairs if isinstance(a, Memory)}
        scalars = {p.name: number(a, dims) for p, a in pairs if not isinstance(a, Memory)}
        scalars = _rounded(call.kernel, scalars)
        launch(call.kernel, {**passed, **scalars}, scalars, seed + place)


def _part(view: View, arrays: Mapping[Memory, Any], dims: Mapping[str, Any]) -> Any:
    base = arrays[view.base].reshape(-1)[evaluate(view.offset, dims) :]
    shape = tuple(evaluate(e, dims) for e in view.memory.shape)
    steps = tuple(evaluate(e, dims) * base.itemsize for e in view.memory.strides or ())
    return as_strided(base, shape, steps)


def _rounded(program: TileProgram, given: Mapping[str, Any]) -> dict[str, Any]:
    """The scalars as runtimes pass them: of their parameters' types."""
    found = {p.name: p.dtype.name for p in program.params if not isinstance(p, Memory)}
    return {name: as_dtype(given[name], dtype) for name, dtype in found.items()}


def memory_bytes(memory: Memory) -> int:
    """Bytes of an element as arrays hold it."""
    return storage_dtype(memory.dtype).itemsize


def dims_of(
    program: Kernel | Program, given: Mapping[str, Any], bytes_of: Collection[str] = ()
) -> dict[str, Any]:
    """The value of every dim and scalar by name; tensors of `bytes_of` are given without a shape."""
    packed = {p.name for p in program.packed} | set(bytes_of)
    tensors = [p for p in program.params if isinstance(p, Memory)]
    shapes = {p.name: None if p.name in packed else given[p.name].shape for p in tensors}
    known = {p.name: given[p.name] for p in program.params if not isinstance(p, Memory)}
    known |= dict(program.fixed)
    steps = {
        p.name: [s // memory_bytes(p) for s in given[p.name].strides]
        for p in tensors
        if p.name not in packed and p.strides is not None
    }
    return bind_dims(program.params, shapes, steps, known)


def turns(kernel: Kernel, dims: Mapping[str, Any]) -> int:
    """The blocks of a launch."""
    bounds = [[evaluate(e, dims) for e in (a.start, a.stop, a.step)] for a in kernel.grid]
    return prod(max(0, -(-(stop - start) // step)) for start, stop, step in bounds)


def _launch(
    kernel: Kernel,
    given: Mapping[str, Any],
    known: Mapping[str, Any],
    seed: int,
    edit: Edit | None,
    target: Target,
) -> None:
    text, shared = emitted(kernel, target)
    dims = {**dims_of(kernel, given), **known}
    words, spaces = arguments(kernel, given, dims)
    places = [p.name for p in kernel.params]
    maps = [_box(box.to_data(), places, dims) for box in tensor_maps(kernel)]
    emulate(
        edit(text) if edit else text, entry_name(kernel.name), [*words, *spaces, *maps],
        turns(kernel, dims), launched_threads(kernel), shared, seed,
        alignments={
            i: alignment(p) for i, p in enumerate(kernel.params) if isinstance(p, Memory)
        },
    )  # fmt: skip
    check_counters(kernel, spaces)
    for param, stored in zip(kernel.params, words, strict=False):
        if isinstance(param, Memory) and is_row(param) and param.role is not Role.IN:
            codes = given[param.name]
            codes[...] = packing.unpack(stored, row_storage(param), codes.shape).view(codes.dtype)


def row_storage(memory: Memory) -> dict[str, Any]:
    """The storage of a `packed row` tensor."""
    signed = memory.dtype.kind is Kind.INT
    return {"scheme": "row", "bits": memory.dtype.bits, "signed": signed}


def arguments(
    kernel: Kernel, given: Mapping[str, Any], dims: Mapping[str, Any]
) -> tuple[list[Any], list[np.ndarray]]:
    """The arguments of a kernel in order, its dims, and its workspaces, which come last."""
    words: list[Any] = []
    for param in kernel.params:
        value = given[param.name]
        if isinstance(param, Memory) and param.strides is not None:
            value = _elements(value)
        if isinstance(param, Memory) and not value.flags.c_contiguous:
            raise AssertionError(f"{param.name} is not in C order")
        stored = {p.name for p in kernel.packed}
        if isinstance(param, Memory) and is_row(param) and param.name not in stored:
            codes = value if param.dtype.is_integer else value.view(np.uint8)
            value = packing.pack(codes, row_storage(param))
        words.append(value)
    words += [dims[d.name] for d in kernel.dims]
    return words, [_workspace(w, dims) for w in kernel.workspaces]


def _elements(array: np.ndarray) -> np.ndarray:
    """The memory of a strided array from its first element to its last, which a kernel addresses."""
    pairs = zip(array.shape, array.strides, strict=True)
    count = sum((n - 1) * step // array.itemsize for n, step in pairs) + 1
    return np.lib.stride_tricks.as_strided(array, (count if array.size else 0,), (array.itemsize,))


def check_counters(kernel: Kernel, spaces: list[np.ndarray]) -> None:
    """What a kernel counts in is zero again after it."""
    counters = {s.region.memory for s in walk(kernel.body) if isinstance(s, ins.AtomicRmw)}
    for memory, space in zip(kernel.workspaces, spaces, strict=True):
        if memory in counters:
            assert not space.any(), f"the counter {memory.name} is not zero after {kernel.name}"


def _box(data: Mapping[str, Any], places: list[str], dims: Mapping[str, Any]) -> BoxMap:
    """A tensor map as the runtime would encode it."""
    extents, steps = (
        tuple(evaluated(text, dims) for text in data[key]) for key in ("extents", "strides")
    )
    of = places.index(data["name"])
    return BoxMap(of, data["bytes"], data["swizzle"], extents, steps, tuple(data["box"]))


def _workspace(memory: Memory, dims: Mapping[str, Any]) -> np.ndarray:
    """Counters are zero; what is not counted holds NaN, since kernels write it before they read it."""
    shape = tuple(evaluate(e, dims) for e in memory.shape)
    if memory.dtype.is_float:
        return np.full(shape, np.nan, storage_dtype(memory.dtype))
    return np.zeros(shape, storage_dtype(memory.dtype))
