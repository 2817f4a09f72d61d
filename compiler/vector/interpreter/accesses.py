"""What instructions that reach memory do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from dslc.compiler.dtypes import decode, encode, storage_dtype
from dslc.compiler.dtypes.packing import pack_bits, unpack_bits
from dslc.compiler.dtypes.storage import Array
from dslc.compiler.ir.arithmetic import elements
from dslc.compiler.vector import matrix_instructions as mat
from dslc.compiler.vector import memory_instructions as mem
from dslc.compiler.vector.constants import codes_of
from dslc.compiler.vector.evaluation import from_bits
from dslc.compiler.vector.faults import VectorFault
from dslc.compiler.vector.interpreter.matrices import Matrices
from dslc.compiler.vector.interpreter.memory import Memory
from dslc.compiler.vector.types import PointerType, Type, VectorType, memory_bytes
from dslc.compiler.vector.values import Constant, Operand


class Accesses:
    """Steps of the instructions of `vector/memory_instructions.py`.

    `read` gives what an operand holds; the result is that of the instruction, or None.
    """

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.matrices = Matrices(memory)

    def run(self, stmt: Any, read: Callable[[Operand], Array]) -> Array | None:
        """Do what the instruction says."""
        match stmt:
            case mem.Advance():
                return np.asarray(read(stmt.pointer) + read(stmt.offset))
            case mem.Allocate():
                return self._new(np.full(stmt.size, 0xA5, np.uint8), stmt.align)
            case mem.Table(data=Constant() as data):
                codes = np.ascontiguousarray(codes_of(data)).reshape(-1)
                content = codes.view(np.uint8).copy()
                content.flags.writeable = False
                return self._new(content, 64)
            case mem.LoadPacked():
                return self._load_packed(stmt, read)
            case mem.StorePacked():
                self._store_packed(stmt, read)
                return None
            case mem.Load() | mem.LoadStrided() | mem.Gather():
                return self._load(stmt, read)
            case mem.Store() | mem.StoreStrided() | mem.Scatter():
                self._store(stmt, read)
                return None
            case mem.Prefetch() | mem.Fence() | mem.Pause():
                return None
            case (
                mat.TileConfigure()
                | mat.TileRelease()
                | mat.TileZero()
                | mat.TileLoad()
                | mat.TileStore()
                | mat.TileDot()
            ):
                self.matrices.run(stmt, read)
                return None
        return self._atomic(stmt, read)

    def _new(self, buffer: Array, align: int) -> Array:
        return np.asarray(self.memory.add(buffer, align), np.int64)

    def _addresses(self, stmt: Any, type_: Type, read: Callable[[Operand], Array]) -> Array:
        """One a lane."""
        start = int(read(stmt.pointer)) + int(read(stmt.offset))
        count = 1 if isinstance(type_, PointerType) else type_.count
        match stmt:
            case mem.Gather() | mem.Scatter():
                return start + read(stmt.index).astype(np.int64) * stmt.scale
            case mem.LoadStrided() | mem.StoreStrided():
                addresses = start + np.arange(count) * int(read(stmt.stride))
            case _:
                addresses = start + np.arange(count) * memory_bytes(type_)
        return np.asarray(addresses, np.int64)

    def _active(self, stmt: Any, addresses: Array, read: Callable[[Operand], Array]) -> Array:
        """Which lanes are accessed; the alignment of these is checked."""
        mask = getattr(stmt, "mask", None)
        active = np.ones(len(addresses), bool) if mask is None else np.atleast_1d(read(mask))
        first = addresses[:1] if isinstance(stmt, (mem.Load, mem.Store)) else addresses[active]
        if active.any() and (first % getattr(stmt, "align", 1)).any():
            raise VectorFault(f"an address that is no multiple of {stmt.align}")
        return active

    def _load(self, stmt: Any, read: Callable[[Operand], Array]) -> Array:
        type_ = stmt.out.type
        addresses = self._addresses(stmt, type_, read)
        active = self._active(stmt, addresses, read)
        found = self.memory.read(addresses[active], type_)
        if not isinstance(type_, VectorType):
            return np.asarray(found[0])
        fill = np.zeros((), storage_dtype(type_.dtype)) if stmt.fill is None else read(stmt.fill)
        lanes = np.array(np.broadcast_to(fill, (type_.count,)))
        lanes[active] = found
        return lanes.reshape(()) if type_.lanes is None else lanes

    def _store(self, stmt: Any, read: Callable[[Operand], Array]) -> None:
        type_ = stmt.value.type
        addresses = self._addresses(stmt, type_, read)
        active = self._active(stmt, addresses, read)
        codes = np.atleast_1d(read(stmt.value))
        self.memory.write(addresses[active], codes[active], type_)

    def _load_packed(self, stmt: mem.LoadPacked, read: Callable[[Operand], Array]) -> Array:
        type_ = stmt.out.type
        assert isinstance(type_, VectorType)
        size = -(-type_.count * type_.dtype.bits // 8)
        start = int(read(stmt.pointer)) + int(read(stmt.offset))
        content = self.memory.read_bytes(start, size)
        codes = unpack_bits(content, type_.dtype.bits, type_.count)
        found = from_bits(np.asarray(codes).view(np.uint8), type_.dtype)
        return found.reshape(()) if type_.lanes is None else found

    def _store_packed(self, stmt: mem.StorePacked, read: Callable[[Operand], Array]) -> None:
        type_ = stmt.value.type
        assert isinstance(type_, VectorType)
        codes = np.ascontiguousarray(np.atleast_1d(read(stmt.value))).view(np.uint8)
        start = int(read(stmt.pointer)) + int(read(stmt.offset))
        self.memory.write_bytes(start, pack_bits(codes, type_.dtype.bits))

    def _atomic(self, stmt: Any, read: Callable[[Operand], Array]) -> Array | None:
        address = np.asarray([int(read(stmt.pointer)) + int(read(stmt.offset))])
        type_ = stmt.value.type if hasattr(stmt, "value") else stmt.out.type
        if address[0] % memory_bytes(type_):
            raise VectorFault("an atomic access whose address is no multiple of its size")
        if isinstance(stmt, mem.AtomicStore):
            self.memory.write(address, read(stmt.value), type_)
            return None
        old = self.memory.read(address, type_)[0]
        match stmt:
            case mem.AtomicUpdate(op="exchange"):
                self.memory.write(address, read(stmt.value), type_)
            case mem.AtomicUpdate():
                dtype = type_.dtype
                operands = decode(np.asarray(old), dtype), decode(read(stmt.value), dtype)
                new = elements.binary(stmt.op, dtype)(*operands)
                self.memory.write(address, encode(np.asarray(new), dtype), type_)
            case mem.CompareExchange() if old == read(stmt.expected):
                self.memory.write(address, read(stmt.value), type_)
        return np.asarray(old)
