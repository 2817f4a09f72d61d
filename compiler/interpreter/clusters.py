"""Turns of a cluster: they run side by side and reach each other's shared memory and barriers.

Which goes on is drawn where turns are shuffled, else they take it by turns. Each runs until it waits
for a phase or for a barrier of the cluster; where all wait and nothing has happened since, they do so
for ever.
"""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Generator, Iterator
from dataclasses import dataclass

from dslc.compiler.diagnostics import Label, Loc, error
from dslc.compiler.interpreter.options import Options
from dslc.compiler.interpreter.scalars import compile_scalar
from dslc.compiler.interpreter.scope import TURN, Blocked, Flow, Frame, Scope
from dslc.compiler.interpreter.turn import Turn
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic import elements


@dataclass(slots=True)
class Cluster:
    """The frames of its turns by rank, and how often one has done what another may wait for."""

    frames: tuple[Frame, ...]
    events: int = 0

    def others(self, turn: Turn, what: str, loc: Loc | None) -> tuple[Frame, ...]:
        """All frames, for `what` reaches each; DSL0612 where a turn is over."""
        for frame in self.frames:
            _check_reached(turn, frame[TURN], what, loc)
        self.events += 1
        return self.frames

    def at(self, rank: int, turn: Turn, what: str, loc: Loc | None) -> Frame:
        """The frame of a rank; DSL0612 where there is none, or its turn is over."""
        if not 0 <= rank < len(self.frames):
            text = f"{what} reaches rank {rank} of a cluster of {len(self.frames)}, in {turn.title}"
            raise error("DSL0612", text, loc)
        _check_reached(turn, self.frames[rank][TURN], what, loc)
        return self.frames[rank]


def _check_reached(turn: Turn, other: Turn, what: str, loc: Loc | None) -> None:
    if other.over:
        raise error(
            "DSL0612",
            f"{what} reaches the shared memory of {other.title}, which is over, in {turn.title}",
            loc,
            hint="end with a barrier of the cluster: `sync cluster`",
        )


def sync_flow(scope: Scope, i: ins.Sync) -> Flow:
    """Until all turns of the cluster have come here, or are over."""
    return lambda f: _meet(f[TURN], i.loc)


def _meet(turn: Turn, loc: Loc | None) -> Generator[Blocked, None, None]:
    assert turn.cluster is not None
    turn.meetings += 1
    turn.barriers += 1
    turn.cluster.events += 1
    mine, others = turn.meetings, [frame[TURN] for frame in turn.cluster.frames]

    def is_ready() -> bool:
        return all(t.over or t.meetings >= mine for t in others)

    blocked = Blocked(None, None, is_ready, loc)
    while not is_ready():
        turn.run_producers(late=True)
        if not is_ready():
            yield blocked


def reduce_flow(scope: Scope, i: ins.ClusterReduce) -> Flow:
    """What all turns have, in the order of their ranks, in the first of them."""
    out, x, rank = scope.slot(i.out), scope.slot(i.x), compile_scalar(scope, i.rank)
    combine, loc = elements.binary(i.op, i.x.type.dtype), i.loc

    def run(f: Frame) -> Generator[Blocked, None, None]:
        turn: Turn = f[TURN]
        assert turn.cluster is not None
        yield from _meet(turn, loc)
        parts = [frame[x] for frame in turn.cluster.frames]
        f[out] = functools.reduce(combine, parts) if rank(f) == 0 else f[x]
        yield from _meet(turn, loc)

    return run


def run_clusters(
    flow: Flow, frames: Iterator[Frame], total: int, size: int, options: Options
) -> None:
    """Run every cluster's turns to their ends. DSL0612 where they wait for ever."""
    choice = random.Random(options.shuffle) if options.shuffle is not None else None
    for done in range(0, total, size):
        members = tuple(itertools.islice(frames, size))
        cluster = Cluster(members)
        for frame in members:
            frame[TURN].cluster = cluster
        _run(cluster, flow, choice)
        if options.progress is not None:
            options.progress(done + size, total)


def _run(cluster: Cluster, flow: Flow, choice: random.Random | None) -> None:
    running = [(frame, flow(frame)) for frame in cluster.frames]
    waiting: dict[int, Blocked] = {}
    while running:
        if choice is not None:
            choice.shuffle(running)
        before, moved = cluster.events, False
        for frame, flowing in list(running):
            turn: Turn = frame[TURN]
            blocked = next(flowing, None)
            if blocked is None:
                turn.end()
                running.remove((frame, flowing))
            moved |= blocked is None or blocked is not waiting.get(turn.number)
            if blocked is not None:
                waiting[turn.number] = blocked
        if not moved and cluster.events == before:
            raise _deadlock([frame[TURN] for frame, _ in running], waiting)


def _deadlock(turns: list[Turn], waiting: dict[int, Blocked]) -> Exception:
    first, *more = (waiting[t.number].loc for t in turns)
    return error(
        "DSL0612",
        f"the turns of a cluster wait for ever: {'; '.join(t.title for t in turns)}",
        first,
        hint="a phase lacks an arrival or bytes, or a turn does not come to a barrier of the cluster",
        labels=tuple(Label(loc, "another turn waits here") for loc in more if loc is not None),
    )
