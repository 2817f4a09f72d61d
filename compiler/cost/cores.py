"""The time of a kernel on one core of a CPU: bytes from memory and caches, and what it computes.

Turns follow one another on a core, which overlaps all that it does: the slowest of memory (every
tensor once), of caches (every load as often as it is asked for) and of instructions is the time. What
is multiplied is first copied into panels, which nothing overlaps: caches and instructions add up there.
Threads divide it, as far as memory lets them.
"""

from __future__ import annotations

from collections.abc import Mapping

from dslc.compiler.cost.prediction import Prediction
from dslc.compiler.cost.traits import bytes_once
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import constant
from dslc.compiler.ir.expr import Var
from dslc.compiler.ir.program import Kernel
from dslc.compiler.ir.traverse import walk
from dslc.compiler.ir.workload import workload
from dslc.compiler.targets.rates import CoreRates

_EDGE = 4
_TURN = 100.0  # cycles around a turn: its place in the grid, its ends


def predict_on_core(kernel: Kernel, rates: CoreRates, dims: Mapping[str, int]) -> Prediction:
    """The time of one launch on one core, for dims by name."""
    work = workload(kernel, dims)
    moved = bytes_once(kernel, dims)
    asked = sum(work.loaded.values()) + sum(work.stored.values())
    products = work.dot_operations / 2 * _of_rows(kernel, dims)
    rate = rates.multiply_adds(_operand_bits(kernel)) * rates.clock
    others = work.other_operations / (rates.elementwise * rates.clock)
    filling = asked / rates.cache if products else 0.0
    terms = {
        "memory": moved / rates.read,
        "cache": asked / rates.cache,
        "issue": products / rate + filling + others + work.turns * _TURN / rates.clock,
        "launch": rates.launch,
    }
    bound = max(terms, key=lambda n: terms[n])
    seconds = max(terms.values()) + rates.launch
    return Prediction(
        seconds, terms, bound, moved / rates.read, products / rate, moved, products, work.turns
    )


def _of_rows(kernel: Kernel, dims: Mapping[str, int]) -> float:
    """The part of products' rows and columns that code multiplies, where one block has them all.

    A block that reaches past the end of its tensor has `_EDGE` rows for those that are there.
    """
    part = 1.0
    for axis in kernel.grid:
        step, stop = constant(axis.step), axis.stop
        if isinstance(stop, Var) and isinstance(step, int) and stop.name in dims:
            part *= min(1.0, -(-dims[stop.name] // _EDGE) * _EDGE / step)
    return part


def _operand_bits(kernel: Kernel) -> int:
    """The widest operands of a product, as whole bytes; 32 where there is none."""
    bits = [
        max(x.type.dtype.bits for x in (s.a, s.b))
        for s in walk(kernel.body)
        if isinstance(s, ins.Dot)
    ]
    widest = max(bits, default=32)
    return next(n for n in (8, 16, 32, 64) if widest <= n)
