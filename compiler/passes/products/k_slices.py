"""Products in slices along K: the next slice's operands are loaded while one is multiplied.

Serves attention of few rows by mma.sync: gain 28 to 56 % on an H200 (docs/performance/cuda.md). The
loops of AMD's matrix units have up to 20 vector instructions less by it
(tests/codegen/hip/test_main_loops.py).

Before (tests/ir/k-slices/example.tir):

    %a = load @a[0 : +16!, 0 : +64!] : f16[16, 64] `column_local(2, 8).spatial(8, 4).local(1, 2)`
    %w = load @w[0 : +64!, 0 : +8!] : f16[64, 8] `local(8, 1).column_spatial(4, 8).local(2, 1)`
    %neg = neg %w : f16[64, 8] `...`
    %d = dot %a, %neg, atom="mma.m16n8k16" : f32[16, 8] `...`

After:

    %w = load @w[0 : +64!, 0 : +8!] : f16[64, 8] `local(8, 1).column_spatial(4, 8).local(2, 1)`
    %a = load @a[0 : +16!, 0 : +16!] : f16[16, 16] `column_local(2, 2).spatial(8, 4).local(1, 2)`
    %a_1 = load @a[0 : +16!, 16 : +16!] : f16[16, 16] `...`
    %w_1 = extract %w, starts=(0, 0), steps=(1, 1) : f16[16, 8] `...`
    %neg = neg %w_1 : f16[16, 8] `...`
    %d = dot %a, %neg, atom="mma.m16n8k16" : f32[16, 8] `...`
    %a_2 = load @a[0 : +16!, 32 : +16!] : f16[16, 16] `...`
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
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.program import Kernel, TileProgram
from dslc.compiler.ir.rewrite import Rewriter, map_kernels
from dslc.compiler.ir.traverse import (
    Body,
    definitions,
    operands,
    use_counts,
    walk,
    writes,
)
from dslc.compiler.ir.values import Place, Value
from dslc.compiler.passes.products.partial_tiles import RaggedError, TileParts
from dslc.compiler.passes.simplification.dead_code import remove_dead_code
from dslc.compiler.targets import Target

_MOST_SLICES = 16


@dataclass(frozen=True, slots=True)
class SliceProducts:
    """Slices the products on a matrix unit whose operands come through shared memory."""

    target: Target
    name: str = "k-slices"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program with its products in slices."""
        return map_kernels(program, self._kernel)

    def _kernel(self, kernel: Kernel) -> Kernel:
        body = _Slicer(kernel, self.target).body(kernel.body)
        if body is kernel.body:
            return kernel
        return remove_dead_code(replace(kernel, body=body))


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
        rewritten = super().body(body)
        self.here = outside
        return rewritten

    def statement(self, stmt: Stmt) -> Body:
        """A product in slices, where it has several."""
        match stmt:
            case ins.Dot(atom=str(name)) if not stmt.is_async and not stmt.is_scaled:
                atom = self.target.atom(name)
                sliced = _slices(stmt, atom.k, self) if atom is not None else None
                if sliced is not None:
                    return sliced
        return (self.rebuild(stmt),)

    def source(self, value: Value) -> Stmt | None:
        """The statement of this body that makes a tile for one reader."""
        load = self.known.get(value)
        return load if load in self.here and self.counts[value] == 1 else None

    def shared_load(self, value: Value) -> ins.Load | None:
        """The load from shared memory that a tile is, unless that is written after it."""
        load = self.source(value)
        if not isinstance(load, ins.Load) or load.region.memory.place is not Place.SHARED:
            return None
        after = walk(self.here[self.here.index(load) :])
        written = (r.memory for s in after for r in writes(s))
        return None if load.region.memory in written else load


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
            except (DiagnosticError, RaggedError):
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
    if isinstance(source, (*ins.ELEMENTWISE, ins.Broadcast, ins.Transpose, ins.View)):
        return any(_reaches_shared(v, slicer) for v in operands(source))
    return False


class _Part(TileParts):
    """One slice: the loads and the computing that give the parts of tiles."""

    def __init__(self, slicer: _Slicer, start: int, size: int) -> None:
        super().__init__(start, size)
        self.slicer = slicer
        self.loads: list[Stmt] = []

    def source(self, value: Value) -> Stmt | None:
        """What makes a tile in this body, for one reader."""
        return self.slicer.source(value)

    def end(self, value: Value, axis: int) -> Value | None:
        """A load of the part, of what lies in shared memory."""
        load = self.slicer.shared_load(value)
        if load is None:
            return None
        out = self.tile(value, axis)
        self.loads.append(replace(load, out=out, region=self.region(load.region, axis)))
        return out
