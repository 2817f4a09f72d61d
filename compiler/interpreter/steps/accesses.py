"""Steps that read and write memories."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from dslc.compiler.diagnostics import error
from dslc.compiler.dtypes import DType, decode, encode
from dslc.compiler.dtypes.storage import Array
from dslc.compiler.interpreter.hazards import poison
from dslc.compiler.interpreter.hazards.held import Held
from dslc.compiler.interpreter.hazards.watch import watch_buffer
from dslc.compiler.interpreter.scalars import compile_scalar, compile_scalars
from dslc.compiler.interpreter.scope import TURN, Frame, Scope, Site, Step
from dslc.compiler.interpreter.tensors import Tensor
from dslc.compiler.interpreter.turn import Turn
from dslc.compiler.interpreter.windows import Window, Windows, compile_access
from dslc.compiler.ir import Place, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic import elements


def load(scope: Scope, i: ins.Load) -> Step:
    """A tile from memory, `other` out of bounds."""
    site = scope.site("the read", i.loc, i.out.type.layout)
    windows = compile_access(scope, i, site)
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
    windows = compile_access(scope, i, site)
    return poison.guard(scope, i.ids, i.loc, _reader(scope, i, windows, site))


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
    windows = compile_access(scope, i, site)
    xs = [i.x] if i.where is None else [i.x, i.where]
    return _writer(scope, xs, i, windows, site)


def scatter(scope: Scope, i: ins.Scatter) -> Step:
    """Rows by index; out of range is dropped, and equal ids are a race."""
    site = scope.site("the scatter", i.loc, i.x.type.layout, once=True)
    windows = compile_access(scope, i, site)
    step = _writer(scope, [i.x, *i.ids], i, windows, site)
    if not scope.check:
        return step
    slots, memory = [scope.slot(v) for v in i.ids], scope.slot(i.region.memory)
    starts = compile_scalars(scope, [i.region.axes[k].start for k in i.axes])

    def checked(f: Frame) -> None:
        chosen = zip(slots, starts(f), strict=True)
        rows = np.stack([np.asarray(f[s], np.int64).reshape(-1) + start for s, start in chosen])
        ends = np.array([f[memory].shape[k] for k in i.axes])[:, None]
        rows = rows[:, ((rows >= 0) & (rows < ends)).all(axis=0)]
        unique, counts = np.unique(rows, axis=1, return_counts=True)
        if unique.shape[1] < rows.shape[1]:
            at = ", ".join(map(str, unique[:, counts > 1][:, 0]))
            raise error(
                "DSL0606",
                f"{'row' if len(slots) == 1 else 'element'} {at} of {i.region.memory.name} is written "
                f"more than once by one scatter, in {f[TURN].title}",
                i.loc,
                hint="equal ids race: the result would depend on the order; atomic_add(t[ids], x) adds "
                "them all",
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


def atomic_rmw(scope: Scope, i: ins.AtomicRmw) -> Step:
    """Each element at once; `out` is what stood there before, 0 out of bounds."""
    layout, fetches = i.x.type.layout, i.out is not None or i.op != "add"
    verb = "the atomic addition" if i.op == "add" else f"the atomic {i.op}"
    site = scope.site(verb, i.loc, layout, once=True, fetches=fetches)
    windows = compile_access(scope, i, site)
    x, memory, dtype = scope.slot(i.x), scope.slot(i.region.memory), i.region.memory.dtype
    out = None if i.out is None else scope.slot(i.out)
    expected = None if i.expected is None else scope.slot(i.expected)
    operation, default = _operation(i.op, dtype), elements.zero(dtype)

    def update(f: Frame, tensor: Tensor, window: Window) -> Array:
        """What stood in a window that names no element twice."""
        change = window.part(np.asarray(f[x]))
        wanted = None if expected is None else window.part(np.asarray(f[expected]))
        codes = tensor.update(f[TURN], window, lambda codes: operation(codes, change, wanted), site)
        return decode(codes, dtype)

    def step(f: Frame) -> None:
        if i.is_counter:
            f[TURN].met.pass_barrier()
        tensor: Tensor = f[memory]
        window = windows(f, tensor.shape)
        before = np.full(window.shape, default)
        for part in [] if window.empty else window.apart(tensor.shape):
            before[... if part.inner is None else part.inner] = update(f, tensor, part)
            if dtype.is_integer:
                tensor.synchronise(f[TURN], part, acquire=out is not None, release=True)
        if out is not None:
            f[out] = before

    given = [i.x, *i.ids, *([] if i.expected is None else [i.expected])]
    return poison.guard(scope, given, i.loc, step)


def _operation(op: str, dtype: DType) -> Callable[..., Array]:
    """What an atomic instruction makes of codes, the operand and, for cas, what is expected."""
    if op == "exchange":
        return lambda codes, x, wanted: encode(np.asarray(x), dtype)
    if op == "cas":
        return lambda codes, x, wanted: np.where(
            codes == encode(wanted, dtype), encode(np.asarray(x), dtype), codes
        )
    binary = elements.binary(op, dtype)
    return lambda codes, x, wanted: encode(binary(decode(codes, dtype), x), dtype)


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
