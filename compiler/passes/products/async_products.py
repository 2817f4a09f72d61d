"""Asynchronous products (wgmma): where they are waited for, and what they read until then.

    %x = load @ring[slot, ...] : f16[128, 64]             (no layout: the unit reads it)
    %y = load @ring_1[slot, ...] : f16[64, 256]
    %d = dot %x, %y, acc=%s, atom="wgmma.m64n256k16.ss" : f32[128, 256] `...`

A product is waited for at once, but for those of a pipelined loop that does nothing with the sums but
hand them on. Its iteration's products may run on while the next iteration begins: the wait leaves them
pending, and the last ones are waited for after the loop (`software_pipeline` then fills a slot one
iteration later). Where a loop computes between products, the last of an iteration runs on into the
next, whose first wait is for both: so the unit goes from the one to the other without a pause.
An operand that no ring holds is copied to shared memory on the spot. One that is loaded before a loop
is waited for only there, where the machine's own unit copies it: the first copies to rings start
meanwhile.

So weights are made ready in registers, for one iteration, while the unit multiplies those of the
iteration before. The unit reads registers as late as it multiplies: those of two iterations are alive,
and the loop is unrolled by two so that they are different ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from dslc.compiler.analysis.scalar_facts import FactsRewriter
from dslc.compiler.dtypes.dtype import U64
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.expr import COMPARE_OPS, index
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.program import Kernel
from dslc.compiler.ir.regions import whole
from dslc.compiler.ir.traverse import (
    Body,
    definitions,
    names_in,
    operands,
    results,
    users,
    uses_of,
    walk,
    writes,
)
from dslc.compiler.ir.values import Memory, Place, Role, Value
from dslc.compiler.passes.pipelining.prefetchable_loads import COPY_BYTES, thread_bytes, tile_bytes
from dslc.compiler.passes.pipelining.ring_layout import copy_layout
from dslc.compiler.passes.pipelining.swizzled_shared import swizzled_tile
from dslc.compiler.passes.pipelining.tma_copies import is_box
from dslc.compiler.targets.rates import Rates

_INLINE = frozenset({
    "add", "sub", "mul", "min", "max", "and", "or", "xor", "shl", "shr", "neg", "not", "invert", "abs",
    "exp", "exp2", *COMPARE_OPS,
})  # fmt: skip

_REGISTERS_BESIDE = 30  # addresses, counters: beside the results of products


def deferred(loop: ins.For) -> tuple[ins.Dot, ...]:
    """The asynchronous products right in a loop's body, if only the next iterations' read them."""
    async_dots = tuple(s for s in loop.body if isinstance(s, ins.Dot) and s.is_async)
    held = {x for d in async_dots for x in in_registers(d)}
    # The next iteration gives what it hands on the same registers.
    if not held.isdisjoint(c.inner for c in loop.carried) or (held and (loop.unroll or 2) % 2):
        return ()
    readers = users((loop,))
    sums: set[Value] = {d.out for d in async_dots}
    sums |= {c.inner for c in loop.carried if c.yielded in sums and isinstance(c.inner, Value)}
    handed = {c.yielded for c in loop.carried}
    for value in sums:
        for reader in readers.get(value, ()):
            chained = isinstance(reader, ins.Dot) and reader in async_dots and reader.acc is value
            if not chained and not (reader is loop and value in handed):
                return ()
    nested = sum(isinstance(s, ins.Dot) and s.is_async for s in walk(loop.body))
    return async_dots if nested == len(async_dots) else ()


def last_wait(loop: ins.For) -> ins.WaitDots | None:
    """The wait for an iteration's last product, where the next one's first wait may stand for it."""
    body = loop.body
    async_dots = [i for i, s in enumerate(body) if isinstance(s, ins.Dot) and s.is_async]
    waits = [i for i, s in enumerate(body) if isinstance(s, ins.WaitDots) and not s.pending]
    if (
        len(async_dots) < 2
        or len(waits) < 2
        or not async_dots[0] < waits[0] < async_dots[-1] < waits[-1]
    ):
        return None
    dot, wait = body[async_dots[-1]], body[waits[-1]]
    assert isinstance(dot, ins.Dot)
    assert isinstance(wait, ins.WaitDots)
    readers = users((loop,))
    handed = [c.inner for c in loop.carried if c.yielded is dot.out]
    if len(handed) != 1 or readers[dot.out] != [loop] or any(map(_may_call, walk(body))):
        return None
    # After the first wait alone the sums are read, once and in their place, and the registers that the
    # product reads are made anew.
    ready = {v: s for s in body[waits[0] :] for v in results(s)}
    kept = any(x.type.layout is not None and x not in ready for x in (dot.a, dot.b))
    maker = dot if dot.acc in handed else ready.get(dot.acc) if dot.acc is not None else None
    in_place = isinstance(maker, ins.Dot | ins.Binary | ins.Fma) and readers[handed[0]] == [maker]
    return wait if in_place and not kept else None


def _may_call(stmt: Stmt) -> bool:
    """Whether it may become a call, around which registers under way are not safe (decision 11)."""
    return isinstance(stmt, ins.Unary | ins.Binary) and stmt.op not in _INLINE


def in_registers(dot: ins.Dot) -> tuple[Value, ...]:
    """The operands that the unit takes from registers."""
    return tuple(x for x in (dot.a, dot.b) if x.type.layout is not None)


def is_made_anew(loop: ins.For, async_dots: Iterable[ins.Dot]) -> bool:
    """Whether products take from registers what each iteration makes."""
    defined = definitions(loop.body)
    return any(x in defined for d in async_dots for x in in_registers(d))


def is_paced(loop: ins.For) -> bool:
    """Whether asynchronous products in the loop's body alone read what it loads for them."""
    async_dots = [s for s in loop.body if isinstance(s, ins.Dot) and s.is_async]
    inside = [s for s in walk(loop.body) if isinstance(s, ins.Dot) and s.is_async]
    return bool(async_dots) and len(async_dots) == len(inside)


