"""Which loads a unit of the machine can copy in bulk: boxes of tensors.

Hopper's unit takes a tensor of up to five axes whose rows follow each other at multiples of 16 bytes,
and copies a box of it to panels with its own swizzles (PTX ISA 8.5, "Tensor copies"). What is out of
bounds it fills with zeros.
"""

from __future__ import annotations

from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.affine import constant
from dslc.compiler.ir.values import Memory
from dslc.compiler.passes.facts import Facts
from dslc.compiler.passes.panels import panels
from dslc.compiler.passes.staging import element_strides, multiple

_MOST_AXES, _MOST_ROWS = 5, 256
_UNIT = 16  # bytes of which all strides are multiples


def is_box(load: ins.Load, params: tuple[Memory, ...], facts: Facts) -> bool:
    """Whether the load of an operand that stays in memory may be a bulk copy."""
    region, memory = load.region, load.region.memory
    shape, bits = load.out.type.shape, memory.dtype.bits
    if load.out.type.layout is not None or panels(shape, bits) is None or memory not in params:
        return False
    if memory.align is not None and memory.align % _UNIT:
        return False
    if not 2 <= memory.rank <= _MOST_AXES or shape[0] > _MOST_ROWS:
        return False
    if any(a.step != 1 for a in region.axes) or region.axes[-1].dropped:
        return False
    if load.other is not None and constant(load.other) != 0:
        return False
    steps = (multiple(facts, s) * bits // 8 for s in element_strides(memory)[:-1])
    return all(step % _UNIT == 0 for step in steps)
