"""How the layouts of a statement's operands follow from that of its result, and the other way.

Each relation is the one under which the statement moves nothing between threads: it renames registers.
None says that there is no such layout; then the statement itself moves the elements.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.indexed import memory_axes
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.traverse import Part, fields
from dslc.compiler.ir.values import Value
from dslc.compiler.layout import Layout, Mode, permute, reduce, reshape, slice_tile
from dslc.compiler.layout.mode import Modes, replicated, split_mode


def alike(stmt: Stmt) -> tuple[Value, ...]:
    """The tiles of a statement that have one layout, its result first."""
    match stmt:
        case (
            ins.Unary(out=out, x=x)
            | ins.Cast(out=out, x=x)
            | ins.Scan(out=out, x=x)
            | ins.ClusterReduce(out=out, x=x)
        ):
            return out, x
        case ins.Binary(out=out, x=x, y=y):
            return out, x, y
        case ins.Fma(out=out, x=x, y=y, z=z):
            return out, x, y, z
        case ins.Fused(out=out, xs=xs):
            return out, *xs
        case ins.Where(out=out, condition=condition, x=x, y=y):
            return out, condition, x, y
        case ins.Dot(out=out, acc=acc) if acc is not None:
            return out, acc
        case ins.AtomicRmw(x=x, expected=expected, out=out):
            tiles = tuple(v for v in (out, x, expected) if v is not None)
            return tiles if len(tiles) > 1 else ()
    return ()


def shaping(stmt: Stmt) -> Value | None:
    """The tile from which the others' layouts follow: the result, or what is scattered."""
    if isinstance(stmt, ins.Scatter):
        return stmt.x
    if isinstance(stmt, ins.AtomicRmw) and stmt.out is None:
        return stmt.x if stmt.ids or stmt.expected is not None else None
    out = getattr(stmt, "out", None)
    return out if isinstance(out, Value) else None


def shaped(stmt: Stmt) -> Iterator[Value]:
    """The operands whose layouts follow from that tile: a Dot's accumulator apart."""
    if isinstance(stmt, ins.For | ins.While | ins.If | ins.WarpSpecialize):
        return
    for f in fields(type(stmt)):
        value = getattr(stmt, f.name)
        if f.part is Part.VALUES:
            yield from value
        elif f.part is Part.VALUE and value is not None:
            scattered = isinstance(stmt, ins.Scatter | ins.AtomicRmw) and f.name == "x"
            if f.name != "acc" and not scattered:
                yield value


def operand_layout(stmt: Stmt, x: Value, out: Layout) -> Layout | None:
    """The layout of the operand x under which a result of that layout is a renaming."""
    match stmt:
        case ins.Broadcast():
            return _unbroadcast(out, x.type.shape)
        case ins.Transpose(axes=axes):
            inverse = [axes.index(d) for d in range(len(axes))]
            return permute(out, inverse) if axes else out
        case ins.Reshape():
            return reshaped(out, x.type.shape)
        case ins.Repeat(times=times, axis=axis):
            return _unrepeated(out, axis, times)
        case ins.Concat(xs=xs, axis=axis):
            return _part(out, xs, x, axis)
        case ins.Gather() | ins.Scatter() | ins.AtomicRmw() if x in stmt.ids:
            return reduced(out, list(memory_axes(stmt)))
    return None


def result_layout(stmt: Stmt, x: Layout) -> Layout | None:
    """The layout of the result that an operand of that layout gives with nothing moved."""
    match stmt:
        case ins.Reduce(axis=axis, keepdims=keepdims):
            return reduced(x, [axis], keepdims)
        case ins.Transpose(axes=axes):
            return permute(x, axes) if axes else x
        case ins.Reshape(out=out):
            return reshaped(x, out.type.shape)
        case ins.Extract(starts=starts, steps=steps, out=out, dropped=dropped):
            return _extracted(x, starts, steps, out.type.shape, dropped)
    return None


def reduced(layout: Layout, axes: Sequence[int], keepdims: bool = False) -> Layout:
    """`layout.reduce`, and the layout of rank 0 where no axis is left."""
    if not axes:
        return layout
    if len(set(axes)) == layout.rank and not keepdims:
        return of_scalar(layout.threads)
    return reduce(layout, axes, keepdims)


def of_scalar(threads: int) -> Layout:
    """Every thread holds the one element of a tile of rank 0."""
    return Layout((), (replicated(threads),), ())


def reshaped(layout: Layout, shape: tuple[int, ...]) -> Layout | None:
    """The layout of the same elements under another shape; None where a digit lies across axes."""
    if not shape or not layout.shape:
        assert layout.elements == prod(shape)
        return Layout(shape, layout.spatial_modes, layout.local_modes)
    try:
        return reshape(layout, shape)
    except DiagnosticError:
        return None


def _unbroadcast(out: Layout, shape: tuple[int, ...]) -> Layout:
    new = out.rank - len(shape)
    stretched = [d for d in range(new, out.rank) if shape[d - new] == 1 and out.shape[d] != 1]
    return reduced(reduced(out, stretched, keepdims=True), range(new))


def _unrepeated(out: Layout, axis: int, times: int) -> Layout | None:
    """Each element of x stands for `times` of the result: the axis's digits below are gone."""
    if out.swizzles:
        return None
    sides: list[Modes] = []
    for side in (out.spatial_modes, out.local_modes):
        modes: list[Mode] = []
        for mode in side:
            if mode.axis != axis or mode.stride * mode.size <= times:
                if mode.axis != axis:
                    modes.append(mode)
                elif side is out.spatial_modes:
                    modes.append(replicated(mode.size))
            elif mode.stride >= times:
                if mode.stride % times:
                    return None
                modes.append(Mode(mode.size, axis, mode.stride // times))
            else:
                low = times // mode.stride
                if times % mode.stride or mode.size % low:
                    return None
                high, _ = split_mode(mode, low)
                modes.append(Mode(high.size, axis, 1))
                if side is out.spatial_modes:
                    modes.append(replicated(low))
        sides.append(tuple(modes))
    shape = tuple(n // times if d == axis else n for d, n in enumerate(out.shape))
    return Layout(shape, sides[0], sides[1])


def _part(out: Layout, xs: tuple[Value, ...], x: Value, axis: int) -> Layout | None:
    start = sum(other.type.shape[axis] for other in xs[: xs.index(x)])
    try:
        return slice_tile(out, axis, start, x.type.shape[axis])
    except DiagnosticError:
        return None


def _extracted(
    x: Layout,
    starts: tuple[int, ...],
    steps: tuple[int, ...],
    shape: tuple[int, ...],
    dropped: tuple[int, ...],
) -> Layout | None:
    sizes = iter(shape)
    kept = [1 if d in dropped else next(sizes) for d in range(x.rank)]
    if any(step != 1 and size != 1 for step, size in zip(steps, kept, strict=True)):
        return None
    try:
        for axis, (start, size) in enumerate(zip(starts, kept, strict=True)):
            x = slice_tile(x, axis, start, size)
    except DiagnosticError:
        return None
    return reshaped(x, shape)
