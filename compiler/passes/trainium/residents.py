"""Tiles that the iterations of a loop share stay on chip: what depends on other loops alone is made
once.

For a product of blocks the block of `a` depends on m and k, and the loop over n repeats it:

    a_kept = []
    for n in range(0, 2048, 512):
        for k in range(0, 2048, 512):
            if n == 0:
                a = ...
                a_kept.append(a)
            a = a_kept[k // 512]

Which tiles stay is chosen by the traffic that each byte of SBUF saves, in what the turn itself leaves
free of it.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from math import prod

from dslc.compiler.ir import Kernel, Role, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.traverse import Body, bodies, expressions, operands, tile_of, walk
from dslc.compiler.ir.workload import range_of
from dslc.compiler.passes.trainium.capacity import sbuf_peak, streams, tile_bytes, usable
from dslc.compiler.targets.nki import Engines

_PURE = (
    ins.Load, ins.Cast, ins.Unary, ins.Binary, ins.Fma, ins.Fused, ins.Where, ins.ConvertLayout,
    ins.Repeat,
    ins.Reshape, ins.Transpose, ins.Broadcast, ins.Extract, ins.Concat,
)  # fmt: skip
_VIEWS = (ins.Reshape, ins.Transpose, ins.Broadcast, ins.Extract)


@dataclass(frozen=True, slots=True)
class Counted:
    """A loop around a statement: its counter and how often it iterations (None: not known)."""

    var: ex.Var
    start: ex.Expr
    step: ex.Expr
    iterations: int | None


@dataclass(frozen=True, slots=True)
class ResidentTensors:
    """A tile that stays through the iterations of `across`; `inside` are the loops that tell its
    versions.

    `firsts` are the counters whose first iterations make it.
    """

    value: Value
    chain: tuple[Stmt, ...]
    across: Counted
    inside: tuple[Counted, ...]
    firsts: tuple[Counted, ...]
    bytes: int
    saved: float


@dataclass(slots=True)
class _Search:
    kernel: Kernel
    found: list[ResidentTensors] = field(default_factory=list)
    makers: dict[Value, Stmt] = field(default_factory=dict)
    deps: dict[Value, frozenset[ex.Var]] = field(default_factory=dict)
    lets: dict[ex.Var, frozenset[ex.Var]] = field(default_factory=dict)
    readers: dict[Value, list[Stmt]] = field(default_factory=dict)


def residents(kernel: Kernel, engines: Engines, machine: Set[ex.Var]) -> list[ResidentTensors]:
    """The tiles that stay, most traffic saved for a byte first; no loop of the machine is crossed."""
    search = _Search(kernel)
    for stmt in walk(kernel.body):
        for value in operands(stmt):
            search.readers.setdefault(value, []).append(stmt)
    loops = tuple(_counted(a.var, a.start, a.stop, a.step) for a in kernel.grid)
    _visit(search, kernel.body, loops, streams(kernel))
    room = usable(engines) - 2 * sbuf_peak(kernel).bytes
    chosen: list[ResidentTensors] = []
    for one in sorted(search.found, key=lambda r: r.saved / r.bytes, reverse=True):
        if one.bytes > room or any(x.var in machine for x in (*one.firsts, *one.inside)):
            continue
        if any(one.value is c.value for c in chosen):
            continue
        chosen.append(one)
        room -= one.bytes
    return chosen


def _counted(var: ex.Var, start: ex.Expr, stop: ex.Expr, step: ex.Expr) -> Counted:
    iterations = range_of(start, stop, step)
    return Counted(var, start, step, None if iterations is None else len(iterations))


def _visit(
    search: _Search, body: Body, loops: tuple[Counted, ...], streamed: frozenset[Value]
) -> None:
    for stmt in body:
        if isinstance(stmt, ins.Let):
            search.lets[stmt.var] = _scalars(search, [stmt.value])
        inner = loops
        if isinstance(stmt, ins.For):
            inner = (*loops, _counted(stmt.var, stmt.start, stmt.stop, stmt.step))
        elif bodies(stmt):
            continue  # branches and while loops keep what is theirs
        for nested in bodies(stmt):
            _visit(search, nested, inner, streamed)
        if isinstance(stmt, (ins.Full, ins.Arange)):
            search.makers[stmt.out] = stmt
            search.deps[stmt.out] = _scalars(search, expressions(stmt))
        if isinstance(stmt, _PURE) and _is_pure(search, stmt):
            search.makers[stmt.out] = stmt
            names = _scalars(search, expressions(stmt))
            search.deps[stmt.out] = names.union(*(search.deps[x] for x in operands(stmt)))
    for stmt in body:
        out = tile_of(stmt)
        if out is None or out in streamed or out not in search.deps:
            continue
        if isinstance(stmt, _PURE) and _is_frontier(search, out):
            _consider(search, out, loops)


def _is_pure(search: _Search, stmt: Stmt) -> bool:
    if isinstance(stmt, ins.Load) and stmt.region.memory.role is not Role.IN:
        return False
    return all(x in search.deps for x in operands(stmt))


def _scalars(search: _Search, exprs: Sequence[ex.Expr]) -> frozenset[ex.Var]:
    scalars: set[ex.Var] = set()
    for e in exprs:
        for var in ex.free_vars(e):
            scalars |= search.lets.get(var, frozenset((var,)))
        if any(isinstance(n, ex.Read) for n in ex.walk(e)):
            scalars.add(ex.Var("$read", e.dtype))
    return frozenset(scalars)


def _is_frontier(search: _Search, value: Value) -> bool:
    """Whether a reader of the tile depends on more than it does; views go with their readers."""
    if isinstance(search.makers[value], _VIEWS):
        return False
    mine = search.deps[value]
    return any(_reaches_further(search, reader, mine) for reader in search.readers.get(value, []))


def _reaches_further(search: _Search, reader: Stmt, deps: frozenset[ex.Var]) -> bool:
    out = tile_of(reader)
    if out is None or out not in search.deps:
        return True
    if search.deps[out] != deps:
        return True
    if isinstance(reader, _VIEWS):
        return any(_reaches_further(search, r, deps) for r in search.readers.get(out, []))
    return False


def _consider(search: _Search, value: Value, loops: tuple[Counted, ...]) -> None:
    """The tile kept across each loop that it does not depend on."""
    deps = search.deps[value]
    known = {loop.var for loop in loops}
    if any(d.name == "$read" for d in deps) or any(loop.iterations is None for loop in loops):
        return
    if any(d not in known and d not in _outside(search) for d in deps):
        return
    chain = _chain(search, value)
    if not any(isinstance(s, ins.Load) for s in chain):
        return
    for level, across in enumerate(loops):
        later = loops[level + 1 :]
        if across.var in deps or across.iterations is None or across.iterations < 2:
            continue
        inside = tuple(x for x in later if x.var in deps)
        firsts = (across, *(x for x in later if x.var not in deps))
        versions = prod(x.iterations or 1 for x in inside)
        size = versions * tile_bytes(value)
        outer = prod(x.iterations or 1 for x in loops[:level])
        repeats = prod(x.iterations or 1 for x in firsts) - 1
        work = sum(tile_bytes(tile) for s in chain if (tile := tile_of(s)) is not None)
        saved = float(outer * versions * repeats * work)
        if size:
            search.found.append(ResidentTensors(value, chain, across, inside, firsts, size, saved))


def _outside(search: _Search) -> set[ex.Var]:
    """Dims and scalar parameters: the same in all turns."""
    given = {p for p in search.kernel.params if isinstance(p, ex.Var)}
    return given | set(search.kernel.dims)


def _chain(search: _Search, value: Value) -> tuple[Stmt, ...]:
    """What makes a tile, in order."""
    chain: dict[Stmt, None] = {}

    def visit(v: Value) -> None:
        maker = search.makers[v]
        if maker not in chain:
            for x in operands(maker):
                visit(x)
            chain[maker] = None

    visit(value)
    return tuple(chain)
