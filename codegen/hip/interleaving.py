"""The order of a product's loop: reads of LDS between matrix instructions.

    __builtin_amdgcn_sched_group_barrier(0x100, 16, 0);  // the first slice's reads
    __builtin_amdgcn_sched_group_barrier(0x8, 4, 0);     // then matrix instructions,
    __builtin_amdgcn_sched_group_barrier(0x100, 1, 0);   // a read of the next slice, and so on

A loop that does nothing but copy, read and multiply is written down so; left to itself the compiler
orders for the fewest registers, and where accumulators take all of one kind it moves them about.
"""

from __future__ import annotations

from dslc.codegen.c_family.emission import Emission
from dslc.compiler.ir import Place
from dslc.compiler.ir import instructions as ins
from dslc.compiler.targets import Target
from dslc.compiler.targets.target import SWAP

_READS, _PRODUCTS = 0x100, 0x8
_PLAIN = (
    ins.WaitGroup,
    ins.CommitGroup,
    ins.CopyAsync,
    ins.Sync,
    ins.Let,
    ins.Transpose,
    ins.Reshape,
)
_READ_BYTES = 16  # of one instruction
_FEWEST = 8  # matrix instructions from which on an order is worth while


def order(e: Emission, loop: ins.For) -> None:
    """At the end of a loop's body, the order of its instructions, where it only multiplies."""
    steps = [s for s in loop.body if not isinstance(s, _PLAIN)]
    if any(isinstance(s, ins.If) and (s.otherwise or s.joined) for s in steps):
        return
    steps = [s for s in steps if not isinstance(s, ins.If)]
    if not all(_is_read(s) or (isinstance(s, ins.Dot) and s.atom is not None) for s in steps):
        return
    dots = [s for s in steps if isinstance(s, ins.Dot)]
    if not dots or sum(_products(d, e.target) for d in dots) < _FEWEST:
        return
    defining = {
        s.out: s for s in loop.body if isinstance(s, ins.Load | ins.Transpose | ins.Reshape)
    }
    seen: set[object] = set()
    reads = []
    for dot in dots:
        count = 0
        for x in (dot.a, dot.b):
            while isinstance(source := defining.get(x), ins.Transpose | ins.Reshape):
                x = source.x  # noqa: PLW2901
            if isinstance(source, ins.Load) and source not in seen:
                seen.add(source)
                count += _reads(source)
        reads.append(count)
    _group(e, _READS, reads[0])
    for dot, following in zip(dots, [*reads[1:], 0], strict=True):
        _spread(e, _products(dot, e.target), following)


def _spread(e: Emission, products: int, reads: int) -> None:
    """The next slice's reads among the first half of a slice's products, so that they come in time."""
    each = max(1, products // 2 // reads) if reads else 0
    left = products
    for _ in range(reads):
        _group(e, _PRODUCTS, each)
        _group(e, _READS, 1)
        left -= each
    _group(e, _PRODUCTS, left)


def _group(e: Emission, kind: int, count: int) -> None:
    if count > 0:
        e.out.line(f"__builtin_amdgcn_sched_group_barrier({kind:#x}, {count}, 0);")


def _is_read(s: ins.Stmt) -> bool:
    return isinstance(s, ins.Load) and s.region.memory.place is Place.SHARED


def _reads(load: ins.Load) -> int:
    layout = load.out.type.layout
    return 0 if layout is None else layout.locals * load.out.type.dtype.bits // 8 // _READ_BYTES


def _products(dot: ins.Dot, target: Target) -> int:
    """The matrix instructions of one wave."""
    atom = target.atom(dot.atom.removesuffix(SWAP)) if dot.atom else None
    layout = dot.out.type.layout
    if atom is None or layout is None:
        return 0
    return layout.locals // atom.c.locals * (dot.a.type.shape[-1] // atom.k)
