"""Grids whose ends only a call knows get an end that the tensors set, and the turns beyond do nothing.

Before (tests/ir/bounded-grid/example.tir):

    grid i in range(0, cast(n, index), 16)
    %x = full f32(1.0) : f32[16]
    store @y[i : +16], %x

After:

    grid i in range(0, 64, 16)
    if i < cast(n, index) {
      %x = full f32(1.0) : f32[16]
      store @y[i : +16], %x
    }

A turn of which every write lies outside of its tensor does nothing that anybody sees, so the grid ends
where the last write does; or where the kernel asserts that it does (`assert n <= 64`). For machines
whose turns are dealt out when a kernel is compiled.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from dslc.compiler.analysis.accessed_boxes import Touch, Touches, touches
from dslc.compiler.analysis.asserted_limits import is_runtime, upper
from dslc.compiler.diagnostics import error
from dslc.compiler.dtypes import BOOL
from dslc.compiler.ir import Kernel, TileProgram
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import Linear, constant, linear
from dslc.compiler.ir.expr import Expr, Var
from dslc.compiler.ir.indexed import numbered
from dslc.compiler.ir.program import GridAxis
from dslc.compiler.ir.rewrite import map_kernels


@dataclass(frozen=True, slots=True)
class BoundedGrid:
    """Grids of constant bounds. DSL0590 where nothing gives a bound, or a scalar an extent."""

    name: ClassVar[str] = "bounded-grid"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program whose turns are known when it is compiled."""
        return map_kernels(program, _counted)


def _counted(kernel: Kernel) -> Kernel:
    _check_extents(kernel)
    dynamic = [a for a in kernel.grid if any(is_runtime(e, ()) for e in (a.start, a.stop, a.step))]
    if kernel.dims or not dynamic:
        return kernel
    asserted = [s.condition for s in kernel.body if isinstance(s, ins.Assert)]
    touched = touches(kernel)
    stops = {a: _most(kernel, a, asserted, touched) for a in dynamic}
    body = kernel.body
    for axis in dynamic:
        before = ex.Binary("lt", axis.var, axis.stop, BOOL)
        body = (ins.If(before, body, loc=kernel.loc),)
    grid = tuple(replace(a, stop=stops.get(a, a.stop)) for a in kernel.grid)
    return replace(kernel, grid=grid, body=body)


def _check_extents(kernel: Kernel) -> None:
    """DSL0590 where a scalar is in the extent of a tensor: transfers are fixed ahead of the call."""
    for memory in kernel.tensors:
        used = {v for e in memory.shape for v in ex.free_vars(e)}
        for scalar in (p for p in kernel.params if isinstance(p, Var) and p in used):
            raise error(
                "DSL0590",
                f"only a call knows how large {memory.name} is: {scalar.name} is in an extent",
                memory.loc,
                hint=f"give {memory.name} a dim of its own there, and require what it is",
            )


def _most(kernel: Kernel, axis: GridAxis, asserted: list[Expr], found: Touches) -> Expr:
    """A constant end beyond which no turn of an axis writes anything."""
    if is_runtime(axis.start, ()) or is_runtime(axis.step, ()):
        raise error(
            "DSL0590",
            f"only a call knows where {axis.var.name} of the parallel nest begins",
            kernel.loc,
            hint="begin at 0, and add the beginning to the subscripts",
        )
    known = upper(axis.stop, (), asserted)
    if known is not None:
        return known
    ends = [_end(t, axis.var, kernel, found) for t in found.found if t.writes]
    if None in ends or not ends:
        raise error(
            "DSL0590",
            f"only a call knows how many turns {axis.var.name} of the parallel nest has",
            kernel.loc,
            hint="assert the most of it in the nest, as in `assert n <= 1024`, or make it a dim",
        )
    return ex.index(max(e for e in ends if e is not None))


def _end(touch: Touch, var: Var, kernel: Kernel, found: Touches) -> int | None:
    """From which value of a grid's variable on a write lies outside of its tensor; None for none."""
    ends = []
    for number, (axis, start) in enumerate(zip(touch.region.axes, touch.starts, strict=True)):
        if not axis.checked or number in numbered(touch.stmt):
            continue
        form, extent = linear(start), constant(touch.region.memory.shape[number])
        factor = form.terms.get(var, 0)
        if factor <= 0 or not isinstance(extent, int):
            continue
        rest = _least(form - Linear({var: factor}), kernel, found)
        if rest is not None:
            ends.append(max(0, -((rest - extent) // factor)))
    return min(ends, default=None)


def _least(form: Linear, kernel: Kernel, found: Touches) -> int | None:
    """What a sum of the variables of grid and loops is at least, None where nothing tells."""
    starts = {a.var: a.start for a in kernel.grid}
    starts |= {var: r.start for var, r in found.ranges.items() if r.step > 0}
    total = form.constant
    for atom, factor in form.terms.items():
        first = constant(starts[atom]) if isinstance(atom, Var) and atom in starts else None
        if factor < 0 or not isinstance(first, int):
            return None
        total += first * factor
    return total
