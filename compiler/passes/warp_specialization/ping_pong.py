"""Ping-pong of two warpgroups at the matrix unit. Serves attention with heads of 256: gain 1 to 17 %.

One multiplies while the other computes. The gain is that on an H200 (decision 41).

Before (tests/ir/ping-pong/example.tir):

    %sum = for l in range(0, 256, 64) carry (%o : f32[128, 256] `...` = %zero) {
      ...
      %s = dot %q, %k, atom="wgmma.m64n64k16.ss" : f32[128, 64] `...`
      wait_dots pending=0
      ...
      %o_1 = dot %p, %v, acc=%o, atom="wgmma.m64n256k16.rs" : f32[128, 256] `...`
      yield %o_1
    }
    wait_dots pending=0

After:

    await_partner alone
    %sum = for l in range(0, 256, 64) carry (%o : f32[128, 256] `...` = %zero) {
      ...
      %s = dot %q, %k, atom="wgmma.m64n64k16.ss" : f32[128, 64] `...`
      hand_over
      wait_dots pending=0
      ...
      await_partner
      %o_1 = dot %p, %v, acc=%o, atom="wgmma.m64n256k16.rs" : f32[128, 256] `...`
      yield %o_1
    }
    hand_over alone
    wait_dots pending=0

Left to themselves both may ask for products at one time, get them at one time, and compute at one time
while the unit stands still; nothing drives them apart. So each asks for its products only when the
other has asked for all of its own (Shah and others, FlashAttention-3, 2024, section 3.1): the last of
an iteration, which runs on, and the first of the next.

That costs two barriers, and a warpgroup that computes for as long as the other multiplies would often
be late: it is for loops whose computing is well hidden.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from dslc.compiler.analysis.statement_work import Statements
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.program import Kernel, TileProgram
from dslc.compiler.ir.rewrite import map_kernels
from dslc.compiler.ir.traverse import Body, walk
from dslc.compiler.targets import Target

_GROUP = 128  # threads of a warpgroup
_HIDDEN = 0.6  # computing is hidden that takes at most so much of the products' time
_SCHEDULERS = 4  # of a multiprocessor


@dataclass(frozen=True, slots=True)
class PingPong:
    """Lets two warpgroups alternate where they compute between products."""

    target: Target
    name: str = "ping-pong"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program with such warpgroups."""
        return map_kernels(program, self._kernel)

    def _kernel(self, kernel: Kernel) -> Kernel:
        producers = any(isinstance(s, ins.WarpSpecialize) for s in kernel.body)
        if not producers or kernel.threads != 2 * _GROUP or self.target.rates is None:
            return kernel
        costs = Statements(self.target, self.target.rates, kernel.threads)
        out: list[Stmt] = []
        for stmt in kernel.body:
            body = _alternating(stmt) if isinstance(stmt, ins.For) else None
            if isinstance(stmt, ins.For) and body is not None and _is_hidden(stmt, costs):
                # Both by halves alone: of all threads ptxas would merge the last one with the loop's,
                # and serialize the products.
                begin, end = ins.AwaitPartner(alone=True), ins.HandOver(alone=True)
                out += [begin, replace(stmt, body=body), end]
            else:
                out.append(stmt)
        return replace(kernel, body=tuple(out)) if len(out) > len(kernel.body) else kernel


def _alternating(loop: ins.For) -> Body | None:
    """A body that waits for its first products and leaves the last to the next one; None for others."""
    body = loop.body
    dots = [i for i, s in enumerate(body) if isinstance(s, ins.Dot) and s.is_async]
    every = [s for s in walk(body) if isinstance(s, ins.Dot) and s.is_async]
    waits = [i for i, s in enumerate(body) if isinstance(s, ins.WaitDots)]
    if len(waits) != 1 or len(dots) != len(every):
        return None
    if any(isinstance(s, ins.MemoryBarrier) for s in walk(body)):
        return None  # which both halves would have to come to at once
    first, last = [i for i in dots if i < waits[0]], [i for i in dots if i > waits[0]]
    if not first or not last:
        return None
    asked, begin = first[-1] + 1, last[0]
    over, await_ = ins.HandOver(loc=loop.loc), ins.AwaitPartner(loc=loop.loc)
    return (*body[:asked], over, *body[asked:begin], await_, *body[begin:])


def _is_hidden(loop: ins.For, costs: Statements) -> bool:
    """Whether the products of one group take well longer than the other's computing."""
    products, computing = 0.0, 0.0
    for stmt in loop.body:
        if isinstance(stmt, ins.Dot):
            products += costs.of(stmt).matrix
        elif not isinstance(stmt, ins.For | ins.While | ins.If | ins.WarpSpecialize):
            work = costs.of(stmt)
            computing += work.slots / _SCHEDULERS + work.special / costs.rates.special
    return computing <= _HIDDEN * products
