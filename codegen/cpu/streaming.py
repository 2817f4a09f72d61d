"""Stores past the caches: rows of large tensors that nobody reads again.

    the first elements, up to a line of memory:  a chunk with a mask
    whole lines:                                 non-temporal stores, if the tensor is large
    what is left:                                a chunk with a mask

A store that fills its line need not read it first, which is a third of what a copy moves. Whether the
tensor is larger than the caches, and where its rows begin, is known at run time: the same loop writes
both ways.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING

from dslc.codegen.chunks.at import At, linear_of, row
from dslc.codegen.chunks.nests import Span, each
from dslc.codegen.cpu.nests import first
from dslc.codegen.cpu.transfer import element
from dslc.compiler.dtypes import BOOL
from dslc.compiler.ir import Kernel, Memory, Role
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import Linear, linear, simplify, to_expr
from dslc.compiler.ir.arithmetic.index_arithmetic import add, div, least, mod, mul, select, sub
from dslc.compiler.ir.traverse import memories, operands, walk
from dslc.compiler.vector.values import Operand

if TYPE_CHECKING:
    from dslc.codegen.cpu.emission import Emission

_LINE = 64
_FEWEST = 8  # chunks of a row that is worth it
_IN_PLACE = (*ins.ELEMENTWISE, ins.Broadcast, ins.Load, ins.Full, ins.Arange, ins.ConvertLayout)


def written_once(kernel: Kernel) -> frozenset[Memory]:
    """The outputs that one store writes, and nothing else reads or writes."""
    stores: dict[Memory, int] = {}
    for stmt in walk(kernel.body):
        for memory in memories(stmt):
            stores[memory] = stores.get(memory, 0) + (1 if isinstance(stmt, ins.Store) else 2)
    outputs = [m for m in kernel.tensors if m.role is Role.OUT]
    return frozenset(m for m in outputs if stores.get(m) == 1)


def may_stream(e: Emission, i: ins.Store, lanes: int) -> bool:
    """Whether a store writes long rows of whole lines, of a tile whose chunks may begin anywhere."""
    memory, shape = i.region.memory, i.x.type.shape
    if (
        i.where is not None
        or memory not in e.written_once
        or not shape
        or shape[-1] < _FEWEST * lanes
    ):
        return False
    array, last = e.memories[memory], i.region.axes[-1]
    if array.compact or last.dropped or last.step != 1 or last.limit is not None:
        return False
    if array.strides[-1] != Linear(constant=1) or lanes * array.size % _LINE:
        return False
    stack, seen = [i.x], {i.x}
    while stack:
        x = stack.pop()
        if x in e.homes:
            continue
        stmt = e.lazy[x]
        if not isinstance(stmt, _IN_PLACE):
            return False
        more = [v for v in operands(stmt) if v not in seen]
        seen.update(more)
        stack += more
    return True


def stream_rows(
    e: Emission,
    i: ins.Store,
    lanes: int,
    chunk: Callable[[At, Operand | None], None],
    spans: Sequence[Span],
) -> None:
    """`chunk` for every chunk of the tile, with the condition under which it bypasses the caches."""
    e.streams = True
    memory, shape = i.region.memory, i.x.type.shape
    array = e.memories[memory]
    address = e.addresses[memory]
    size = mul(array.size, _product(memory.shape))
    large = ex.Binary("gt", size, ex.index(e.machine.l3), BOOL)
    fits = ex.Binary("eq", mod(address, array.size), ex.index(0), BOOL)
    bypass = ex.Binary("and", large, fits, BOOL)
    rows = [s or (ex.index(0), ex.index(n)) for s, n in zip(spans, shape, strict=True)]

    def along(base: tuple[Linear, ...]) -> None:
        low, high = rows[-1]
        starts = [linear_of(a.start) for a in i.region.axes]
        free = iter((*base, linear(low)))
        where = tuple(
            s if a.dropped else s + next(free).scale(a.step)
            for s, a in zip(starts, i.region.axes, strict=True)
        )
        number = to_expr(element(array, where))
        past = mod(add(address, mul(number, array.size)), _LINE)
        skew = div(mod(sub(_LINE, past), _LINE), array.size)
        begin = e.fresh("begin")
        head = least(select(bypass, skew, ex.index(0)), sub(high, low))
        e.bind(begin, e.scalar(simplify(head)))
        e.natural.add(begin)
        aligned = simplify(add(low, begin))
        stream = e.scalar(bypass)
        _part(e, base, low, begin, lanes, chunk)
        each(
            e,
            aligned,
            high,
            lanes,
            lambda x: chunk(row((*base, x), lanes), stream),
        )
        done = mul(div(sub(high, aligned), lanes), lanes)
        rest = e.fresh("rest")
        e.bind(rest, e.scalar(simplify(sub(sub(high, aligned), done))))
        _part(e, base, simplify(add(aligned, done)), rest, lanes, chunk)

    def down(base: tuple[Linear, ...]) -> None:
        if len(base) == len(shape) - 1:
            along(base)
            return
        low, high = rows[len(base)]
        each(e, low, high, 1, lambda at: down((*base, at)))

    down(())


def _part(
    e: Emission,
    base: tuple[Linear, ...],
    start: ex.Expr,
    count: ex.Var,
    lanes: int,
    chunk: Callable[[At, Operand | None], None],
) -> None:
    """The first `count` lanes of a chunk, if there are any."""
    number = e.scalar(count)

    def body() -> None:
        chunk(row((*base, linear(start)), lanes, first(e, number, lanes)), None)

    e.when(e.b.binary("gt", number, 0), body)


def _product(factors: Sequence[ex.Expr]) -> ex.Expr:
    known = prod(int(f.value) for f in factors if isinstance(f, ex.Const))
    total: ex.Expr = ex.index(known)
    for f in factors:
        if not isinstance(f, ex.Const):
            total = mul(total, f)
    return total
