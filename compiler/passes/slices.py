"""Products in slices along K: the next slice's operands are loaded while one is multiplied.

    %a = load @ring[slot, 0 : +16, 0 : +64]         %a0 = load @ring[slot, 0 : +16, 0 : +16]
    %b = cast %q : f16[64, 128]                     %a1 = load @ring[slot, 0 : +16, 16 : +16]
    %d = dot %a, %b, acc=%c                   ->    %q0 = extract %q, starts=(0, 0) ...
                                                    %b0 = cast %q0 : f16[16, 128]
                                                    %d0 = dot %a0, %b0, acc=%c
                                                    %a2 = load @ring[slot, 0 : +16, 32 : +16]
                                                    ...

A slice is the least doubling of the atom's k of which every thread holds its own part, in whole words.
Operands are followed through elementwise instructions, broadcasts and transposes to loads from shared
memory, which become loads of a part; anything else, and what has other readers too, is extracted from
in registers. Fewer registers hold operands, and the latency of shared memory and of casts hides behind
the matrix unit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.affine import simplify
from dslc.compiler.ir.expr import Binary, index
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.program import Kernel, TileProgram
from dslc.compiler.ir.rewrite import Rewriter, Substitution, map_kernels
from dslc.compiler.ir.traverse import (
    Body,
    definitions,
    operands,
    use_counts,
    walk,
    writes,
)
from dslc.compiler.ir.values import AxisSlice, Place, Region, Value
from dslc.compiler.layout import slice_tile
from dslc.compiler.passes.dce import remove_dead_code
from dslc.compiler.targets import Target

_MOST_SLICES = 16
_WORD_BITS = 32
_ELEMENTWISE = (ins.Unary, ins.Binary, ins.Fma, ins.Where, ins.Cast)


@dataclass(frozen=True, slots=True)
class SliceProducts:
    """Slices the products on a matrix unit whose operands come through shared memory."""

    target: Target
    name: str = "slices"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program with its products in slices."""
        return map_kernels(program, self._kernel)

    def _kernel(self, kernel: Kernel) -> Kernel:
        body = _Slicer(kernel, self.target).body(kernel.body)
        if body is kernel.body:
            return kernel
        return remove_dead_code(replace(kernel, body=body))


class _RaggedError(Exception):
    """A slice in which a thread has no whole words of its own."""


class _Slicer(Rewriter):
    def __init__(self, kernel: Kernel, target: Target) -> None:
        super().__init__()
        self.target = target
        self.known = definitions(kernel.body)
        self.counts = use_counts(kernel.body)
        self.here: list[Stmt] = []

    def body(self, body: Body) -> Body:
        """A body, whose own statements alone are followed."""
        outside, self.here = self.here, list(body)
        found = super().body(body)
        self.here = outside
        return found

    def statement(self, stmt: Stmt) -> Body:
        """A product in slices, where it has several."""
        match stmt:
            case ins.Dot(atom=str(name)) if not stmt.is_late and not stmt.is_scaled:
                atom = self.target.atom(name)
                sliced = _slices(stmt, atom.k, self) if atom is not None else None
                if sliced is not None:
                    return sliced
        return (self.rebuild(stmt),)

    def source(self, value: Value) -> Stmt | None:
        """The statement of this body that makes a tile for one reader."""
        found = self.known.get(value)
        return found if found in self.here and self.counts[value] == 1 else None

    def shared_load(self, value: Value) -> ins.Load | None:
        """The load from shared memory that a tile is, unless that is written after it."""
        found = self.source(value)
        if not isinstance(found, ins.Load) or found.region.memory.place is not Place.SHARED:
            return None
        after = walk(self.here[self.here.index(found) :])
        written = (r.memory for s in after for r in writes(s))
        return None if found.region.memory in written else found


