"""Choices in place of those that a machine has no room for: nobody named them, so others may do."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from dslc.compiler.diagnostics import DiagnosticError

if TYPE_CHECKING:
    from dslc.compilation.specialization import Specialization
    from dslc.compilation.templates import TemplateOrigin

_MOST_TRIED = 16  # in place of one that was refused
_NO_ROOM = frozenset(["DSL0501", "DSL0503"])  # what other choices may have room for


@dataclass(frozen=True, slots=True)
class Chosen:
    """Choices for a call that names none, the dims to compile in with them, and where they are from.

    With `calls_as_alone` the kernels that a program calls have the choices that they have alone.
    """

    config: Mapping[str, object]
    fixed_dims: Mapping[str, int]
    reason: str
    calls_as_alone: bool = False


class Replacements:
    """What took the place of choices that were refused, by call."""

    def __init__(self) -> None:
        self._instead: dict[tuple[object, ...], Chosen] = {}

    def first_possible(
        self,
        call: tuple[object, ...],
        chosen: Chosen,
        made: Callable[[Chosen], Specialization],
        others: Callable[[Chosen], Iterator[Chosen]],
    ) -> Specialization:
        """That of the choices, or of the first of the others where a machine has no room for it.

        A call remembers what took their place. The first refusal where every one is refused.
        """
        try:
            return made(self._instead.get(call, chosen))
        except DiagnosticError as refusal:
            if not _NO_ROOM.issuperset(d.code for d in refusal.diagnostics):
                raise
            for other in others(chosen):
                with contextlib.suppress(DiagnosticError):
                    possible = made(other)
                    self._instead[call] = other
                    return possible
            raise


def others(
    origin: TemplateOrigin,
    dims: Mapping[str, int],
    sizes: Callable[[str], int | None],
    refused: Chosen,
) -> Iterator[Chosen]:
    """What to try where choices are refused; nothing where there is nothing to choose.

    A program has no tunes: its kernels have, and each finds alone what there is room for.
    """
    if origin.template.kind == "program":
        yield replace(refused, reason="the kernels' choices alone", calls_as_alone=True)
        return
    if all(len(choices) < 2 for choices in origin.open_tunes.values()):
        return
    config = origin.settled(refused.config, lambda d: dims.get(d, sizes(d)))
    tried = {name: config[name] for name in origin.open_tunes}
    for other in islice(origin.predicted.others(dims, sizes, tried), _MOST_TRIED):
        yield Chosen(other, {}, "the best for which there is room")
