"""Producer warps where each block takes one turn: for attention, and where no products are summed.

    %q = load @q[s : +128, ...]                                 (no layout: the unit reads it)
    ... = for l in range(0, stop, 128) carry (...) {
      %x = load @k[l : +128, ...]
      %s = dot %q, %x
      ...
    }
->
    alloc @k_ring ... init_barriers @full ... sync
    warp_specialize warps=4 registers=40 {
      for l in range(0, stop, 128) carry (fill = 0, freed = 1) { ... copies ... }
    }
    ... = for l in range(0, stop, 128) carry (..., slot = 0, phase = 0) { ... }
    wait_dots pending=0

The loop's bounds and the subscripts of its loads are made of scalars, some of which may have been read
from memory: what these need is done before the two sides part.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import replace

from dslc.compiler.dtypes import INDEX
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.expr import Var
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.program import Kernel
from dslc.compiler.ir.rewrite import fresh_name
from dslc.compiler.ir.traverse import Body, Name, names_in, results, uses_of
from dslc.compiler.ir.values import Memory, Value
from dslc.compiler.passes.products.async_products import is_made_anew
from dslc.compiler.passes.warp_specialization.producer_rings import Placed, ProducerRings


def scalars_for(
    before: Body, loop: ins.For, loads: Sequence[Placed], unwritten: Container[Memory]
) -> Body | None:
    """What stands before a loop that its bounds and its loads' subscripts need, in order.

    None where that is more than scalars, which are read from memory that the kernel does not write.
    """
    defined = {name: s for s in before for name in results(s)}
    uses = [loop.start, loop.stop, loop.step]
    uses += [e for ahead, _ in loads for e in ahead.load.region.subscripts]
    open_: list[Name] = [n for use in uses for n in names_in(use)]
    open_ += [n for ahead, _ in loads for s in ahead.needs for u in uses_of(s) for n in names_in(u)]
    wanted: set[Stmt] = set()
    while open_:
        stmt = defined.get(open_.pop())
        if stmt is None or stmt in wanted:
            continue
        if not is_scalar(stmt) or (
            isinstance(stmt, ins.Load) and stmt.region.memory not in unwritten
        ):
            return None
        wanted.add(stmt)
        open_ += [n for use in uses_of(stmt) for n in names_in(use)]
    return tuple(s for s in before if s in wanted)


def is_scalar(stmt: Stmt) -> bool:
    """Whether one thread can compute the statement for all, from scalars."""
    pure = isinstance(stmt, ins.Let | ins.Load | ins.Unary | ins.Binary | ins.Cast | ins.Full)
    return pure and all(not isinstance(v, Value) or not v.type.shape for v in results(stmt))


def beside(
    kernel: Kernel, rings: ProducerRings, scalars: Body, warps: int, registers: int
) -> Kernel:
    """The kernel with so many producer warps."""
    loop, taken = rings.loop, rings.taken
    at = kernel.body.index(loop)
    rest = tuple(s for s in kernel.body[:at] if s not in scalars)
    k, fill, slot = (Var(fresh_name(n, taken), INDEX) for n in (loop.var.name, "fill", "slot"))
    copies = replace(
        loop,
        var=k,
        body=rings.fill(fill, (), {loop.var: k}),
        carried=tuple(rings.filling(fill)),
        stages=1,
        unroll=None,
        split=None,
    )
    # What is made ready for a product lies in the registers of two iterations.
    unroll = 2 if is_made_anew(loop, rings.async_dots) else loop.unroll
    reading = replace(
        loop,
        body=rings.iteration(slot, loop.start),
        stages=1,
        unroll=unroll,
        carried=(*loop.carried, *rings.reading(slot)),
    )
    producers = ins.WarpSpecialize(rings.early_ids(copies), warps, registers, loc=loop.loc)
    begin = (*scalars, *rings.begin(), ins.Sync())
    end = (ins.WaitDots(0, loc=loop.loc), *kernel.body[at + 1 :])
    return replace(kernel, body=(*begin, producers, *rest, *rings.early(reading), *end))
