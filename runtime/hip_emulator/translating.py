"""A kernel's instructions as rows of the machine, and the C functions that these run."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dslc.runtime.hip_emulator.accesses import access
from dslc.runtime.hip_emulator.assembly import Assembly, Instruction, Kernel
from dslc.runtime.hip_emulator.control import control
from dslc.runtime.hip_emulator.errors import EmulationError
from dslc.runtime.hip_emulator.function import Parts
from dslc.runtime.hip_emulator.instructions import (
    IN_ALL_LANES,
    LANEWISE,
    MIXED,
    PACKED,
    SCALAR,
    WHOLE,
    Entry,
    is_known,
)
from dslc.runtime.hip_emulator.instructions.memory import find_memory
from dslc.runtime.hip_emulator.lanewise import lanewise, scalar, whole
from dslc.runtime.hip_emulator.matrices import is_matrix, matrix
from dslc.runtime.hip_emulator.operands import Constant, Name, Operand
from dslc.runtime.hip_emulator.packing import mixed, packed

_SUFFIXES = ("_e32", "_e64", "_sdwa", "_dpp", "_e64_dpp")
# A kernel's code is here for s_getpc_b64; objects in memory are an allocation of their own.
CODE_ADDRESS = 0x7000000000000
FUNCTIONS = ("combine", "permute")


@dataclass(frozen=True, slots=True)
class Row:
    """An instruction of the machine: functions are named by their C."""

    parts: Parts
    run: str | None
    access: dict[str, str] | None


def translate(assembly: Assembly, name: str, data_address: int = 0) -> list[Row]:
    """The rows of one kernel; `data_address` is where objects in memory are.

    EmulationError names an instruction that the emulator does not know.
    """
    if name not in assembly.kernels:
        raise EmulationError(f"the text has no kernel {name}")
    kernel = assembly.kernels[name]
    symbols = {label: data_address + at for label, at in assembly.data.labels.items()}
    return [_row(Parts(_resolved(i, symbols)), kernel, assembly.chip) for i in kernel.code]


def functions_of(rows: list[Row]) -> list[str]:
    """The functions that rows need, each once."""
    functions = [row.run for row in rows if row.run]
    for row in rows:
        functions += [text for key in FUNCTIONS if row.access and (text := row.access.get(key))]
    return list(dict.fromkeys(functions))


def _resolved(instruction: Instruction, symbols: dict[str, int]) -> Instruction:
    """The instruction with the addresses of objects in place of their names."""
    names = [o.value.text for o in instruction.operands if isinstance(o.value, Name)]
    if not any("@rel32" in name for name in names):
        return instruction
    operands = tuple(_address(o, instruction, symbols) for o in instruction.operands)
    return replace(instruction, operands=operands)


def _address(operand: Operand, instruction: Instruction, symbols: dict[str, int]) -> Operand:
    """Half of how far an object is from the code; the 4 and 12 are the literals' own places."""
    value = operand.value
    if not isinstance(value, Name) or "@rel32" not in value.text:
        return operand
    label, _, part = value.text.partition("@rel32@")
    if label not in symbols:
        raise EmulationError(f"line {instruction.line}: the text does not define {label}")
    low = part.startswith("lo")
    away = (
        symbols[label] + int(part.partition("+")[2] or "0", 0) - (4 if low else 12) - CODE_ADDRESS
    )
    return Operand(Constant((away if low else away >> 32) & 0xFFFFFFFF))


def _row(parts: Parts, kernel: Kernel, chip: str) -> Row:
    if control(parts, kernel.labels):
        return Row(parts, _function("void NAME(Wave *w, const Ins *i)", parts.lines), None)
    if memory := find_memory(parts.instruction.mnemonic):
        fields = access(parts, memory)
        if "combine" in fields:
            head = "void NAME(void *memory, const u32 *data, const u32 *data1)"
            fields["combine"] = _function(head, parts.lines) or ""
        return Row(parts, None, fields)
    _compute(parts, chip)
    return Row(parts, _function("void NAME(Wave *w, const Ins *i)", parts.lines), None)


def _function(head: str, lines: list[str]) -> str | None:
    """A function's C, its name left open."""
    body = "\n".join(f"  {line}" for line in lines)
    return f"EXPORTED {head} {{\n{body}\n}}" if lines else None


def _compute(parts: Parts, chip: str) -> None:
    """An instruction that computes on registers."""
    name = parts.instruction.mnemonic
    if is_matrix(name):
        matrix(parts, chip)
        return
    plain = name
    for suffix in _SUFFIXES:
        plain = plain.removesuffix(suffix)
    if not is_known(plain, chip):
        raise parts.fail(f"{chip} has no such instruction")
    if plain in PACKED:
        packed(parts, _entry(parts, PACKED, plain))
    elif plain in MIXED:
        mixed(parts, MIXED[plain])
    elif plain in WHOLE:
        whole(parts, WHOLE[plain], plain in IN_ALL_LANES)
    elif plain in SCALAR:
        scalar(parts, SCALAR[plain])
    elif plain in LANEWISE:
        lanewise(parts, _entry(parts, LANEWISE, plain))
    elif plain == "s_getpc_b64":
        register = parts.expect(parts.instruction.operands[0], 2)
        parts.writes.append(register)
        parts.lines.append(f"set_pair(w, {parts.register(register)}, {CODE_ADDRESS:#x}ull);")
    else:
        raise parts.fail("the emulator does not know this instruction")


def _entry(parts: Parts, table: dict[str, Entry], name: str) -> Entry:
    """The entry, of the clamped form where integers are clamped."""
    entry = table[name]
    if "clamp" not in parts.instruction.modifiers or entry.results[0].name.startswith(("f", "bf")):
        return entry
    if f"{name}.clamp" not in table:
        raise parts.fail("the emulator does not know this instruction with clamp")
    return table[f"{name}.clamp"]
