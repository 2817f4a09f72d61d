"""Accesses of a core to memory, as Python expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from dslc.compiler.mlir import Type
from dslc.runtime.aie_simulator.errors import AieFault
from dslc.runtime.aie_simulator.parts import Memory
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


def transfer(op: Operation, _: str, resolve: Resolve) -> str:
    """`vector.transfer_read` and `transfer_write` of a row of lanes: what sticks out is padding."""
    reads = op.name == "vector.transfer_read"
    memory_at = 0 if reads else 1
    memory, kind = resolve(op.operands[memory_at]), op.types[memory_at]
    indices = [resolve(x) for x in op.operands[memory_at + 1 : memory_at + 1 + len(kind.shape)]]
    rest = op.operands[memory_at + 1 + len(kind.shape) :]
    if "permutation_map" in op.attributes or len(rest) != reads:
        raise AieFault("operation", f"{op.name} with a permutation or a mask", line=op.line)
    lanes = _lanes(op.type if reads else op.types[0], op)
    place = _place(op, indices, kind)
    room = f"{kind.shape[-1]} - {indices[-1]}"
    if reads:
        return f"padded({memory}, {place}, {lanes}, {room}, {resolve(rest[0])}, {op.line})"
    return f"cut({memory}, {place}, {resolve(op.operands[0])}, {room}, {op.line})"


def padded(memory: Memory, at: int, lanes: int, room: int, padding: Any, line: int) -> Any:
    """A vector from a place on, with padding for what is beyond the room."""
    inside = max(0, min(lanes, room))
    part = memory.load(at, inside, line)
    return np.concatenate([part, np.full(lanes - inside, padding, part.dtype)])


def cut(memory: Memory, at: int, value: Any, room: int, line: int) -> None:
    """A vector to a place, without what is beyond the room."""
    inside = max(0, min(len(value), room))
    memory.store(value[:inside], at, inside, line)


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
