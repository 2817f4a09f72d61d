"""Split reduction (split-K): the iterations of one sequential loop over several turns of the grid.

Before (tests/ir/split-k/example.tir):

    grid m in range(0, M, 16)
    %zero = full f32(0.0) : f32[16]
    %sum = for k in range(0, K, 64) split=4 carry (%acc : f32[16] = %zero) {
      ...
      yield %next
    }
    store @y[m : +16], %sum

After:

    memory @partial: workspace global f32[(M + 15) // 16, 4, 16]
    memory @arrivals: workspace global i32[(M + 15) // 16]
    grid m in range(0, M, 16), part in range(0, 4, 1)
    %zero = full f32(0.0) : f32[16]
    %neutral = full f32(0.0) : f32[16]
    %part = for k in range(part * ((K + 255) // 256) * 64, min(K, ...), 64) carry (...) {
      ...
      yield %next
    }
    store @partial[m // 16!, part!, 0 : +16!], %part
    %one = full i32(1) : i32[]
    %arrived = atomic_rmw add @arrivals[m // 16!], %one : i32[]
    if read(%arrived) == i32(3) {
      %part_1 = load @partial[m // 16!, 0!, 0 : +16!] : f32[16]
      ...
      %total = add %zero, %part_1 : f32[16]
      ...
      %sum = add %total_2, %part_4 : f32[16]
      store @y[m : +16], %sum
      %none = full i32(0) : i32[]
      store @arrivals[m // 16!], %none
    }

The last turn to arrive adds the partial results in a fixed order, so the sum does not depend on who
came when, and runs what follows the loop; it leaves the count at zero for the next launch. An
AtomicRmw with a result publishes what its turn wrote before and sees what others published. Nothing
before or inside the loop may have an effect outside the turn.

Where the loop says `atomic=1` and the machine adds to memory, parts do not wait for each other's sums
(tests/ir/split-k/atomic.tir). The first stores what is stored where nothing was summed: a bias, say.

    memory @signal: workspace global i32[(M + 15) // 16]
    ...
    if part == 0 {
      store @y[m : +16!], %zero
      semaphore_release @signal[m // 16!], i32(1)
    }
    %part = for k in range(part * ((K + 127) // 128) * 64, min(K, ...), 64) carry (...) {
    ...
    if part == 0 {
    } else {
      semaphore_wait @signal[m // 16!], i32(1)
    }
    atomic_rmw add @y[m : +16!], %part
    %one = full i32(1) : i32[]
    %arrived = atomic_rmw add @arrivals[m // 16!], %one : i32[]
    if read(%arrived) == i32(1) {
      %none = full i32(0) : i32[]
      store @arrivals[m // 16!], %none
      store @signal[m // 16!], %none
    }

A part waits for one that has a lower number alone, so that it ends wherever turns begin in order.

Parts that are the blocks of a cluster need no memory between them (`cluster_reduction`), and are added
in their order (tests/ir/split-k/cluster.tir):

    %sum = cluster_reduce add %part, part : f32[16]
    if part == 0 {
      %sum_1 = add %zero, %sum : f32[16]
      store @y[m : +16], %sum_1
    }
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, replace

from dslc.compiler.analysis.accumulation import ADD, neutral_of
from dslc.compiler.dtypes import BOOL, I32, INDEX
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import simplify
from dslc.compiler.ir.arithmetic.index_arithmetic import add, cdiv, mul
from dslc.compiler.ir.expr import Binary, Const, Expr, Read, Var, index
from dslc.compiler.ir.instructions import Carried, Stmt
from dslc.compiler.ir.program import GridAxis, Kernel, TileProgram
from dslc.compiler.ir.regions import element
from dslc.compiler.ir.rewrite import clone_body, fresh_name, map_kernels, scalar_names
from dslc.compiler.ir.traverse import (
    Body,
    Name,
    Use,
    memories,
    names_in,
    results,
    uses_of,
    walk,
    writes,
)
from dslc.compiler.ir.values import Memory, Place, Region, Role, TileType, Value
from dslc.compiler.passes.tile_scheduling.cluster_reduction import in_cluster
from dslc.compiler.passes.tile_scheduling.split_atomic import contributions
from dslc.compiler.passes.tile_scheduling.split_counts import (
    constant_step,
    count,
    refused,
    turn_index,
    turns_of,
)
from dslc.compiler.passes.tile_scheduling.split_partials import partials, stores, total
from dslc.compiler.targets import Target

_PAIR, _LARGE = 2, 64  # parts that meet in a cluster untold, and rows and columns of their tiles
_ADDED = 8192  # elements of parts that the last turn loads before it adds them, if nothing is known


@dataclass(frozen=True, slots=True)
class SplitReduction:
    """Divides the loops that say `split=` (more than 1) among parallel turns.

    Loops that say `atomic=1` are added up so only if this is `atomic`. The last turn loads parts of
    at most `added` elements before it adds them. As many parts as `cluster` are the blocks of one;
    with None two, if their tiles are so large that a multiprocessor has a block of them.
    """

    atomic: bool = False
    added: int = _ADDED
    cluster: int | None = 1
    name: str = "split-k"

    @classmethod
    def of(cls, target: Target, cluster: int | None = None) -> SplitReduction:
        """As a GPU would have it: parts may take a warp's registers, of a turn that has several."""
        register = target.memory("register")
        words = register.bytes // 4 * target.warp_size if register else _ADDED
        most = 1 << (words - 1).bit_length()
        return cls(target.packed_atomics, most, cluster if target.clusters > 1 else 1)

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program with its reductions split. DSL0510 to DSL0514 where one cannot be."""
        return map_kernels(program, self._kernel)

    def _kernel(self, kernel: Kernel) -> Kernel:
        return _split_kernel(kernel, self)


def _split_kernel(kernel: Kernel, how: SplitReduction) -> Kernel:
    asked = [s for s in walk(kernel.body) if isinstance(s, ins.For) and (s.split or 1) > 1]
    if not asked:
        return kernel
    loop, *others = asked
    if others:
        raise refused("DSL0510", "only one loop of a kernel can be split", others[0])
    if loop not in kernel.body:
        raise refused("DSL0510", "a loop inside another statement cannot be split", loop)
    at = kernel.body.index(loop)
    before, after = kernel.body[:at], kernel.body[at + 1 :]
    _check_effects(before, loop)
    splitter = _Splitter(kernel, loop, how.added)
    if how.atomic and loop.atomic:
        return splitter.added(before, after)
    if splitter.may_meet(how.cluster):
        return splitter.gathered(before, after)
    return splitter.split(before, after)


def _check_effects(before: Body, loop: ins.For) -> None:
    """Nothing before or inside the loop acts outside its turn, nor keeps state in a buffer."""
    own = {s.memory for s in walk(loop.body) if isinstance(s, ins.Alloc)}
    for stmt in walk((*before, loop)):
        touched = {r.memory for r in writes(stmt)}
        if isinstance(stmt, ins.SemaphoreWait):
            touched = set(memories(stmt))
        if any(m.role is not Role.BUFFER for m in touched):
            message = "a split reduction writes global memory only after its loop"
            hint = "move the store after the loop, or remove split="
            raise refused("DSL0511", message, stmt, hint)
    for stmt in walk(loop.body):
        if any(r.memory not in own for r in writes(stmt)):
            message = "a split reduction keeps nothing in a buffer from iteration to iteration"
            hint = "make the buffer inside the loop, or remove split="
            raise refused("DSL0511", message, stmt, hint)


class _Splitter:
    """Rebuilds one kernel around its split loop."""

    def __init__(self, kernel: Kernel, loop: ins.For, added: int) -> None:
        self.kernel, self.loop, self.most = kernel, loop, added
        self.taken = scalar_names(kernel)
        self.parts = loop.split or 1
        self.part = self._var("part")
        self.turns = tuple(turns_of(kernel, axis) for axis in kernel.grid)
        self.here = tuple(turn_index(axis) for axis in kernel.grid)
        self.partials = partials(loop, self.turns, self.here)
        self.arrivals = Memory("arrivals", I32, self.turns, Role.WORKSPACE, Place.GLOBAL)

    def _var(self, hint: str) -> Var:
        return Var(fresh_name(hint, self.taken), INDEX)

    def split(self, before: Body, after: Body) -> Kernel:
        """The kernel with one more axis in its grid."""
        *makes, loop = self._partial_loop()
        stored = stores(self.partials, results(loop), self.part, self.loop)
        body = (*self._once(before), *makes, loop, *stored, *self._arrival(self._finish(after)))
        return self._made(body, *(p.memory for p in self.partials))

    def may_meet(self, cluster: int | None) -> bool:
        """Whether parts are a cluster, and accumulate tiles alone in turns that wait for no others."""
        large = all(min(p.type.shape[-2:], default=0) >= _LARGE for p in self.partials)
        waits = any(isinstance(s, ins.SemaphoreWait) for s in walk(self.kernel.body))
        tiles = all(isinstance(p.carried.inner, Value) for p in self.partials)
        return self.parts == (cluster or (_PAIR if large else 1)) and tiles and not waits

    def gathered(self, before: Body, after: Body) -> Kernel:
        """The kernel whose parts are the blocks of a cluster, the first of which has the sums."""
        *makes, loop = self._partial_loop()
        ops = [p.op for p in self.partials]
        sums = in_cluster(self.loop, ops, results(loop), self.part, after)
        body = (*self._once(before), *makes, loop, *sums)
        return replace(self._with_parts(body), cluster=self.parts)

    def added(self, before: Body, after: Body) -> Kernel:
        """The kernel whose parts add themselves to its result."""
        loc = self.loop.loc
        if any(p.op != ADD or not isinstance(p.carried.inner, Value) for p in self.partials):
            message = "parts that are added one by one are sums of tiles"
            raise refused("DSL0514", message, self.loop, hint="remove atomic=")
        *makes, loop = self._partial_loop()
        wholes = [c.result for c in self.loop.carried]
        first, _ = clone_body(
            after, self.taken, values=_pairs(wholes, (c.init for c in self.loop.carried))
        )
        more, _ = clone_body(
            contributions(after, wholes), self.taken, values=_pairs(wholes, results(loop))
        )
        signal = Memory("signal", I32, self.turns, Role.WORKSPACE, Place.GLOBAL)
        raised, is_first = Const(1, I32), Binary("eq", self.part, index(0), BOOL)
        release = ins.SemaphoreRelease(self._element(signal), raised, loc=loc)
        wait = ins.SemaphoreWait(self._element(signal), raised, loc=loc)
        body = (
            *self._once(before),
            *makes,
            ins.If(is_first, (*first, release), loc=loc),
            loop,
            ins.If(is_first, (), (wait,), loc=loc),
            *more,
            *self._arrival((), signal),
        )
        return self._made(body, signal)

    def _made(self, body: Body, *spaces: Memory) -> Kernel:
        every = (*self.kernel.workspaces, *spaces, self.arrivals)
        return replace(self._with_parts(body), workspaces=every)

    def _with_parts(self, body: Body) -> Kernel:
        one_more = GridAxis(self.part, index(0), index(self.parts), index(1))
        return replace(self.kernel, grid=(*self.kernel.grid, one_more), body=body)

    def _once(self, before: Body) -> Body:
        """What stands before the loop; it prints in the first part alone."""
        first = Binary("eq", self.part, index(0), BOOL)
        return tuple(
            ins.If(first, (s,), loc=s.loc) if isinstance(s, ins.Print) else s for s in before
        )

    def _partial_loop(self) -> list[Stmt]:
        """The loop over this part's iterations, behind the neutral elements that it begins with."""
        loop = self.loop
        start, stop = self._chunk()
        makes: list[Stmt] = []
        carried: list[Carried] = []
        for p in self.partials:
            inner = p.carried.inner
            neutral = neutral_of(p.op, inner.dtype if isinstance(inner, Var) else inner.type.dtype)
            if isinstance(inner, Value):
                init, result = Value(inner.type, "neutral"), Value(inner.type, "part")
                makes.append(ins.Full(init, neutral, loc=loop.loc))
                carried.append(replace(p.carried, result=result, init=init))
            else:
                scalar = Var(fresh_name(inner.name, self.taken), inner.dtype)
                carried.append(replace(p.carried, result=scalar, init=neutral))
        own = replace(loop, start=start, stop=stop, carried=tuple(carried), split=None, atomic=None)
        return [*makes, own]

    def _chunk(self) -> tuple[Expr, Expr]:
        """Start and stop of this part: whole iterations, as even as may be, in the loop's order."""
        loop, part = self.loop, self.part
        step = constant_step(loop.step, loop)
        iterations = count(loop.start, loop.stop, step)
        chunk = cdiv(iterations, self.parts)
        width = mul(chunk, step)
        start = add(loop.start, mul(part, width))
        nearer = "min" if step > 0 else "max"
        stop = Binary(nearer, loop.stop, add(start, width), INDEX)
        return simplify(start), simplify(stop)

    def _element(self, memory: Memory) -> Region:
        """The one of a workspace that has an element for each turn of the kernel."""
        return element(memory, *self.here)

    def _arrival(self, then: Body, *counters: Memory) -> list[Stmt]:
        """The arrival, and what the last part does: it leaves all counters at zero."""
        loc = self.loop.loc
        one, arrived, none = (Value(TileType(I32, ()), n) for n in ("one", "arrived", "none"))
        is_last = Binary("eq", Read(arrived), Const(self.parts - 1, I32), BOOL)
        reset = [ins.Store(self._element(m), none, loc=loc) for m in (self.arrivals, *counters)]
        return [
            ins.Full(one, Const(1, I32), loc=loc),
            ins.AtomicRmw("add", self._element(self.arrivals), one, out=arrived, loc=loc),
            ins.If(is_last, (*then, ins.Full(none, Const(0, I32), loc=loc), *reset), loc=loc),
        ]

    def _finish(self, after: Body) -> Body:
        """The sum and what follows the loop; what that loads at once is loaded with the parts."""
        sums = {c.result for c in self.loop.carried}

        def is_ready(s: Stmt) -> bool:
            return isinstance(s, ins.Load) and sums.isdisjoint(
                name for use in uses_of(s) for name in names_in(use)
            )

        loads = tuple(itertools.takewhile(is_ready, after))
        return (
            *loads,
            *total(self.partials, self.loop, self.most, self.taken),
            *after[len(loads) :],
        )


def _pairs(names: Iterable[Name], uses: Iterable[Use]) -> dict[Value, Value]:
    """Tiles and those that stand for them."""
    pairs = zip(names, uses, strict=True)
    return {x: y for x, y in pairs if isinstance(x, Value) and isinstance(y, Value)}
