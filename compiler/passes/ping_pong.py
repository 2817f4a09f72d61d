"""Two warpgroups that alternate at the matrix unit: one multiplies while the other computes.

    for l in range(0, stop, 64) {                     await_partner
      %s = dot %q, %k                                 for l in range(0, stop, 64) {
      wait_dots pending=0                               %s = dot %q, %k
      ... exponentials ...                   ->         hand_over
      %o_1 = dot %p, %v, acc=%o                         wait_dots pending=0
    }                                                   ... exponentials ...
    wait_dots pending=0                                 await_partner
                                                        %o_1 = dot %p, %v, acc=%o
                                                      }
                                                      hand_over
                                                      wait_dots pending=0

Left to themselves both may ask for products at one time, get them at one time, and compute at one time
while the unit stands still; nothing drives them apart. So each asks for its products only when the
other has asked for all of its own (Shah and others, FlashAttention-3, 2024, section 3.1). Products that
one wait ends are asked for together, those that run on into the next turn with that turn's first.

That costs two barriers, and a warpgroup that computes for as long as the other multiplies would often
be late: it is for loops whose computing is well hidden.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise

from dslc.compiler.cost.statements import Statements
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.program import Kernel, TileProgram
from dslc.compiler.ir.rewrite import Rewriter, map_kernels
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
        aside = next((s for s in kernel.body if isinstance(s, ins.Aside)), None)
        if aside is None or kernel.threads != 2 * _GROUP or self.target.rates is None:
            return kernel
        body = _Alternation(self.target).body(kernel.body)
        if body is kernel.body:
            return kernel
        at = body.index(aside) + 1
        return replace(
            kernel, body=(*body[:at], ins.HandOver(first=True, loc=aside.loc), *body[at:])
        )


class _Alternation(Rewriter):
    def __init__(self, target: Target) -> None:
        super().__init__()
        assert target.rates is not None
        self.special = target.rates.special
        self.costs = Statements(target, target.rates, 2 * _GROUP)

    def statement(self, stmt: Stmt) -> Iterable[Stmt]:
        """A loop whose products alternate, and what stands around it."""
        if isinstance(stmt, ins.For):
            found = _alternating(stmt)
            if found is not None and self._is_hidden(stmt.body):
                return found
        return super().statement(stmt)

    def _is_hidden(self, body: Body) -> bool:
        """Whether the products of one group take well longer than the other's computing."""
        products, computing = 0.0, 0.0
        for stmt in body:
            if isinstance(stmt, ins.Dot):
                products += self.costs.of(stmt).matrix
            elif not isinstance(stmt, ins.For | ins.While | ins.If | ins.Aside):
                work = self.costs.of(stmt)
                computing += work.slots / _SCHEDULERS + work.special / self.special
        return computing <= _HIDDEN * products


def _alternating(loop: ins.For) -> list[Stmt] | None:
    """The loop with its products in phases, each of which one wait ends; None where none ends there."""
    body = loop.body
    dots = [i for i, s in enumerate(body) if isinstance(s, ins.Dot) and s.is_late]
    every = [s for s in walk(body) if isinstance(s, ins.Dot) and s.is_late]
    waits = [i for i, s in enumerate(body) if isinstance(s, ins.WaitDots) and not s.pending]
    if not waits or not dots or len(dots) != len(every):
        return None
    ends = [-1, *waits, len(body)]
    phases = [[i for i in dots if a < i < b] for a, b in pairwise(ends)]
    runs_on = bool(phases[0] and phases[-1])
    starts = {phase[0] for phase in phases if phase}
    stops = {phase[-1] for phase in phases if phase}
    if runs_on:  # the last phase of a turn and the first one of the next are one
        starts.remove(phases[0][0])
        stops.remove(phases[-1][-1])
    made = replace(loop, body=_marked(body, starts, stops))
    if not runs_on:
        return [made]
    return [ins.AwaitPartner(loc=loop.loc), made, ins.HandOver(loc=loop.loc)]


def _marked(body: Body, starts: set[int], stops: set[int]) -> Body:
    out: list[Stmt] = []
    for at, stmt in enumerate(body):
        if at in starts:
            out.append(ins.AwaitPartner(loc=stmt.loc))
        out.append(stmt)
        if at in stops:
            out.append(ins.HandOver(loc=stmt.loc))
    return tuple(out)
