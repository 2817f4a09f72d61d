"""The choices of a call that names none, and what takes their place where there is no room."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from dslc.compiler.diagnostics import DiagnosticError

_NO_ROOM = frozenset(["DSL0501", "DSL0503"])  # what other choices may have room for
Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class Chosen:
    """Choices for a call that names none, the dims to compile in with them, and where they are from."""

    config: Mapping[str, object]
    fixed_dims: Mapping[str, int]
    reason: str


class Replacing:
    """Choices that were refused, and the others that calls got instead."""

    def __init__(self) -> None:
        self._instead: dict[tuple[object, ...], Chosen] = {}

    def first_possible(
        self,
        call: tuple[object, ...],
        chosen: Chosen,
        made: Callable[[Chosen], Made],
        others: Callable[[Chosen], Iterable[Chosen]],
    ) -> Made:
        """What is made by the choices, or by the first of the others where there is no room for them.

        A call remembers what took their place. The first refusal where every one is refused.
        """
        try:
            return made(self._instead.get(call, chosen))
        except DiagnosticError as refusal:
            if not _NO_ROOM.issuperset(d.code for d in refusal.diagnostics):
                raise
            for other in others(chosen):
                with contextlib.suppress(DiagnosticError):
                    found = made(other)
                    self._instead[call] = other
                    return found
            raise
