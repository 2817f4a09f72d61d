"""Which loads of a loop can run ahead of it, and how.

A load may be issued iterations early where the memory is one that no statement of the kernel writes,
and its subscripts come from the loop's variable and from what the loop does not change. It is *staged*,
copied to shared memory asynchronously, where each thread can move 4, 8 or 16 bytes at once: whole bytes
along the last axis, aligned by what is proved of the subscripts and the row pitch, and 0 past the end.
It is *prefetched* into registers an iteration ahead where it cannot be staged and takes few registers.
Any other load stays where it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import gcd, prod

from dslc.compiler.analysis.scalar_facts import Facts
from dslc.compiler.dtypes import BOOL, INDEX
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import constant, simplify
from dslc.compiler.ir.expr import (
    Binary,
    Const,
    Expr,
    Var,
    children,
    free_vars,
    index,
    substitute,
)
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.program import Kernel
from dslc.compiler.ir.traverse import Body, Name, names_in, results, uses_of, walk, writes
from dslc.compiler.ir.values import Memory, Place, Role, Value, alignment

COPY_BYTES = (16, 8, 4)  # of one thread's asynchronous copy
_PREFETCHED_BYTES = 64  # a thread's registers for one prefetched tile
_SLICE_ELEMENTS = 32  # tiles that subscripts are computed from are no larger
_THREADS = 128  # of a kernel that does not say

_EXPLICIT = (ins.CopyAsync, ins.CommitGroup, ins.WaitGroup, ins.Sync)
# What may run an iteration early beside a load, since it has no effect.
_PURE = (
    ins.Let, ins.Load, ins.Full, ins.Arange, ins.Unary, ins.Binary, ins.Where, ins.Cast, ins.Extract,
    ins.Reduce, ins.Reshape, ins.Broadcast,
)  # fmt: skip


def is_explicit(kernel: Kernel) -> bool:
    """Whether a kernel has copies, barriers or buffers of its own: it is pipelined as it stands."""
    return any(
        isinstance(s, _EXPLICIT)
        or (isinstance(s, ins.Alloc) and s.memory.place is not Place.REGISTER)
        for s in walk(kernel.body)
    )


@dataclass(frozen=True, slots=True)
class Ahead:
    """A load that may run ahead.

    `needs` are the statements of the body that its subscripts come from, in order. `width` is how many
    elements a thread copies at once, 0 where it cannot be staged. `run` is for how many iterations it
    stays the same, counted from the loop's first; `period` is the loop variable's advance in a run.
    `again` are loads of the same region, by threads beside a product that reads it in memory.
    """

    load: ins.Load
    needs: Body
    width: int
    run: int = 1
    period: int = 0
    again: tuple[ins.Load, ...] = ()

    @property
    def loads(self) -> tuple[ins.Load, ...]:
        """All loads that read the tile."""
        return (self.load, *self.again)

    @property
    def bytes(self) -> int:
        """The bytes of the tile."""
        return tile_bytes(self.load.out)


def tile_bytes(value: Value) -> int:
    """The bytes of a tile, packed."""
    return -(-prod(value.type.shape) * value.type.dtype.bits // 8)


def constant_memories(body: Iterable[Stmt], memories: Iterable[Memory]) -> frozenset[Memory]:
    """The global memories that no statement of the kernel writes, nor waits on."""
    touched: set[Memory] = set()
    for stmt in walk(body):
        touched.update(r.memory for r in writes(stmt))
        if isinstance(stmt, ins.SemaphoreWait):
            touched.add(stmt.region.memory)
    return frozenset(m for m in memories if m not in touched and m.role is not Role.WORKSPACE)


def loads_ahead(loop: ins.For, facts: Facts, unwritten: frozenset[Memory]) -> list[Ahead]:
    """The loads right in the body of a loop that may run ahead, in order; `facts` hold in the body."""
    inside = facts.copy()
    defined: dict[Name, Stmt] = {}
    ahead: list[Ahead] = []
    for stmt in loop.body:
        if isinstance(stmt, ins.Load) and stmt.region.memory in unwritten:
            needs = _needs(loop, stmt, defined, unwritten)
            if needs is not None and _varies(loop, stmt, needs):
                run, period = _run(loop, stmt, inside, needs)
                ahead.append(Ahead(stmt, needs, copy_width(inside, stmt), run, period))
        if isinstance(stmt, ins.Let):
            inside.define(stmt.var, stmt.value)
        defined.update(dict.fromkeys(results(stmt), stmt))
    return _shared(ahead)


def _shared(found: Sequence[Ahead]) -> list[Ahead]:
    """Loads of a region that a product reads in memory, together with that product's."""
    whole = [a for a in found if a.load.out.type.layout is None]
    again = {
        a: tuple(b.load for b in found if b not in whole and _is_same(a.load, b.load))
        for a in whole
    }
    joined = {load for loads in again.values() for load in loads}
    return [replace(a, again=again.get(a, ())) for a in found if a in whole or a.load not in joined]


def _is_same(load: ins.Load, other: ins.Load) -> bool:
    return (load.region, load.other) == (other.region, other.other)


def is_prefetched(ahead: Ahead, threads: int | None) -> bool:
    """Whether a load that cannot be staged is worth its registers."""
    return thread_bytes(ahead.load.out, threads) <= _PREFETCHED_BYTES


def thread_bytes(value: Value, threads: int | None) -> int:
    """The bytes of registers that a tile takes of each thread."""
    if value.type.layout is not None:
        return value.type.layout.locals * value.type.dtype.bits // 8
    return tile_bytes(value) // (threads or _THREADS)


