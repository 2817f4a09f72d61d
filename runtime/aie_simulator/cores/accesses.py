"""Accesses of a core to memory, as Python expressions."""

from __future__ import annotations

from collections.abc import Callable

from dslc.compiler.mlir import Type
from dslc.runtime.aie_simulator.errors import AieFault
from dslc.runtime.aie_simulator.reader import Operation

Resolve = Callable[[str], str]


def _place(op: Operation, indices: list[str], kind: Type) -> str:
    """The number of an element in a flat memory."""
    if len(indices) == 1:
        return indices[0]
    if len(indices) != len(kind.shape):
        raise AieFault("operation", f"{len(indices)} indices of {kind}", line=op.line)
    return f"at(({', '.join(indices)}{',' * (not indices)}), {kind.shape}, {op.line})"


def load(op: Operation, _: str, resolve: Resolve) -> str:
    """A vector or an element."""
    memory, *indices = (resolve(x) for x in op.operands)
    place = _place(op, indices, op.types[0])
    if op.name == "memref.load":
        return f"{memory}.get({place}, {op.line})"
    return f"{memory}.load({place}, {_lanes(op.type, op)}, {op.line})"


def store(op: Operation, _: str, resolve: Resolve) -> str:
    """A vector or an element."""
    value, memory, *indices = (resolve(x) for x in op.operands)
    lanes = 1 if op.name == "memref.store" else _lanes(op.types[0], op)
    return f"{memory}.store({value}, {_place(op, indices, op.types[1])}, {lanes}, {op.line})"


def _lanes(kind: Type, op: Operation) -> int:
    """The lanes of a vector that is loaded or stored, which is of one dimension."""
    if len(kind.shape) != 1:
        raise AieFault("operation", f"{op.name} of {kind}", line=op.line)
    return kind.shape[0]


def view(op: Operation, _: str, resolve: Resolve) -> str:
    """Bytes as elements of another type."""
    memory, place = (resolve(x) for x in op.operands[:2])
    kind = op.type
    if op.types[0].element != "i8" or min(kind.shape, default=1) < 0:
        raise AieFault("operation", "a view is of bytes, as a memref of known size", line=op.line)
    return f"View({memory}, {place}, {kind.count}, {kind.element!r}, {op.line})"


def same_memory(op: Operation, _: str, resolve: Resolve) -> str:
    """The same elements by another shape."""
    if op.results and op.type.count != op.types[0].count:
        raise AieFault("operation", f"{op.name} to {op.type}", line=op.line)
    return resolve(op.operands[0]) if op.results else ""


def flat_index(indices: tuple[int, ...], shape: tuple[int, ...], line: int) -> int:
    """The number of an element of a memref of several dimensions."""
    place = 0
    for index, size in zip(indices, shape, strict=True):
        if not 0 <= index < size:
            raise AieFault("bounds", f"index {indices} of a memref of {shape}", line=line)
        place = place * size + index
    return place