def _slices(dot: ins.Dot, least: int, slicer: _Slicer) -> Body | None:
    extent = dot.a.type.shape[-1]
    axes = {dot.a: dot.a.type.rank - 1, dot.b: dot.b.type.rank - 2}
    if not any(_reaches_shared(v, slicer) for v in axes):
        return None
    width = max(least, extent // _MOST_SLICES)
    while width < extent:
        if extent % width == 0:
            try:
                parts = [_Part(slicer, i * width, width) for i in range(extent // width)]
                pairs = [tuple(p.of(v, axis) for v, axis in axes.items()) for p in parts]
            except (DiagnosticError, _RaggedError):
                width *= 2
                continue
            return tuple(_interleaved(dot, parts, pairs))
        width *= 2
    return None


def _interleaved(
    dot: ins.Dot, parts: list[_Part], pairs: list[tuple[Value, ...]]
) -> Iterator[Stmt]:
    """The loads of slice i + 1 before the product of slice i."""
    acc = dot.acc
    yield from parts[0].loads
    for i, (part, (a, b)) in enumerate(zip(parts, pairs, strict=True)):
        last = i + 1 == len(parts)
        if not last:
            yield from parts[i + 1].loads
        yield from part.steps
        out = dot.out if last else replace(dot.out)
        yield replace(dot, out=out, a=a, b=b, acc=acc)
        acc = out


def _reaches_shared(value: Value, slicer: _Slicer) -> bool:
    if slicer.shared_load(value) is not None:
        return True
    source = slicer.source(value)
    if isinstance(source, (*_ELEMENTWISE, ins.Broadcast, ins.Transpose, ins.View)):
        return any(_reaches_shared(v, slicer) for v in operands(source))
    return False


class _Part:
    """One slice: the loads and the computing that give the parts of tiles."""

    def __init__(self, slicer: _Slicer, start: int, size: int) -> None:
        self.slicer, self.start, self.size = slicer, start, size
        self.loads: list[Stmt] = []
        self.steps: list[Stmt] = []
        self.done: dict[tuple[Value, int], Value] = {}

    def of(self, value: Value, axis: int) -> Value:
        """The part of a tile along an axis. DSL0305 where a thread would have none."""
        if (value, axis) not in self.done:
            self.done[value, axis] = self._make(value, axis)
        return self.done[value, axis]

    def _make(self, value: Value, axis: int) -> Value:
        load = self.slicer.shared_load(value)
        if load is not None:
            out = self._tile(value, axis)
            self.loads.append(replace(load, out=out, region=self._region(load.region, axis)))
            return out
        source = self.slicer.source(value)
        if isinstance(source, _ELEMENTWISE):
            out = self._tile(value, axis)
            parts = Substitution(values={v: self.of(v, axis) for v in operands(source)})
            (step,) = parts.body((source,))
            self.steps.append(replace(step, out=out))  # type: ignore[arg-type]
            return out
        if isinstance(source, ins.Transpose):
            out = self._tile(value, axis)
            self.steps.append(replace(source, out=out, x=self.of(source.x, source.axes[axis])))
            return out
        if isinstance(source, ins.Broadcast):
            x, out = source.x, self._tile(value, axis)
            own = axis - (value.type.rank - x.type.rank)
            if own >= 0 and x.type.shape[own] != 1:
                x = self.of(x, own)
            self.steps.append(replace(source, out=out, x=x))
            return out
        return self._extracted(value, axis)

    def _extracted(self, value: Value, axis: int) -> Value:
        out = self._tile(value, axis)
        starts = tuple(self.start if d == axis else 0 for d in range(value.type.rank))
        self.steps.append(ins.Extract(out, value, starts, (1,) * value.type.rank))
        return out

    def _tile(self, value: Value, axis: int) -> Value:
        type_ = value.type
        shape = tuple(self.size if d == axis else n for d, n in enumerate(type_.shape))
        layout = type_.layout and slice_tile(type_.layout, axis, self.start, self.size)
        if layout is not None and layout.locals * type_.dtype.bits % _WORD_BITS:
            raise _RaggedError
        return replace(value, type=replace(type_, shape=shape, layout=layout))

    def _region(self, region: Region, axis: int) -> Region:
        kept = [i for i, a in enumerate(region.axes) if not a.dropped]
        axes: list[AxisSlice] = list(region.axes)
        old = axes[kept[axis]]
        start = simplify(Binary("add", old.start, index(self.start * old.step), old.start.dtype))
        axes[kept[axis]] = replace(old, start=start, size=self.size)
        return replace(region, axes=tuple(axes))