def leaves_gaps(loop: ins.For) -> bool:
    """Whether threads compute between an iteration's asynchronous products, each waited for."""
    async_dots = [i for i, s in enumerate(loop.body) if isinstance(s, ins.Dot) and s.is_async]
    waits = [i for i, s in enumerate(loop.body) if isinstance(s, ins.WaitDots)]
    return any(async_dots[0] < w < async_dots[-1] for w in waits) if async_dots else False


def result_words(loop: ins.For) -> int:
    """The registers of a thread for the results of a loop's asynchronous products."""
    async_dots = (s.out for s in loop.body if isinstance(s, ins.Dot) and s.is_async)
    return sum(thread_bytes(x, None) // 4 for x in async_dots)


def is_paired(loop: ins.For, threads: int | None, rates: Rates | None) -> bool:
    """Whether two blocks on a multiprocessor fill each other's gaps, and have registers."""
    if rates is None or threads is None or not leaves_gaps(loop):
        return False
    words = result_words(loop) + _REGISTERS_BESIDE
    return 2 * words * threads <= rates.registers


def settle(kernel: Kernel, bulk: bool) -> Kernel:
    """The kernel with asynchronous products' operands in shared memory; `bulk`: TMA may copy them."""
    if not any(isinstance(s, ins.Dot) and s.is_async for s in walk(kernel.body)):
        return kernel
    kernel = replace(kernel, body=_early(kernel.body))
    return replace(kernel, body=_Settler(kernel, bulk).body(kernel.body))


def _early(body: Body) -> Body:
    """The body with the loads of operands as far up as subscripts and other statements allow."""
    early: list[Stmt] = []
    for stmt in body:
        at = len(early)
        if isinstance(stmt, ins.Load) and _is_open(stmt):
            needed = {n for use in uses_of(stmt) for n in names_in(use)}
            while at and needed.isdisjoint(results(early[at - 1])):
                if any(
                    r.memory is stmt.region.memory
                    for s in walk((early[at - 1],))
                    for r in writes(s)
                ):
                    break
                at -= 1
        early.insert(at, stmt)
    return tuple(early)


def operand_bytes(kernel: Kernel) -> int:
    """The bytes of shared memory of the operands that are loaded before loops."""
    return sum(tile_bytes(s.out) for s in kernel.body if isinstance(s, ins.Load) and _is_open(s))


def _is_open(load: ins.Load) -> bool:
    """Whether the load is of an operand that is not in shared memory yet."""
    return load.out.type.layout is None and load.region.memory.place is not Place.SHARED


class _Settler(FactsRewriter):
    def __init__(self, kernel: Kernel, bulk: bool) -> None:
        super().__init__(kernel)
        self.threads, self.tensors, self.bulk = kernel.threads or 1, kernel.tensors, bulk
        self.outside = kernel.body
        self.awaited: dict[Value, Body] = {}

    def statement(self, stmt: Stmt) -> Iterable[Stmt]:
        """An operand and its copy; what reads one that is under way, after its wait."""
        read = {v for s in walk((stmt,)) for v in operands(s)} if self.awaited else set()
        waits = [s for v in list(self.awaited) if v in read for s in self.awaited.pop(v)]
        if isinstance(stmt, ins.Load) and _is_open(stmt):
            bulk = (
                self.bulk and stmt in self.outside and is_box(stmt.region, self.tensors, self.facts)
            )
            return self._started(stmt) if bulk else self._copied(stmt)
        return (*waits, self.rebuild(stmt))

    def _started(self, load: ins.Load) -> Body:
        """The unit begins to copy; the first reader awaits it."""
        tile = swizzled_tile(load.region.memory, load.out.type.shape, load.loc)
        name = f"{tile.memory.name}_ready"
        one = whole(Memory(name, U64, (index(1),), Role.BUFFER, Place.SHARED), (1,))
        landed = ins.AwaitPhase(one, index(0), loc=load.loc)
        self.awaited[load.out] = (landed, replace(load, region=tile, other=None))
        return (
            ins.Alloc(tile.memory, loc=load.loc),
            ins.Alloc(one.memory, loc=load.loc),
            ins.InitBarriers(one, 1, loc=load.loc),
            ins.Sync(loc=load.loc),
            ins.Arrive(one, tile_bytes(load.out), loc=load.loc),
            ins.CopyAsync(tile, load.region, barrier=one, loc=load.loc),
        )

    def _copied(self, load: ins.Load) -> Body:
        tile = swizzled_tile(load.region.memory, load.out.type.shape, load.loc)
        memory = tile.memory
        shape, dtype = load.out.type.shape, load.out.type.dtype
        layout = copy_layout(shape, COPY_BYTES[0] * 8 // dtype.bits, self.threads)
        return (
            ins.Alloc(memory, loc=load.loc),
            ins.Sync(loc=load.loc),  # the products of before have read it
            ins.CopyAsync(tile, load.region, layout, loc=load.loc),
            ins.CommitGroup(loc=load.loc),
            ins.WaitGroup(0, loc=load.loc),
            ins.Sync(loc=load.loc),
            replace(load, region=tile, other=None),
        )
