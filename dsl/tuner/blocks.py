"""The blocks of a kernel on a NeuronCore or an NPU: those that keep its engines busy least.

One choice after another is tried with the others as they stand, twice over; what does not fit on the
chip is no candidate. On a NeuronCore kernels without products keep their first choices.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice, product
from typing import TYPE_CHECKING

from dslc.compiler.cost.trainium import busy
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.ir import Kernel
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.traverse import walk
from dslc.compiler.ir.workload import workload
from dslc.compiler.passes.pass_lists.npu import aie_passes
from dslc.compiler.passes.pass_lists.trainium import nki_passes
from dslc.compiler.passes.pass_manager import run_passes

if TYPE_CHECKING:
    from dslc.compilation.templates import TemplateOrigin

_ROUNDS = 2
_PRODUCTS = 64  # of an NPU's choices that are looked at
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
    if origin.machine.target.family == "aie":
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
    """Modelled nanoseconds; infinite for what does not compile, 0 for kernels without products."""
    target = origin.machine.target
    if target.family == "aie":
        return _npu_time(origin, sizes, config)
    try:
        program = origin.elaborated(dict(sizes), dict(config), sizes.get).program
        if not isinstance(program, Kernel):
            return 0.0
        if not any(isinstance(s, ins.Dot) for s in walk(program.body)):
            return 0.0
        lowered = run_passes(program, nki_passes(target))
    except DiagnosticError:
        return float("inf")
    assert isinstance(lowered, Kernel)
    return busy(lowered, target).nanoseconds


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


def _npu_time(
    origin: TemplateOrigin, sizes: Mapping[str, int], config: Mapping[str, object]
) -> float:
    """Modelled cycles of an NPU's array; infinite for what has no plan."""
    from dslc.codegen.aie.planning.plan_kernel import modelled_cycles, plan_kernel

    target = origin.machine.target
    try:
        program = origin.elaborated(dict(sizes), dict(config), sizes.get).program
        lowered = run_passes(program, aie_passes(target))
        if not isinstance(lowered, Kernel):
            return 0.0
        planned = plan_kernel(lowered, target, draft=True)
    except DiagnosticError:
        return float("inf")
    work = workload(lowered, sizes)
    return modelled_cycles(planned, int(work.dot_operations / 2 / max(1, work.turns)))
