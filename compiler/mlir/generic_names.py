"""What the generic form calls what custom forms spell out.

Lists that mix integers and values are in the generic form an array, with a mark where a value stands,
and the values among the operands; an amount that is a value is an operand alone. Here, as in the custom
forms, such attributes hold the values' names.
"""

from __future__ import annotations

from dslc.compiler.mlir.attributes import Integers, Use
from dslc.compiler.mlir.operations import Operation

DYNAMIC = -(1 << 63)
# The operands that stand before those of lists.
_BEFORE = {
    "aiex.npu.dma_memcpy_nd": 1,
    "memref.subview": 1,
    "memref.reinterpret_cast": 1,
    "vector.extract": 1,
    "vector.insert": 2,
}
LISTS = ("offsets", "sizes", "strides", "position")
_SEGMENTS = "operandSegmentSizes"
_BRANCHES = ("cf.br", "cf.cond_br")
# The operand that is an amount, where an attribute of this name is missing.
_AMOUNTS = {"aie.use_lock": 1, "aiex.set_lock": 1, "aiex.npu.rtp_write": 0}


def has_lists(op: Operation) -> bool:
    """Whether integers and values mix in the lists of an operation."""
    return op.name in _BEFORE


def settle(op: Operation) -> None:
    """Names as in custom forms, for an operation that was read in the generic form."""
    if op.name in _BEFORE:
        given = iter(op.operands[_BEFORE[op.name] :])
        for name in LISTS:
            known = op.attributes.pop(f"static_{name}", None)
            if isinstance(known, Integers):
                op.attributes[name] = [
                    Use(next(given)) if n == DYNAMIC else n for n in known.values
                ]
        op.attributes.pop(_SEGMENTS, None)
    if op.name in _BRANCHES and op.successors:
        counts = [len(op.operands)] if len(op.successors) == 1 else op.integers(_SEGMENTS)[1:]
        at = len(op.operands) - sum(counts)
        for number, count in enumerate(counts):
            op.successors[number] = op.successors[number][0], op.operands[at : at + count]
            at += count
        op.attributes.pop(_SEGMENTS, None)
    place = _AMOUNTS.get(op.name)
    if place is not None and "value" not in op.attributes and len(op.operands) > place:
        op.attributes["value"] = Use(op.operands[place])
