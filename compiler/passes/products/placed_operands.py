"""Computed operands in shared memory: threads store what a matrix unit (wgmma) reads there.

    %x = cast %t : f16[128, 64] `...`
    %y = convert_layout %x : f16[128, 64]                        (no layout: the unit reads it)
    %d = dot %y, %z, acc=%s, atom="wgmma.m64n256k16.ss" : f32[128, 256] `...`
    wait_dots pending=1

->
    store @x_tile[place, ...], %x
    sync
    %y = load @x_tile[place, ...] : f16[128, 64]
    %d = dot ...
    wait_dots pending=1

All threads must have stored before one warpgroup's product reads, and all products that read a place
must have ended before a thread stores there again. Where an iteration waits for its products there is
one place, and a barrier before the stores too. Where they run on into the next iteration there are
three, in turn, and the one barrier is enough: a warp that stores in iteration i + 1 has met all others
in iteration i, and these had waited for the products of iteration i - 2 by then.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import simplify
from dslc.compiler.ir.arithmetic.index_arithmetic import div, mod, sub
from dslc.compiler.ir.expr import Const, Expr, index
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.program import Kernel
from dslc.compiler.ir.regions import whole
from dslc.compiler.ir.rewrite import Rewriter
from dslc.compiler.ir.traverse import Body, Use, walk
from dslc.compiler.ir.values import Memory, Place, Role
from dslc.compiler.layout import compose, local
from dslc.compiler.passes.pipelining.swizzled_shared import swizzled_layout
from dslc.compiler.passes.products.async_products import deferred

_PLACES = 3


def is_placed(stmt: Stmt) -> bool:
    """Whether a statement puts a computed operand where a unit reads it."""
    return isinstance(stmt, ins.ConvertLayout) and stmt.out.type.layout is None


def placed_bytes(body: Iterable[Stmt]) -> int:
    """The bytes of shared memory that the computed operands of a body take at most."""
    total = 0
    for stmt in body:
        if isinstance(stmt, ins.ConvertLayout) and is_placed(stmt):
            total += _bytes(stmt)
        elif isinstance(stmt, ins.For):
            inside = [s for s in walk(stmt.body) if isinstance(s, ins.ConvertLayout)]
            places = _PLACES if deferred(stmt) else _places(stmt)
            total += places * sum(_bytes(s) for s in inside if is_placed(s))
        elif isinstance(stmt, ins.While | ins.If | ins.WarpSpecialize):
            inside = [s for s in walk((stmt,)) if isinstance(s, ins.ConvertLayout)]
            total += sum(_bytes(s) for s in inside if is_placed(s))
    return total


def _bytes(stmt: ins.ConvertLayout) -> int:
    rows, columns = stmt.out.type.shape
    return rows * columns * stmt.out.type.dtype.bits // 8


def _places(loop: ins.For) -> int:
    """How many places an operand takes turns in: one, where the iteration waits for its products."""
    waits = [s for s in walk(loop.body) if isinstance(s, ins.WaitDots)]
    return 1 if any(not w.pending for w in waits) else _PLACES


def place_operands(kernel: Kernel) -> Kernel:
    """The kernel with stores and barriers in place of conversions to no layout."""
    if not any(map(is_placed, walk(kernel.body))):
        return kernel
    return replace(kernel, body=_Placer().body(kernel.body))


class _Placer(Rewriter):
    def __init__(self) -> None:
        super().__init__()
        self.loops: list[ins.For] = []
        self.allocs: list[Stmt] = []  # of the places of the innermost loop

    def nested(self, stmt: Stmt, which: int, handed: list[Use]) -> tuple[Body, list[Use]]:
        """A body; that of a loop knows the loop."""
        if isinstance(stmt, ins.For):
            self.loops.append(stmt)
        inner = super().nested(stmt, which, handed)
        if isinstance(stmt, ins.For):
            self.loops.pop()
        return inner

    def statement(self, stmt: Stmt) -> Iterable[Stmt]:
        """A conversion gives its stores; a loop around some begins when all have left it before."""
        outer, self.allocs = self.allocs, []
        rebuilt = self.rebuild(stmt)
        stores, self.allocs = self.allocs, outer
        if isinstance(rebuilt, ins.ConvertLayout) and is_placed(rebuilt):
            alloc, *stored = self._stored(rebuilt)
            if not self.loops:
                return (alloc, *stored)
            self.allocs.append(alloc)
            return stored
        if stores and isinstance(stmt, ins.For):
            # What lies there is read until a later iteration.
            return (*stores, ins.Sync(loc=stmt.loc), rebuilt)
        self.allocs += stores
        return (rebuilt,)

    def _stored(self, stmt: ins.ConvertLayout) -> Body:
        loop = self.loops[-1] if self.loops else None
        places = _places(loop) if loop is not None else 1
        shape, dtype, loc = stmt.out.type.shape, stmt.out.type.dtype, stmt.loc
        layout = swizzled_layout(shape, dtype.bits)
        assert layout is not None
        memory = Memory(
            f"{stmt.out.name or 't'}_tile",
            dtype,
            tuple(map(index, (places, *shape))),
            Role.BUFFER,
            Place.SHARED,
            layout=compose(local(places, 1, 1), layout),
            loc=loc,
        )
        tile = whole(memory, shape, _turn(loop, places) if loop is not None else index(0))
        before = (ins.Sync(loc=loc),) if places == 1 else ()
        return (
            ins.Alloc(memory, loc=loc),
            *before,
            ins.Store(tile, stmt.x, loc=loc),
            ins.Sync(loc=loc),
            ins.Load(stmt.out, tile, None, loc=loc),
        )


def _turn(loop: ins.For, places: int) -> Expr:
    """The number of the iteration, by the number of places."""
    if places == 1:
        return index(0)
    assert isinstance(loop.step, Const)
    done = div(sub(loop.var, loop.start), int(loop.step.value))
    return simplify(mod(done, places))