def zeros(value: Value) -> Const:
    """The zero of a tile's dtype."""
    dtype = value.type.dtype
    return Const(False if dtype == BOOL else 0.0 if dtype.is_float else 0, dtype)


def copy_width(facts: Facts, load: ins.Load) -> int:
    """The elements of one thread's copy: 16, 8 or 4 bytes that are proved aligned; 0 where none are."""
    region, memory = load.region, load.region.memory
    bits, last = memory.dtype.bits, region.axes[-1] if region.axes else None
    if last is None or last.dropped or last.step != 1 or bits % 8 or memory.packed is not None:
        return 0
    guarded = any(a.is_guarded for a in region.axes)
    if guarded and load.other is not None and constant(load.other) != 0:
        return 0  # what is out of bounds is copied as zeros
    strides = element_strides(memory)
    if strides[-1] != index(1):
        return 0
    whole = min(COPY_BYTES[0], alignment(memory)) * 8 // bits
    width = gcd(last.size, last.count, whole, multiple(facts, last.start))
    for stride, axis in zip(strides[:-1], region.axes[:-1], strict=True):
        if not (axis.dropped and axis.start == index(0)):
            width = gcd(width, multiple(facts, stride))
    if last.checked:
        width = gcd(width, multiple(facts, memory.shape[-1]))
    if last.end is not None:
        width = gcd(width, multiple(facts, last.end))
    return width if width * bits // 8 in COPY_BYTES else 0


def element_strides(memory: Memory) -> tuple[Expr, ...]:
    """How many elements lie between neighbours along each axis."""
    if memory.strides is not None:
        return tuple(simplify(s) for s in memory.strides)
    strides: list[Expr] = [index(1)]
    for extent in memory.shape[:0:-1]:
        strides.append(_simple("mul", strides[-1], extent))
    return tuple(reversed(strides))


def multiple(facts: Facts, expr: Expr) -> int:
    """A number that is proved to divide the expression; 0 divides 0 alone."""
    if expr.dtype != INDEX:
        value = constant(expr)
        return abs(int(value)) if value is not None else 1
    return gcd(*facts.prover.congruence(facts.form(expr)))


def _needs(
    loop: ins.For, load: ins.Load, defined: dict[Name, Stmt], unwritten: frozenset[Memory]
) -> Body | None:
    """The statements of the body that the load's subscripts come from; None where one is not pure."""
    own = {c.inner for c in loop.carried}
    wanted: list[Stmt] = []
    open_: list[Stmt] = [load]
    while open_:
        stmt = open_.pop()
        for use in uses_of(stmt):
            for name in names_in(use):
                if name in own:
                    return None
                source = defined.get(name)
                if source is None or source in wanted:
                    continue
                if not _is_pure(source, unwritten):
                    return None
                wanted.append(source)
                open_.append(source)
    return tuple(s for s in loop.body if s in wanted)


def _is_pure(stmt: Stmt, unwritten: frozenset[Memory]) -> bool:
    if not isinstance(stmt, _PURE):
        return False
    if isinstance(stmt, ins.Load) and stmt.region.memory not in unwritten:
        return False
    return all(prod(v.type.shape) <= _SLICE_ELEMENTS for v in results(stmt) if isinstance(v, Value))


def _varies(loop: ins.For, load: ins.Load, needs: Body) -> bool:
    """Whether the load's subscripts change from iteration to iteration at all."""
    names = {n for s in (*needs, load) for use in uses_of(s) for n in names_in(use)}
    return loop.var in names


def _run(loop: ins.For, load: ins.Load, facts: Facts, needs: Body) -> tuple[int, int]:
    """For how many iterations the load stays the same, and the loop variable's advance in them.

    The variable may occur only as `(k + c) // G` where c is a multiple of G: then a load changes every
    G // step iterations, if the step divides G and the first iteration is a multiple of G.
    """
    if not isinstance(loop.step, Const) or any(not isinstance(s, ins.Let) for s in needs):
        return 1, int(loop.step.value) if isinstance(loop.step, Const) else 0
    step = int(loop.step.value)
    periods: set[int] = set()
    local = {s.var: s.value for s in needs if isinstance(s, ins.Let)}
    exprs = list(load.region.subscripts)
    if load.other is not None:
        exprs.append(load.other)
    for expr in exprs:
        if not _periods(simplify(_written_out(expr, local)), loop.var, facts, periods):
            return 1, step
    period = 0
    for p in periods:
        period = gcd(period, p)
    aligned = period and multiple(facts, loop.start) % period == 0
    if step > 0 and aligned and period % step == 0 and period > step:
        return period // step, period
    return 1, step


def _written_out(expr: Expr, local: dict[Var, Expr]) -> Expr:
    while any(n in local for n in names_in(expr)):
        expr = substitute(expr, local)
    return expr


def _periods(expr: Expr, var: Var, facts: Facts, found: set[int]) -> bool:
    """Collects the G of every `(var + c) // G`; False where the variable occurs otherwise."""
    if var not in free_vars(expr):
        return True
    match expr:
        case Binary("floordiv", x, Const(g)) if g > 0 and expr.dtype == INDEX:
            rest = _simple("sub", x, var)
            if var not in free_vars(rest) and multiple(facts, rest) % int(g) == 0:
                found.add(int(g))
                return True
    parts = children(expr)
    return bool(parts) and all(_periods(p, var, facts, found) for p in parts)


def _simple(op: str, x: Expr, y: Expr) -> Expr:
    return simplify(Binary(op, x, y, INDEX))
