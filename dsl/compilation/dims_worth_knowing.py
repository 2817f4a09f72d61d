"""Which dims a kernel is compiled for though it need not be: those by which machines gain."""

from __future__ import annotations

from collections.abc import Set

from dslc.calls.argument_facts import Divisors, Facts, with_facts
from dslc.compiler.analysis.weights import free_names, weight_dims
from dslc.compiler.ir import TileProgram
from dslc.compiler.passes.products.reused_operands import dims_of_reuse
from dslc.compiler.targets import Target


def worth_knowing(
    program: TileProgram, target: Target, divisors: Divisors, counts: Set[str]
) -> Set[str]:
    """The dims of weights that the compiler packs: one packing is for one value of each.

    And those that say how many turns compute an operand alike, which a kernel of its own may compute
    once, but for `counts`, which only count rows: calls with other numbers of rows share a kernel.
    """
    if not target.divisors:
        return frozenset()
    weights = weight_dims(program, free_names(program))
    if target.static:
        return weights
    informed = with_facts(program, Facts(divisors), target)
    return weights | (dims_of_reuse(informed, target) - counts)
