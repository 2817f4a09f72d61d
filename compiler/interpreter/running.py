"""`run`: a kernel or a program over arguments by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from dslc.compiler.dtypes import pack_bits
from dslc.compiler.dtypes.storage import Array
from dslc.compiler.interpreter import arguments
from dslc.compiler.interpreter.arguments import Argument, Scalars
from dslc.compiler.interpreter.dims import evaluate
from dslc.compiler.interpreter.hazards.watch import watch_undefined
from dslc.compiler.interpreter.launch import launch, prepare
from dslc.compiler.interpreter.options import Options
from dslc.compiler.interpreter.scalars import compile_scalar
from dslc.compiler.interpreter.scope import Scope
from dslc.compiler.interpreter.tensors import Tensor, garbage
from dslc.compiler.ir import Kernel, Memory, Param, Program, Role, View
from dslc.compiler.ir.arithmetic.strides import strides_of
from dslc.compiler.ir.expr import Expr, Var


def run(
    program: Kernel | Program, args: Mapping[str, Argument], options: Options | None = None
) -> None:
    """Run a kernel or a program; arrays of `out` and `inout` parameters are written in place.

    Arrays follow the storage convention (`dslc.compiler.dtypes.storage_dtype`), a `packed row`
    parameter takes codes or its flat bytes, a scalar a Python number. Raises DiagnosticError: DSL07xx
    for arguments, DSL06xx for what goes wrong while running.
    """
    options = options or Options()
    tensors, scalars, copied = _receive(program.params, program.dims, args)
    if isinstance(program, Kernel):
        if options.check:
            read = prepare(program, True, options.trap).scope.uses.read
            watch_undefined(t for m, t in tensors.items() if m.role is Role.OUT and m in read)
        _launch(program, tensors, scalars, options)
    else:
        _run_program(program, tensors, scalars, options)
    for tensor, given, is_bits in copied:
        bits = tensor.memory.dtype.bits
        given[...] = pack_bits(tensor.codes, bits) if is_bits else tensor.codes.astype(given.dtype)


def _run_program(
    program: Program, tensors: dict[Memory, Tensor], scalars: Scalars, options: Options
) -> None:
    names = {v.name: x for v, x in scalars.items()}
    everything = dict(tensors)
    viewed = {v.base: tensors[v.base] for v in program.views if v.base in tensors}
    for memory, tensor in viewed.items():
        if memory.strides is None:
            everything[memory] = replace(tensor, codes=np.ascontiguousarray(tensor.codes))
    for memory in program.buffers:
        shape = tuple(evaluate(e, names) for e in memory.shape)
        everything[memory] = Tensor(memory, garbage(memory.dtype, shape))
    if options.check:
        undefined = (Role.OUT, Role.BUFFER)
        watch_undefined(t for m, t in everything.items() if m.role in undefined)
    arguments.check_requirements(program.requires, names, f"program {program.name}")
    views = {v.memory: v for v in program.views}
    for call in program.calls:
        if call.when is not None and not _scalar(call.when, scalars):
            continue
        given: dict[Memory, Tensor] = {}
        values: Scalars = {}
        for p, arg in zip(call.kernel.params, call.args, strict=True):
            if isinstance(p, Memory):
                assert isinstance(arg, Memory)
                if arg in views and arg not in everything:
                    everything[arg] = _view(views[arg], everything[views[arg].base], names)
                given[p] = everything[arg]
            else:
                assert not isinstance(arg, Memory)
                values[p] = _scalar(arg, scalars)
        arrays = {p.name: t.codes for p, t in given.items()}
        shapes = {n: a.shape for n, a in arrays.items()}
        values = arguments.bind(call.kernel.params, call.kernel.dims, shapes, arrays, values)
        _launch(call.kernel, given, values, options)
    for memory, tensor in viewed.items():
        if memory.role is not Role.IN and everything[memory].codes is not tensor.codes:
            tensor.codes[...] = everything[memory].codes


def _view(view: View, base: Tensor, names: Mapping[str, int]) -> Tensor:
    shape, strides = view.memory.shape, strides_of(view.memory)
    extents, steps = (tuple(evaluate(e, names) for e in x) for x in (shape, strides))
    return base.view(view.memory, evaluate(view.offset, names), extents, steps)


def _launch(
    kernel: Kernel, tensors: Mapping[Memory, Tensor], scalars: Scalars, options: Options
) -> None:
    names = {v.name: x for v, x in scalars.items()} | dict(kernel.fixed)
    arguments.check_requirements(kernel.requires, names, f"kernel {kernel.name}")
    exe = prepare(kernel, options.check, options.trap, options.recording is not None)
    launch(exe, tensors, scalars, options)


def _receive(
    params: Sequence[Param], dims: Sequence[Var], args: Mapping[str, Argument]
) -> tuple[dict[Memory, Tensor], Scalars, list[tuple[Tensor, Array, bool]]]:
    """Tensors and scalars of a call, and the written tensors whose codes are a copy.

    These go back into the caller's array, as packed bits where the flag says so.
    """
    arguments.check_names(params, args)
    arrays: dict[str, Array] = {}
    scalars: Scalars = {}
    for p in params:
        if isinstance(p, Memory):
            arrays[p.name] = arguments.as_codes(p, args[p.name])
        else:
            scalars[p] = arguments.as_scalar(p, args[p.name])
    shapes = arguments.shapes_of(params, arrays, scalars)
    scalars = arguments.bind(params, dims, shapes, arrays, scalars)
    names = {v.name: x for v, x in scalars.items()}
    tensors: dict[Memory, Tensor] = {}
    copied: list[tuple[Tensor, Array, bool]] = []
    for p in params:
        if isinstance(p, Memory):
            shape = tuple(evaluate(e, names) for e in p.shape)
            unpacked = arguments.unpacked(p, arrays[p.name], shape)
            tensors[p] = Tensor(p, arrays[p.name] if unpacked is None else unpacked)
            given = np.asarray(args[p.name])
            if p.role in (Role.OUT, Role.INOUT) and not np.may_share_memory(
                tensors[p].codes, given
            ):
                copied.append((tensors[p], given, unpacked is not None))
    return tensors, scalars, copied


def _scalar(expr: Expr, scalars: Scalars) -> Any:
    scope = Scope(check=False)
    value = compile_scalar(scope, expr)
    frame: list[Any] = [None] * scope.size
    for var, slot in scope.slots.items():
        if isinstance(var, Var):
            frame[slot] = scalars[var]
    return value(frame)
