"""Configurations of a kernel in the order of their predicted times, with little work for each."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING

from dslc.compiler.cost import predict
from dslc.compiler.cost.outline import outline
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.ir import Kernel, TileProgram
from dslc.compiler.ir.program import PackedParam
from dslc.compiler.passes.low_bit.low_bit_storage import LowBit
from dslc.compiler.passes.pass_manager import schedule
from dslc.tuner.climbing import climb
from dslc.tuner.requirements import check_requirements
from dslc.tuner.space import Candidate, Configuration
from dslc.tuner.tasks import emitted, storage_of

if TYPE_CHECKING:
    from dslc.compilation.templates import Elaborated, TemplateOrigin

_SCHEDULED = 4  # configurations that go through the passes, of those fed alike
_CLOSE, _MOST = 1.03, 8  # as many whose outlines are so near to the least
_BESIDE = 3  # more of them that the kernel has before the best
_WORSE = 1.25  # times the least outline: what is beyond it is not scheduled
_EQUAL = 1.01  # times as slow as the best: equal by prediction, and the kernel's order decides


@dataclass(frozen=True, slots=True, eq=False)
class _Outlined:
    """The configuration that the kernel has at a place among its own, not yet scheduled."""

    seconds: float
    at: int
    configuration: Configuration
    made: Elaborated
    fed: bool


@dataclass(frozen=True, slots=True, eq=False)
class _Scheduled:
    """One after the passes, with its predicted seconds; `is_emitted` once its text was generated."""

    seconds: float
    one: _Outlined
    program: TileProgram
    is_emitted: bool = False


class Ranking:
    """Of one kernel for known sizes of all dims, on a target with rates.

    With a `base` only those that pack weights as it does can be the best, and it is always tried.
    Kernels rely on what divides the `exact` sizes, where `sizes` are rounded.
    """

    def __init__(
        self,
        origin: TemplateOrigin,
        sizes: Mapping[str, int],
        base: Candidate | None = None,
        exact: Mapping[str, int | None] | None = None,
    ) -> None:
        self._origin = origin
        self._sizes = sizes
        self._base = base
        self._exact: Mapping[str, int | None] = sizes if exact is None else exact
        self._target = origin.machine.target

    def elaborated(self, configuration: Configuration) -> Elaborated:
        """DiagnosticError where the kernel refuses the choices."""
        return self._origin.elaborated(
            {}, configuration.config, self._sizes.get, exact=self._exact.get
        )

    def scheduled(self, made: Elaborated) -> TileProgram:
        """After the passes; DiagnosticError where one refuses it."""
        return schedule(made.program, self._origin.machine.passes(made.schedule))

    def packed(self, made: Elaborated) -> tuple[PackedParam, ...]:
        """The weights that the compiler packs; DiagnosticError where a pass refuses the program."""
        passes = self._origin.machine.passes(made.schedule)
        before = [p.name for p in passes].index(LowBit.name) + 1
        return schedule(made.program, passes[:before]).packed

    def in_order(self, configurations: Sequence[Configuration]) -> list[Configuration]:
        """Those that the kernel allows, by their outlines alone: the quickest first."""
        outlined = [self._outlined(c, at) for at, c in enumerate(configurations)]
        ranked = sorted((o for o in outlined if o), key=lambda o: (o.seconds, o.at))
        return [o.configuration for o in ranked]

    def best(self, configurations: Sequence[Configuration]) -> Candidate | None:
        """The one with the least predicted time that the machine can run; None where none can."""
        places = {c.values: at for at, c in enumerate(configurations)}
        looked: dict[int, _Outlined | None] = {}

        def look(configuration: Configuration) -> _Outlined | None:
            at = places[configuration.values]
            if at not in looked:
                looked[at] = self._outlined(configuration, at)
            return looked[at]

        climb(configurations, look)
        ranked = sorted((r for r in looked.values() if r), key=lambda r: (r.seconds, r.at))
        tried: dict[int, _Scheduled | None] = {}
        while (nearest := self._nearest(ranked, tried, configurations, look)) is not None:
            if nearest.is_emitted:
                storage = storage_of(nearest.program)
                return Candidate(nearest.one.configuration, nearest.seconds, storage, len(looked))
            tried[nearest.one.at] = self._emitted(nearest)
        return None

    def _nearest(
        self,
        ranked: Sequence[_Outlined],
        tried: dict[int, _Scheduled | None],
        configurations: Sequence[Configuration],
        look: Callable[[Configuration], _Outlined | None],
    ) -> _Scheduled | None:
        """The best of those worth scheduling; of shared memory only that of buffers is known."""
        base = [r for r in ranked if self._base and r.configuration == self._base.configuration]
        scheduled = self._schedule(base, 1, tried)
        for fed in dict.fromkeys(r.fed for r in ranked):
            worth = _worth([r for r in ranked if r.fed is fed], base)
            least = min((r.seconds for r in worth), default=0.0)
            close = sum(r.seconds <= _CLOSE * least for r in worth)
            most = min(max(_SCHEDULED, close), _MOST)
            scheduled += self._schedule(worth, most, tried, _least(scheduled))
        if not scheduled:
            return None
        best = None
        while best is not (best := min(scheduled, key=lambda f: f.seconds).one):
            # What the kernel would rather have, though its outline is worse.
            near = [look(c) for c in configurations if c.is_beside(best.configuration)]
            beside = [r for r in near if r and (r.at < best.at or r.seconds == best.seconds)]
            seen = {f.one.at for f in scheduled}
            rather = sorted(
                (r for r in beside if r.at not in seen), key=lambda r: (r.seconds, r.at)
            )
            scheduled += self._schedule(rather, _BESIDE, tried, _least(scheduled))
        equal = [f for f in scheduled if f.seconds <= _EQUAL * _least(scheduled)]
        return min(equal, key=lambda f: f.one.at)

    def _schedule(
        self,
        outlined: Sequence[_Outlined],
        most: int,
        tried: dict[int, _Scheduled | None],
        least: float = inf,
    ) -> list[_Scheduled]:
        """Through the passes until there are so many; what the machine cannot run is left out.

        The outline of what is fed knows of no waits: what is slower by it than another by prediction is
        left out. Others may be divided into parts, which outlines do not know, and have some leeway.
        """
        schedules: list[_Scheduled] = []
        for one in outlined:
            if len(schedules) == most:
                break
            leeway = _EQUAL if one.fed else _WORSE
            if one.seconds > leeway * min(least, _least(schedules)):
                continue
            if one.at not in tried:
                tried[one.at] = self._predicted(one)
            if (scheduled := tried[one.at]) is not None:
                schedules.append(scheduled)
        return schedules

    def _predicted(self, one: _Outlined) -> _Scheduled | None:
        """After the passes; None where one refuses it, or weights are not packed as in the base."""
        # Refused, or a defect of the compiler: one configuration less.
        with contextlib.suppress(Exception):
            program = self.scheduled(one.made)
            if self._base is None or storage_of(program) == self._base.storage:
                seconds = predict(program, self._target, self._sizes).seconds
                return _Scheduled(seconds, one, program)
        return None

    def _emitted(self, found: _Scheduled) -> _Scheduled | None:
        """With what else the generated code takes of shared memory; None where that is too much.

        A core has none: its code is generated once, when it is compiled.
        """
        if self._target.core_rates is not None:
            return replace(found, is_emitted=True)
        with contextlib.suppress(Exception):
            _, shared = emitted(found.program, self._target)
            seconds = predict(found.program, self._target, self._sizes, shared=shared).seconds
            return _Scheduled(seconds, found.one, found.program, is_emitted=True)
        return None

    def _outlined(self, configuration: Configuration, at: int) -> _Outlined | None:
        """None where the kernel refuses the choices."""
        with contextlib.suppress(DiagnosticError):
            elaborated = self.elaborated(configuration)
            check_requirements(elaborated.program, self._sizes)
            if isinstance(elaborated.program, Kernel):
                by = outline(elaborated.program, self._target, self._sizes)
                return _Outlined(by.seconds, at, configuration, elaborated, by.fed)
        return None


def _least(found: Sequence[_Scheduled]) -> float:
    return min((f.seconds for f in found), default=inf)


def _worth(ranked: Sequence[_Outlined], tried: Sequence[_Outlined]) -> list[_Outlined]:
    """Those that are worth scheduling: near the least, and of equals, which some choice parts, one."""
    least = min((r.seconds for r in ranked), default=0.0)
    first = {r.seconds: r for r in reversed(ranked)}
    return [r for r in first.values() if r not in tried and r.seconds <= _WORSE * least][::-1]
