"""Configurations of a kernel in the order of their predicted times, with little work for each."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dslc.compiler.cost import predict
from dslc.compiler.cost.outline import outline
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.ir import Kernel, TileProgram
from dslc.compiler.ir.program import PackedParam
from dslc.compiler.passes.lowbit import LowBit
from dslc.compiler.passes.pipeline import schedule
from dslc.tuner.climbing import climb
from dslc.tuner.requirements import check_requirements
from dslc.tuner.space import Configuration
from dslc.tuner.tasks import emitted, storage_of

if TYPE_CHECKING:
    from dslc.templates import Elaborated, TemplateOrigin

_SCHEDULED = 4  # configurations that go through the passes, of those fed alike
_BESIDE = 3  # more of them that the kernel has before the best
_WORSE = 1.25  # times the least outline: what is beyond it is not scheduled
_EQUAL = 1.01  # times as slow as the best: equal by prediction, and the kernel's order decides


@dataclass(frozen=True, slots=True)
class Candidate:
    """A configuration with its predicted seconds; `among` so many that were compared.

    `storage` is a hash of how weights are packed, empty where nothing is.
    """

    configuration: Configuration
    seconds: float
    storage: str = ""
    among: int = 1

    @property
    def config(self) -> dict[str, object]:
        """The choices by name."""
        return self.configuration.config

    def __str__(self) -> str:
        return f"the fastest of {self.among} by prediction, {self.seconds * 1e6:.4g} us"


@dataclass(frozen=True, slots=True, eq=False)
class _Outlined:
    """The configuration that the kernel has at a place among its own, not yet scheduled."""

    seconds: float
    at: int
    configuration: Configuration
    made: Elaborated
    fed: bool


class Ranking:
    """Of one kernel for known sizes of all dims, on a target with rates.

    With a `base` only those that pack weights as it does can be the best, and it is always tried.
    """

    def __init__(
        self, origin: TemplateOrigin, sizes: Mapping[str, int], base: Candidate | None = None
    ) -> None:
        self._origin = origin
        self._sizes = sizes
        self._base = base
        self._target = origin.machine.target

    def elaborated(self, configuration: Configuration) -> Elaborated:
        """DiagnosticError where the kernel refuses the choices."""
        return self._origin.elaborated({}, configuration.config, self._sizes.get)

    def scheduled(self, made: Elaborated) -> TileProgram:
        """After the passes; DiagnosticError where one refuses it."""
        from dslc.building import passes_of

        return schedule(made.program, passes_of(self._target, made.schedule))

    def packed(self, made: Elaborated) -> tuple[PackedParam, ...]:
        """The weights that the compiler packs; DiagnosticError where a pass refuses the program."""
        from dslc.building import passes_of

        passes = passes_of(self._target, made.schedule)
        before = [p.name for p in passes].index(LowBit.name) + 1
        return schedule(made.program, passes[:before]).packed

    def best(self, configurations: Sequence[Configuration]) -> Candidate | None:
        """The one with the least predicted time that the machine can run; None where none can."""
        ranked = self._in_order(configurations)
        base = [r for r in ranked if self._base and r.configuration == self._base.configuration]
        found = self._schedule(base, 1)
        for fed in (False, True):
            found += self._schedule(_worth([r for r in ranked if r.fed is fed], base), _SCHEDULED)
        if not found:
            return None
        best = min(found, key=lambda f: f[0])[1]
        # What the kernel would rather have, though its outline is worse.
        beside = [
            r
            for r in ranked
            if (r.at < best.at or r.seconds == best.seconds)
            and r.configuration.is_beside(best.configuration)
        ]
        found += self._schedule(_untried(beside, found), _BESIDE)
        least = min(seconds for seconds, _, _ in found)
        near = [f for f in found if f[0] <= _EQUAL * least]
        seconds, one, program = min(near, key=lambda f: f[1].at)
        return Candidate(one.configuration, seconds, storage_of(program), len(ranked))

    def _schedule(
        self, outlined: Sequence[_Outlined], most: int
    ) -> list[tuple[float, _Outlined, TileProgram]]:
        """Through the passes until there are so many; what the machine cannot run is left out."""
        found: list[tuple[float, _Outlined, TileProgram]] = []
        for one in outlined:
            if len(found) == most:
                break
            # Refused, or a defect of the compiler: one configuration less.
            with contextlib.suppress(Exception):
                program = self.scheduled(one.made)
                if self._base is None or storage_of(program) == self._base.storage:
                    _, shared = emitted(program, self._target)
                    seconds = predict(program, self._target, self._sizes, shared=shared).seconds
                    found.append((seconds, one, program))
        return found

    def _in_order(self, configurations: Sequence[Configuration]) -> list[_Outlined]:
        """Those that the kernel takes, by their outlines."""
        found = []
        places = {c.values: at for at, c in enumerate(configurations)}

        def look(configuration: Configuration) -> float | None:
            with contextlib.suppress(DiagnosticError):
                made = self.elaborated(configuration)
                check_requirements(made.program, self._sizes)
                if isinstance(made.program, Kernel):
                    by = outline(made.program, self._target, self._sizes)
                    at = places[configuration.values]
                    found.append(_Outlined(by.seconds, at, configuration, made, by.fed))
                    return by.seconds
            return None

        if self._target.linear_copies:  # an outline takes longer, and says more
            climb(configurations, look)
        else:
            for configuration in configurations:
                look(configuration)
        return sorted(found, key=lambda f: f.seconds)


def _untried(
    outlined: Sequence[_Outlined], found: Sequence[tuple[float, _Outlined, TileProgram]]
) -> list[_Outlined]:
    tried = {one.at for _, one, _ in found}
    return [r for r in outlined if r.at not in tried]


def _worth(ranked: Sequence[_Outlined], tried: Sequence[_Outlined]) -> list[_Outlined]:
    """Those that are worth scheduling: near the least, and of equals, which some choice parts, one."""
    least = min((r.seconds for r in ranked), default=0.0)
    first = {r.seconds: r for r in reversed(ranked)}
    return [r for r in first.values() if r not in tried and r.seconds <= _WORSE * least][::-1]
