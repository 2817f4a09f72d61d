"""Stream-K: turns that several blocks share, whose parts the last one to come adds in a fixed order.

    %sum = for k in range(first, end, 64) ...
    store @c[m : +128, n : +256], %sum
->
    %sum = for k in range(first, end, 64) ...
    %total, done = if part of a turn {
      store @partial[part, ...], %sum
      %arrived = atomic_rmw add @arrivals[turn], %one
      %all = if read(%arrived) == others { for p in range(0, shares) ... }
    } else { yield %sum, 1 }
    if done == 1 { store @c[m : +128, n : +256], %total }

Partial sums lie in the order of registers, which reads and writes whole lines. The order of the sum is
that of the steps, whoever comes last; nobody waits for anybody. The count of arrivals is left
at zero for the next launch. (`split_k` does the same where a program asks for it.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from dslc.compiler.analysis.accumulation import ADD, accumulators
from dslc.compiler.dtypes import BOOL, I32, INDEX
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import constant
from dslc.compiler.ir.arithmetic.index_arithmetic import sub
from dslc.compiler.ir.expr import Binary, Const, Convert, Expr, Read, Var, index
from dslc.compiler.ir.instructions import Carried, Joined, Stmt
from dslc.compiler.ir.program import Kernel
from dslc.compiler.ir.regions import element, whole
from dslc.compiler.ir.rewrite import Substitution, fresh_name
from dslc.compiler.ir.traverse import Body
from dslc.compiler.ir.values import Memory, Place, Region, Role, TileType, Value
from dslc.compiler.ir.workload import range_of
from dslc.compiler.layout import Layout, Mode, local
from dslc.compiler.passes.tile_scheduling.tile_scheduler import Part, Sharing, TileScheduler
from dslc.compiler.targets import Target

_WORDS = 4  # of a thread's access
_BYTES_A_CYCLE = 24.0  # that one of all multiprocessors moves through the cache
_USUAL = 64  # steps of a turn, where they are not known


def sharing(kernel: Kernel, loop: ins.For, target: Target) -> Sharing:
    """How many blocks may share a turn, at which cost; one where parts cannot be added.

    A part is stored once and read once, in the time of so many steps.
    """
    rates, carried, one = target.rates, loop.carried, Sharing()
    if rates is None or kernel.threads is None or set(accumulators(loop)) != {ADD}:
        return one
    sums = [c.inner for c in carried if isinstance(c.inner, Value)]
    if len(sums) != len(carried) or not all(_is_zero(c.init, kernel) for c in carried):
        return one
    if any(lines_of(v, kernel.threads) is None for v in sums):
        return one
    size = sum(prod(v.type.shape) * v.type.dtype.bits // 8 for v in sums)
    cycles = 0.0
    for dot in (s for s in loop.body if isinstance(s, ins.Dot)):
        each = rates.multiply_adds(dot.atom or "", dot.a.type.dtype.bits)
        if each is None:
            return one
        cycles += prod(dot.out.type.shape) * dot.a.type.shape[-1] / each
    cost = size / _BYTES_A_CYCLE / cycles
    steps = range_of(loop.start, loop.stop, loop.step)
    return Sharing(_USUAL if steps is None else len(steps), cost)


def _is_zero(init: object, kernel: Kernel) -> bool:
    full = next((s for s in kernel.body if isinstance(s, ins.Full) and s.out is init), None)
    return full is not None and constant(full.value) == 0


def lines_of(value: Value, threads: int) -> Layout | None:
    """The layout of a tile's registers as lines of memory; None where threads hold copies."""
    layout = value.type.layout
    if layout is None or not layout.is_injective or layout.locals % _WORDS:
        return None
    if value.type.dtype.bits != 32:
        return None
    return local(layout.locals // _WORDS, 1, 1).spatial(1, threads, 1).local(1, 1, _WORDS)


@dataclass(frozen=True, slots=True)
class _Sum:
    """A sum: its name after the loop, its registers as lines, the workspace of its parts."""

    value: Value
    lines: TileType
    memory: Memory

    def region(self, part: Expr) -> Region:
        """The place of a part."""
        return whole(self.memory, self.lines.shape, part)


def joined(
    work: TileScheduler, part: Part, loop: ins.For, kernel: Kernel, after: Body, taken: set[str]
) -> tuple[Body, tuple[Memory, ...]]:
    """What follows the loop, once all parts of the turn have been added; and the workspaces."""
    if not work.is_shared:
        return after, ()
    assert kernel.threads is not None
    sums: list[_Sum] = []
    for c in loop.carried:
        assert isinstance(c.result, Value)
        layout = lines_of(c.result, kernel.threads)
        assert layout is not None
        type_ = TileType(c.result.type.dtype, layout.shape, layout)
        name = "partial" if len(loop.carried) == 1 else f"partial_{len(sums)}"
        shape = tuple(map(index, (work.most_parts, *layout.shape)))
        memory = Memory(name, type_.dtype, shape, Role.WORKSPACE, Place.GLOBAL, loc=loop.loc)
        sums.append(_Sum(c.result, type_, memory))
    arrivals = Memory(
        "arrivals", I32, (index(work.blocks),), Role.WORKSPACE, Place.GLOBAL, loc=loop.loc
    )
    body = _Joiner(work, part, sums, arrivals, taken).body(after)
    return body, (*(s.memory for s in sums), arrivals)


class _Joiner:
    def __init__(
        self, work: TileScheduler, part: Part, sums: list[_Sum], arrivals: Memory, taken: set[str]
    ) -> None:
        self.work, self.part, self.sums, self.arrivals, self.taken = (
            work,
            part,
            sums,
            arrivals,
            taken,
        )

    def body(self, after: Body) -> Body:
        """The exchange of parts, and what follows for whole sums."""
        done = Var(fresh_name("done", self.taken), INDEX)
        wholes = [replace(s.value, name=f"{s.value.name or 't'}_whole") for s in self.sums]
        parts, totals, last = self._exchange()
        results = [Joined(w, t, s.value) for w, t, s in zip(wholes, totals, self.sums, strict=True)]
        results.append(Joined(done, Convert(last, INDEX), index(1)))
        is_part = Binary("eq", self.part.is_whole, Const(False, BOOL), BOOL)
        renamed = Substitution(values={s.value: w for s, w in zip(self.sums, wholes, strict=True)})
        return (
            ins.If(is_part, parts, (), tuple(results)),
            ins.If(Binary("eq", done, index(1), BOOL), renamed.body(after)),
        )

    def _exchange(self) -> tuple[Body, list[Value], Expr]:
        """Stores the parts and counts; the last to come has the totals."""
        part = self.part
        out: list[Stmt] = []
        for s in self.sums:
            lines = Value(s.lines, "lines")
            out.append(ins.View(lines, s.value))
            out.append(ins.Store(s.region(part.number), lines))
        count = element(self.arrivals, self.work.member(part.rest))
        layout = self.sums[0].value.type.layout
        scalar = TileType(
            I32, (), Layout((), (Mode(layout.threads, -1, 0),), ()) if layout else None
        )
        one, arrived, none = (Value(scalar, n) for n in ("one", "arrived", "none"))
        out += [ins.Full(one, Const(1, I32)), ins.AtomicRmw("add", count, one, out=arrived)]
        others = Convert(sub(self.work.shares, 1), I32)
        is_last = Binary("eq", Read(arrived), others, BOOL)
        makes, total = self._total()
        reset = (ins.Full(none, Const(0, I32)), ins.Store(count, none))
        sums = [replace(s.value, name="sum") for s in self.sums]
        results = zip(sums, (c.result for c in total.carried), self.sums, strict=True)
        pairs = tuple(Joined(r, t, s.value) for r, t, s in results if isinstance(t, Value))
        out.append(ins.If(is_last, (*makes, total, *reset), (), pairs))
        return tuple(out), sums, is_last

    def _total(self) -> tuple[Body, ins.For]:
        """All parts of the turn, added up from the first steps on."""
        p = Var(fresh_name("p", self.taken), INDEX)
        makes: list[Stmt] = []
        body: list[Stmt] = []
        carried: list[Carried] = []
        for s in self.sums:
            type_ = s.value.type
            zero, inner, more, total = (Value(type_, n) for n in ("zero", "total", "part", "total"))
            lines = Value(s.lines, "lines")
            makes.append(ins.Full(zero, Const(0.0 if type_.dtype.is_float else 0, type_.dtype)))
            number = self.work.sharer(p, self.part.rest)
            body.append(ins.Load(lines, s.region(number)))
            body.append(ins.View(more, lines))
            body.append(ins.Binary(total, ADD, inner, more))
            carried.append(Carried(replace(total), inner, zero, total))
        stop = self.work.shares
        return tuple(makes), ins.For(p, index(0), stop, index(1), tuple(body), tuple(carried))
