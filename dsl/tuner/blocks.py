"""The blocks of a kernel on a NeuronCore or an NPU: those that its model says take the least time.

One choice after another is tried with the others as they stand, twice over; what does not fit on the
chip is no candidate. Kernels of which the model says nothing keep their first choices.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice, product
from typing import TYPE_CHECKING

from dslc.compiler.diagnostics import DiagnosticError

if TYPE_CHECKING:
    from dslc.compilation.templates import TemplateOrigin

_ROUNDS = 2
_PRODUCTS = 64  # of choices that seldom fit, looked at
_BETTER = 0.998  # of the time: a later choice must be so much faster than an earlier one


def choose_blocks(origin: TemplateOrigin, sizes: Mapping[str, int]) -> dict[str, object]:
    """The choices by name, empty where the first ones stand; `sizes` are those of all dims."""
    tunes = origin.open_tunes
    chosen: dict[str, object] = {name: origin.defaults[name] for name in tunes}
    seen: dict[tuple[object, ...], float] = {}

    def time(config: Mapping[str, object]) -> float:
        key = tuple(config.values())
        if key not in seen:
            seen[key] = _time(origin, sizes, config)
        return seen[key]

    best = time(chosen)
    if best == 0.0:
        return {}
    if origin.machine.facts.choices_seldom_fit:
        return _least(time, tunes, chosen)
    for _ in range(_ROUNDS):
        before = dict(chosen)
        for name, values in tunes.items():
            for value in values:
                tried: dict[str, object] = {**chosen, name: value}
                if time(tried) < best * _BETTER:
                    chosen, best = tried, time(tried)
        if chosen == before:
            break
    return chosen if best < float("inf") else {}


def _time(origin: TemplateOrigin, sizes: Mapping[str, int], config: Mapping[str, object]) -> float:
    """By the machine's model; infinite for what does not compile, 0 for what it says nothing of."""
    try:
        program = origin.elaborated(dict(sizes), dict(config), sizes.get).program
        return origin.machine.block_time(program, sizes)
    except DiagnosticError:
        return float("inf")


def _least(
    time: Callable[[Mapping[str, object]], float],
    tunes: Mapping[str, Sequence[object]],
    first: Mapping[str, object],
) -> dict[str, object]:
    """The best of all products of choices, as far as they go; a later one must be much faster.

    What does not fit lies between those that do, so that one choice after another finds too little.
    """
    names = list(tunes)
    best, chosen = time(first), dict(first)
    for values in islice(product(*tunes.values()), _PRODUCTS):
        tried = dict(zip(names, values, strict=True))
        if time(tried) < best * _BETTER:
            best, chosen = time(tried), tried
    return chosen if best < float("inf") else {}
