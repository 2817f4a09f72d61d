"""A kernel as the table that the machine runs: a translation with the addresses of functions."""

from __future__ import annotations

import ctypes
from typing import Any

from dslc.runtime.hip_emulator.assembly import Assembly
from dslc.runtime.hip_emulator.building import addresses
from dslc.runtime.hip_emulator.operands import Register
from dslc.runtime.hip_emulator.request import (
    ENUMERATIONS,
    MOST_LITERALS,
    MOST_READS,
    MOST_REGISTERS,
    MOST_WRITES,
    Access,
    Ins,
    Program,
    Span,
)
from dslc.runtime.hip_emulator.translating import FUNCTIONS, Row, functions_of, translate


class TranslatedProgram:
    """One kernel, ready to be launched; it lives as long as this object."""

    def __init__(self, assembly: Assembly, name: str, data_address: int) -> None:
        rows = translate(assembly, name, data_address)
        address_of = addresses(assembly.chip, functions_of(rows))
        self._code = (Ins * max(len(rows), 1))()
        self._accesses: dict[tuple[tuple[str, str], ...], Access] = {}
        for ins, row in zip(self._code, rows, strict=False):
            self._fill(ins, row, address_of)
        self._name = name.encode()
        code = ctypes.cast(self._code, ctypes.POINTER(Ins))
        self._program = Program(self._name, code, len(rows))

    @property
    def address(self) -> int:
        """Of the Program."""
        return ctypes.addressof(self._program)

    def _fill(self, ins: Ins, row: Row, found: dict[str, int]) -> None:
        parts = row.parts
        ins.kind = ENUMERATIONS[parts.kind]
        ins.flags = sum(ENUMERATIONS[f] for f in parts.flags)
        ins.line = parts.instruction.line
        ins.text = parts.instruction.text.encode()
        if parts.instruction.source:
            ins.source = parts.instruction.source.encode()
        if row.run:
            ins.run = found[row.run]
        for key, value in parts.fields.items():
            setattr(ins, key, int(value))
        _copy(ins.r, parts.registers, MOST_REGISTERS)
        _copy(ins.k, parts.literals, MOST_LITERALS)
        _spans(ins.reads, parts.reads, MOST_READS)
        _spans(ins.writes, parts.writes, MOST_WRITES)
        if row.access is not None:
            ins.access = ctypes.pointer(self._access(row.access, found))

    def _access(self, fields: dict[str, str], found: dict[str, int]) -> Access:
        key = tuple(sorted(fields.items()))
        if key not in self._accesses:
            access = Access()
            for name, value in fields.items():
                number = found[value] if name in FUNCTIONS else ENUMERATIONS.get(value)
                setattr(access, name, int(value, 0) if number is None else number)
            self._accesses[key] = access
        return self._accesses[key]


def _copy(to: ctypes.Array[Any], values: list[int], most: int) -> None:
    assert len(values) <= most
    to[: len(values)] = values


def _spans(to: ctypes.Array[Span], registers: list[Register], most: int) -> None:
    unique = list(dict.fromkeys(registers))
    assert len(unique) < most, "the last one ends the list"
    for span, register in zip(to, unique, strict=False):
        span.vector, span.count, span.at = register.vector, register.count, register.at
