"""What a number in the text means to an operand of a type (CDNA3 ISA, 5.2 and 6.2.2)."""

from __future__ import annotations

import struct

WIDTHS = {
    "u16": 16, "i16": 16, "f16": 16, "b16": 16, "bf16": 16, "u64": 64, "i64": 64, "f64": 64,
    "b64": 64, "s64": 64,
}  # fmt: skip


def width_of(name: str) -> int:
    """Bits of a type's value: 16, 32 or 64."""
    return WIDTHS.get(name, 32)


def bits_of(value: int | float, name: str) -> int:
    """The bits that the operand gets. A literal of 32 bits is the upper half of an f64."""
    width = width_of(name)
    if isinstance(value, float):
        code = {16: "<e", 32: "<f", 64: "<d"}[width]
        return int.from_bytes(struct.pack(code, value), "little")
    if name == "f64" and not -16 <= value <= 64:
        return (value & 0xFFFFFFFF) << 32
    return value & ((1 << max(width, 32)) - 1)
