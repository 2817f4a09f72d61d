"""Steps at barriers with phases."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING

import numpy as np
from dslc.compiler.diagnostics import error
from dslc.compiler.interpreter.phases import Key, Phase
from dslc.compiler.interpreter.scalars import compile_scalar, compile_scalars
from dslc.compiler.interpreter.scope import TURN, Blocked, Flow, Frame, Scope, Step
from dslc.compiler.ir import Region
from dslc.compiler.ir import instructions as ins

if TYPE_CHECKING:
    from dslc.compiler.interpreter.steps.copies import Copy


def init_barriers(scope: Scope, i: ins.InitBarriers) -> Step:
    """Every element of the region begins its phase 0."""
    starts, arrivals = compile_scalars(scope, [a.start for a in i.region.axes]), i.arrivals
    sizes, memory = tuple(a.size for a in i.region.axes), i.region.memory

    def step(f: Frame) -> None:
        first = starts(f)
        for at in np.ndindex(*sizes):
            index = tuple(x + d for x, d in zip(first, at, strict=True))
            f[TURN].phases.all[memory, index] = Phase(arrivals, arrivals)

    return step


def arrive(scope: Scope, i: ins.Arrive) -> Step:
    """DSL0612 where more arrive than a phase counts."""
    key, loc, count, name = _key(scope, i.region), i.loc, i.bytes, i.region.memory.name
    inside, everywhere = scope.is_producer, i.everywhere

    def step(f: Frame) -> None:
        turn, at = f[TURN], key(f)
        for frame in turn.cluster.others(turn, "an arrival", loc) if everywhere else (f,):
            phase = frame[TURN].phases.at(at, loc)
            if not phase.missing:
                text = f"more than {phase.arrivals} arrive at {name}{list(at[1])} in one phase"
                raise error("DSL0612", f"{text}, in {turn.title}", loc)
            phase.missing -= 1
            phase.announced += count
        if not inside:
            turn.run_producers()

    return step


def await_phase(scope: Scope, i: ins.AwaitPhase) -> Step:
    """The copies of the phase land now. DSL0612 where it cannot end."""
    key, loc, parity = _key(scope, i.region), i.loc, compile_scalar(scope, i.parity)
    name = i.region.memory.name

    def step(f: Frame) -> None:
        phase = f[TURN].phases.at(key(f), loc)
        if phase.number % 2 != parity(f):
            return
        if not phase.may_end:
            f[TURN].run_producers(late=True)
        if not phase.may_end:
            coming = sum(c.bytes for c in phase.copies)
            raise error(
                "DSL0612",
                f"phase {phase.number} of {name}{list(key(f)[1])} never ends: {phase.missing} "
                f"arrivals are missing, {phase.announced} bytes are announced and {coming} come, "
                f"in {f[TURN].title}",
                loc,
            )
        phase.end(f[TURN])

    return step


def phase_flow(scope: Scope, i: ins.AwaitPhase) -> Flow:
    """The same for producer warps, which let the turn's warps go on meanwhile, and for clusters."""
    key, loc, parity = _key(scope, i.region), i.loc, compile_scalar(scope, i.parity)
    inside = scope.is_producer

    def run(f: Frame) -> Generator[Blocked, None, None]:
        memory, element = key(f)
        phase, wanted = f[TURN].phases.at((memory, element), loc), parity(f)
        blocked = Blocked(memory, element, lambda: phase.may_end, loc)
        while phase.number % 2 == wanted and not phase.may_end:
            if not inside:
                f[TURN].run_producers(late=True)
            if not phase.may_end:
                yield blocked
        if phase.number % 2 == wanted:
            phase.end(f[TURN])

    return run


def at_barrier(
    scope: Scope, region: Region, i: ins.CopyAsync
) -> Callable[[Frame, Copy, Frame], None]:
    """What gives a bulk copy to its barrier, in the turn to whose memory it goes."""
    key, loc = _key(scope, region), i.loc

    def start(f: Frame, copy: Copy, to: Frame) -> None:
        to[TURN].phases.at(key(f), loc).copies.append(copy)

    return start


def _key(scope: Scope, region: Region) -> Callable[[Frame], Key]:
    starts, memory = compile_scalars(scope, [a.start for a in region.axes]), region.memory
    return lambda f: (memory, tuple(starts(f)))
