"""What instructions of matrix units do: tiles as arrays of bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from dslc.compiler.dtypes import decode, encode, storage_dtype
from dslc.compiler.dtypes.storage import Array
from dslc.compiler.vector import matrix_instructions as mat
from dslc.compiler.vector.faults import VectorFault
from dslc.compiler.vector.interpreter.memory import Memory
from dslc.compiler.vector.values import Operand

Read = Callable[[Operand], Array]


class Matrices:
    """The tiles of one unit of execution; none is configured at first."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._tiles: list[Array] = []

    def run(self, stmt: Any, read: Read) -> None:
        """Do what the instruction says. VectorFault for tiles that are not configured or do not fit."""
        match stmt:
            case mat.TileConfigure(rows=rows, row_bytes=row_bytes):
                shapes = zip(rows, row_bytes, strict=True)
                self._tiles = [np.zeros(shape, np.uint8) for shape in shapes]
            case mat.TileRelease():
                self._tiles = []
            case mat.TileZero():
                self._tile(stmt.tile)[:] = 0
            case mat.TileLoad():
                tile = self._tile(stmt.tile)
                for number, address in enumerate(self._rows(stmt, tile, read)):
                    tile[number] = self._memory.read_bytes(address, tile.shape[1])
            case mat.TileStore():
                tile = self._tile(stmt.tile)
                for number, address in enumerate(self._rows(stmt, tile, read)):
                    self._memory.write_bytes(address, tile[number])
            case mat.TileDot():
                self._multiply(stmt)

    def _tile(self, number: int) -> Array:
        if not self._tiles:
            raise VectorFault("a tile that is not configured")
        return self._tiles[number]

    @staticmethod
    def _rows(stmt: mat.TileLoad | mat.TileStore, tile: Array, read: Read) -> list[int]:
        start, stride = int(read(stmt.pointer)) + int(read(stmt.offset)), int(read(stmt.stride))
        return [start + number * stride for number in range(tile.shape[0])]

    def _multiply(self, stmt: mat.TileDot) -> None:
        atom = mat.TILE_ATOMS[stmt.atom]
        sums, a, b = (self._tile(n) for n in (stmt.sums, stmt.a, stmt.b))
        if sums.shape[0] != a.shape[0] or sums.shape[1] != b.shape[1] or a.shape[1] != 4 * len(b):
            raise VectorFault(f"tiles of {sums.shape}, {a.shape} and {b.shape} do not fit")
        x = _numbers(a, atom.a)
        words = _numbers(b, atom.b).reshape(len(b), -1, atom.k)
        y = words.transpose(0, 2, 1).reshape(len(b) * atom.k, -1)
        total = x @ y + _numbers(sums, atom.acc)
        sums[:] = np.ascontiguousarray(encode(total, atom.acc)).view(np.uint8).reshape(sums.shape)


def _numbers(tile: Array, dtype: Any) -> Array:
    """A tile's elements as numbers that are exact in their sums."""
    rows = np.ascontiguousarray(tile).view(storage_dtype(dtype))
    return decode(rows, dtype).astype(np.float64 if dtype.is_float else np.int64)
