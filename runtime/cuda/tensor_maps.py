"""Tensor maps (TMA descriptors): what the unit that copies boxes is told of a tensor.

The driver encodes them. A map holds the tensor's address. So one is encoded for each address that a
launch with these dims meets, and kept; a launch with addresses of before copies 128 bytes (CUDA Driver
API, "Tensor Map Object Management").
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dslc.compiler.artifact import decode
from dslc.runtime.cuda.device import CudaDevice
from dslc.runtime.expression import Number, evaluate

BYTES = 128  # of a map, and of the slot that it has among a launch's parameters
ALIGNMENT = 64
_KEPT = 256  # maps of one parameter
_TYPES = {1: 0, 2: 1, 4: 2}  # CUtensorMapDataType of unsigned integers by their bytes
_SWIZZLES = {32: 1, 64: 2, 128: 3}
_PROMOTION = 3  # CU_TENSOR_MAP_L2_PROMOTION_L2_256B


@dataclass(frozen=True, slots=True)
class TensorMap:
    """A box of the tensor `name`, as the launch describes it: the fastest axis first.

    `extents` and `strides` (in bytes, from the second axis on) are expressions over dims.
    """

    name: str
    bytes: int
    swizzle: int
    extents: tuple[str, ...]
    strides: tuple[str, ...]
    box: tuple[int, ...]

    @staticmethod
    def read(data: Mapping[str, Any]) -> TensorMap | None:
        """Of a launch's data; None or DSL0802 where it is not as above."""
        own = {key: value for key, value in data.items() if key != "kind"}
        decoded = decode(TensorMap, own, "a tensor map")
        rank = len(decoded.box)
        numbers = all(0 < n <= 256 for n in decoded.box)
        known = decoded.bytes in _TYPES and decoded.swizzle in _SWIZZLES
        right = 2 <= rank <= 5 and (len(decoded.extents), len(decoded.strides)) == (rank, rank - 1)
        return decoded if numbers and known and right else None


class Encoder:
    """The maps of one parameter for known dims."""

    def __init__(self, device: CudaDevice, box: TensorMap, values: Mapping[str, Number]) -> None:
        rank = len(box.box)
        # An empty axis is never copied from, but no map may have one.
        extents = [max(1, int(evaluate(t, values))) for t in box.extents]
        strides = [max(16, int(evaluate(t, values))) for t in box.strides]
        self._device, self._kept = device, dict[int, bytes]()
        self._rank, self._type, self._swizzle = rank, _TYPES[box.bytes], _SWIZZLES[box.swizzle]
        self._extents = (ctypes.c_uint64 * rank)(*extents)
        self._strides = (ctypes.c_uint64 * (rank - 1))(*strides)
        self._box = (ctypes.c_uint * rank)(*box.box)
        self._ones = (ctypes.c_uint * rank)(*(1,) * rank)

    def map_of(self, address: int) -> bytes:
        """The map of the tensor at an address. DSL0842 where the driver refuses it."""
        kept = self._kept.get(address)
        if kept is None:
            if len(self._kept) >= _KEPT:
                self._kept.clear()
            kept = self._kept[address] = self._encoded(address)
        return kept

    def _encoded(self, address: int) -> bytes:
        memory = (ctypes.c_char * (BYTES + ALIGNMENT))()
        base = -(-ctypes.addressof(memory) // ALIGNMENT) * ALIGNMENT
        with self._device.current():  # the driver wants one, a caller of host arrays has none
            self._device.driver.call(
                "cuTensorMapEncodeTiled", base, self._type, self._rank, address, self._extents,
                self._strides, self._box, self._ones, 0, self._swizzle, _PROMOTION, 0,
            )  # fmt: skip
        return ctypes.string_at(base, BYTES)


def packing(
    pack: Callable[..., None], encoders: Sequence[tuple[int, int, Encoder]]
) -> Callable[..., None]:
    """`pack(buffer, 0, *given)` that fills in maps too: (place in the buffer, position, encoder)."""

    def pack_all(buffer: Any, at: int, *given: Number) -> None:
        pack(buffer, at, *given)
        for place, position, encoder in encoders:
            buffer[place : place + BYTES] = encoder.map_of(int(given[position]))

    return pack_all
