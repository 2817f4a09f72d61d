"""Steps that read and write memories."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from dslc.compiler.diagnostics import error
from dslc.compiler.dtypes import decode, encode
from dslc.compiler.dtypes.storage import Array
from dslc.compiler.interpreter.hazards import poison
from dslc.compiler.interpreter.hazards.held import Held
from dslc.compiler.interpreter.hazards.watch import watch_buffer
from dslc.compiler.interpreter.scalars import compile_scalar, compile_scalars
from dslc.compiler.interpreter.scope import TURN, Frame, Scope, Site, Step
from dslc.compiler.interpreter.tensors import Tensor, add_codes
from dslc.compiler.interpreter.turn import Turn
from dslc.compiler.interpreter.windows import (
    Windows,
    compile_indexed,
    compile_masked,
    compile_window,
)
from dslc.compiler.ir import Place, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic import elements


def load(scope: Scope, i: ins.Load) -> Step:
    """A tile from memory, `other` out of bounds."""
    site = scope.site("the read", i.loc, i.out.type.layout)
    windows = compile_masked(scope, i.region, i.where, site)
    step = _reader(scope, i, windows, site)
    if i.where is not None:
        return poison.guard(scope, [i.where], i.loc, step)
    if i.out.type.layout is not None or i.region.memory.place is not Place.SHARED:
        return step
    slot, memory = scope.hold(i.out), scope.slot(i.region.memory)

    def held(f: Frame) -> None:
        step(f)
        f[slot] = Held(f[memory], windows(f, f[memory].shape))

    return held


def gather(scope: Scope, i: ins.Gather) -> Step:
    """Rows by index, 0 out of range."""
    site = scope.site("the gather", i.loc, i.out.type.layout)
    windows = compile_indexed(scope, i.region, i.ids, i.axis, site)
    return poison.guard(scope, [i.ids], i.loc, _reader(scope, i, windows, site))


def _reader(scope: Scope, i: ins.Load | ins.Gather, windows: Windows, site: Site) -> Step:
    out, memory = scope.slot(i.out), scope.slot(i.region.memory)
    dtype, shape = i.out.type.dtype, i.out.type.shape
    other, rank = (i.other, i.rank) if isinstance(i, ins.Load) else (None, None)
    default = elements.zero(dtype)
    fill = compile_scalar(scope, other) if other is not None else lambda f: default
    holder = None if rank is None else compile_scalar(scope, rank)

    def step(f: Frame) -> None:
        turn: Turn = f[TURN]
        held = f
        if holder is not None:
            assert turn.cluster is not None
            held = turn.cluster.at(holder(f), turn, site.verb, site.loc)
        tensor: Tensor = held[memory]
        window = windows(f, tensor.shape)
        if window.empty:
            f[out] = np.full(shape, fill(f))
            return
        values = decode(tensor.read(held[TURN], window, site), dtype)
        f[out] = values if window.inner is None else window.fill(values, fill(f))

    return step


def store(scope: Scope, i: ins.Store) -> Step:
    """A tile to memory; out of bounds is dropped."""
    site = scope.site("the write", i.loc, i.x.type.layout, once=True)
    windows = compile_masked(scope, i.region, i.where, site)
    xs = [i.x] if i.where is None else [i.x, i.where]
    return _writer(scope, xs, i, windows, site)


def scatter(scope: Scope, i: ins.Scatter) -> Step:
    """Rows by index; out of range is dropped, and equal ids are a race."""
    site = scope.site("the scatter", i.loc, i.x.type.layout, once=True)
    windows = compile_indexed(scope, i.region, i.ids, i.axis, site)
    step = _writer(scope, [i.x, i.ids], i, windows, site)
    if not scope.check:
        return step
    ids, memory, axis = scope.slot(i.ids), scope.slot(i.region.memory), i.axis
    start = compile_scalar(scope, i.region.axes[axis].start)

    def checked(f: Frame) -> None:
        rows = np.asarray(f[ids], np.int64).reshape(-1) + start(f)
        rows = rows[(rows >= 0) & (rows < f[memory].shape[axis])]
        unique, counts = np.unique(rows, return_counts=True)
        if unique.size < rows.size:
            raise error(
                "DSL0606",
                f"row {unique[counts > 1][0]} of {i.region.memory.name} is written more than once "
                f"by one scatter, in {f[TURN].title}",
                i.loc,
                hint="equal ids race: the result would depend on the order",
            )
        step(f)

    return checked


def _writer(
    scope: Scope, xs: Sequence[Value], i: ins.Store | ins.Scatter, windows: Windows, site: Site
) -> Step:
    x, memory, dtype = scope.slot(i.x), scope.slot(i.region.memory), i.region.memory.dtype

    def step(f: Frame) -> None:
        tensor: Tensor = f[memory]
        window = windows(f, tensor.shape)
        if not window.empty:
            codes = encode(window.part(np.asarray(f[x])), dtype)
            tensor.write(f[TURN], window, codes, site)

    return poison.guard(scope, xs, i.loc, step)


def atomic_add(scope: Scope, i: ins.AtomicAdd) -> Step:
    """Each element at once; `out` is what stood there before, 0 out of bounds."""
    layout, fetches = i.x.type.layout, i.out is not None
    site = scope.site("the atomic addition", i.loc, layout, once=True, fetches=fetches)
    windows = compile_window(scope, i.region, site)
    x, memory, dtype = scope.slot(i.x), scope.slot(i.region.memory), i.region.memory.dtype
    out = None if i.out is None else scope.slot(i.out)
    add, default = elements.binary("add", dtype), elements.zero(dtype)

    def step(f: Frame) -> None:
        if i.is_counter:
            f[TURN].met.pass_barrier()
        tensor: Tensor = f[memory]
        window = windows(f, tensor.shape)
        before: Array | None = None
        if not window.empty:
            change = add_codes(dtype, add, window.part(np.asarray(f[x])))
            before = decode(tensor.update(f[TURN], window, change, site), dtype)
            if dtype.is_integer:
                tensor.synchronise(f[TURN], window, acquire=out is not None, release=True)
        if out is not None:
            empty = np.full(window.shape, default)
            f[out] = empty if before is None else window.fill(before, default)

    return poison.guard(scope, [i.x], i.loc, step)


def alloc(scope: Scope, i: ins.Alloc) -> Step:
    """An on-chip memory begins to live: its elements are undefined."""
    memory, slot = i.memory, scope.slot(i.memory)
    shape = compile_scalars(scope, memory.shape)

    def step(f: Frame) -> None:
        tensor: Tensor = f[TURN].arenas.allocate(memory, shape(f))
        if scope.check:
            watch_buffer(scope, tensor, f[TURN])
        f[slot] = tensor

    return step
