"""Products that end later: where they are waited for, and what they read.

    %x = load @ring[slot, ...] : f16[128, 64]             (no layout: the unit reads it)
    %y = load @ring_1[slot, ...] : f16[64, 256]
    %d = dot %x, %y, acc=%s, atom="wgmma.m64n256k16.ss" : f32[128, 256] `...`

A product is waited for at once, but for those of a pipelined loop that does nothing with the sums but
hand them on. Its turn's products may run on while the next turn begins: the wait leaves them pending,
and the last ones are waited for after the loop (`passes.pipelining` then fills a slot one turn later).
An operand that no ring holds is copied to shared memory on the spot.

So weights are made ready in registers, for one turn, while the unit multiplies those of the turn
before. The unit reads registers as late as it multiplies: those of two turns are alive, and the loop
is unrolled by two so that they are different ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.expr import index
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.program import Kernel
from dslc.compiler.ir.rewrite import Rewriter
from dslc.compiler.ir.traverse import Body, definitions, users, walk
from dslc.compiler.ir.values import AxisSlice, Memory, Place, Region, Role, Value
from dslc.compiler.passes.panels import panels
from dslc.compiler.passes.rings import copy_layout
from dslc.compiler.passes.staging import COPY_BYTES


def deferred(loop: ins.For) -> tuple[ins.Dot, ...]:
    """The late products right in the body of a loop, if only the next turns' products read them."""
    late = tuple(s for s in loop.body if isinstance(s, ins.Dot) and s.is_late)
    held = {x for d in late for x in in_registers(d)}
    # The next turn gives what it hands on the same registers.
    if not held.isdisjoint(c.inner for c in loop.carried) or (held and (loop.unroll or 2) % 2):
        return ()
    readers = users((loop,))
    sums: set[Value] = {d.out for d in late}
    sums |= {c.inner for c in loop.carried if c.yielded in sums and isinstance(c.inner, Value)}
    handed = {c.yielded for c in loop.carried}
    for value in sums:
        for reader in readers.get(value, ()):
            chained = isinstance(reader, ins.Dot) and reader in late and reader.acc is value
            if not chained and not (reader is loop and value in handed):
                return ()
    nested = sum(isinstance(s, ins.Dot) and s.is_late for s in walk(loop.body))
    return late if nested == len(late) else ()


def in_registers(dot: ins.Dot) -> tuple[Value, ...]:
    """The operands that the unit takes from registers."""
    return tuple(x for x in (dot.a, dot.b) if x.type.layout is not None)


def is_made_anew(loop: ins.For, late: Iterable[ins.Dot]) -> bool:
    """Whether products take from registers what each turn makes."""
    made = definitions(loop.body)
    return any(x in made for d in late for x in in_registers(d))


def is_paced(loop: ins.For) -> bool:
    """Whether late products right in the loop's body are all that read what it loads for them."""
    late = [s for s in loop.body if isinstance(s, ins.Dot) and s.is_late]
    inside = [s for s in walk(loop.body) if isinstance(s, ins.Dot) and s.is_late]
    return bool(late) and len(late) == len(inside)


def settle(kernel: Kernel) -> Kernel:
    """The kernel with every operand of late products in shared memory."""
    if not any(isinstance(s, ins.Dot) and s.is_late for s in walk(kernel.body)):
        return kernel
    return replace(kernel, body=_Settler(kernel.threads or 1).body(kernel.body))


class _Settler(Rewriter):
    def __init__(self, threads: int) -> None:
        super().__init__()
        self.threads = threads

    def memory(self, memory: Memory) -> Memory:
        """Memories stay as they are."""
        return memory

    def statement(self, stmt: Stmt) -> Iterable[Stmt]:
        """An operand and its copy."""
        if (
            isinstance(stmt, ins.Load)
            and stmt.out.type.layout is None
            and stmt.region.memory.place is not Place.SHARED
        ):
            return self._copied(stmt)
        return (self.rebuild(stmt),)

    def _copied(self, load: ins.Load) -> Body:
        shape, dtype = load.out.type.shape, load.out.type.dtype
        memory = Memory(
            f"{load.region.memory.name}_tile", dtype, tuple(map(index, shape)), Role.BUFFER,
            Place.SHARED, layout=panels(shape, dtype.bits), loc=load.loc,
        )  # fmt: skip
        whole = Region(memory, tuple(AxisSlice(index(0), n, checked=False) for n in shape))
        layout = copy_layout(shape, COPY_BYTES[0] * 8 // dtype.bits, self.threads)
        return (
            ins.Alloc(memory, loc=load.loc),
            ins.Sync(loc=load.loc),  # the products of before have read it
            ins.CopyAsync(whole, load.region, layout, loc=load.loc),
            ins.CommitGroup(loc=load.loc),
            ins.WaitGroup(0, loc=load.loc),
            ins.Sync(loc=load.loc),
            replace(load, region=whole, other=None),
        )
