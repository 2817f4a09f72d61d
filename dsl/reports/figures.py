"""The numbers of a report: facts of the machine, the prediction, the costs of lines."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dslc.compiler.cost.by_line import LineCost, costs_by_line
from dslc.compiler.diagnostics import DiagnosticError

if TYPE_CHECKING:
    from dslc.compilation.specialization import Specialization
    from dslc.compiler.ir import TileProgram
    from dslc.kernels import Kernel
    from dslc.machines.machine import Inspection

Sizes = Mapping[str, int]


def predicted(made: Specialization, program: TileProgram, sizes: Sizes) -> dict[str, Any] | None:
    """The prediction's fields, its `floor` and the words of its `bound`; None without rates."""
    from dslc.cli.tables.machine_code import prediction_of

    prediction = prediction_of(made, program, sizes)
    if prediction is None:
        return None
    fields = dataclasses.asdict(prediction)
    return {**fields, "floor": prediction.floor, "reason": prediction.reason}


def facts_of(
    kernel: Kernel,
    sizes: Sizes,
    config: Mapping[str, Any],
    inspection: Inspection,
    prediction: Mapping[str, Any] | None,
    program: TileProgram,
) -> list[tuple[str, str]]:
    """Labels and texts: choices, the time by the model, what the machine says, the work."""
    from dslc.cli.tables.accounting import operations_table
    from dslc.compilation.templates import TemplateOrigin
    from dslc.compiler.cost.prediction import microseconds

    origin = kernel.origin
    facts = []
    if kernel.tunes and isinstance(origin, TemplateOrigin):
        reason = "as given" if config else origin.chosen({}, sizes.get).reason
        facts.append(("chosen", reason))
    if prediction is not None:
        share = prediction["floor"] / prediction["seconds"] if prediction["seconds"] else 0
        time = microseconds(prediction["seconds"])
        facts.append(
            ("predicted", f"{time}, limited by {prediction['reason']}, {share:.0%} of the roofline")
        )
    facts += inspection.lines
    for line in operations_table(program, sizes).splitlines():
        label, _, text = line.partition(":")
        facts.append((label, text.strip()))
    return facts


def lines_of(
    made: Specialization, program: TileProgram, sizes: Sizes, inspection: Inspection
) -> list[list[Any]]:
    """Costs: file, line, seconds, unit, bytes loaded and stored, operations, registers, shared, units.

    Where a run was simulated, its times take the place of the model's.
    """
    from dslc.codegen.line_marks import unmarked
    from dslc.compiler.targets import find_target

    try:
        costs = costs_by_line(program, find_target(made.target), sizes)
    except DiagnosticError:
        return []
    if inspection.seconds_by_line:
        places = [place for _, place in unmarked(made.source("final"))]
        for cost in costs.values():
            cost.units.clear()
        for number, units in inspection.seconds_by_line.items():
            place = places[number - 1] if 0 < number <= len(places) else None
            if place is not None:
                cost = costs.setdefault(place, LineCost())
                for unit, seconds in units.items():
                    cost.units[unit] = cost.units.get(unit, 0.0) + seconds
    return [[*place, *_fields(cost)] for place, cost in sorted(costs.items())]


def _fields(c: LineCost) -> list[Any]:
    units = {unit: seconds for unit, seconds in c.units.items() if seconds}
    counts = (round(c.loaded), round(c.stored), round(c.operations))
    return [c.seconds, c.unit, *counts, c.registers, c.shared, units]
