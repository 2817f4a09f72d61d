"""A kernel's instructions as C: one function for each shape of instruction, and the code as a table."""

from __future__ import annotations

from dataclasses import dataclass, field

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
from dslc.runtime.hip_emulator.operands import Constant, Name, Operand, Register
from dslc.runtime.hip_emulator.packing import mixed, packed

_SUFFIXES = ("_e32", "_e64", "_sdwa", "_dpp", "_e64_dpp")
# A kernel's code is here for s_getpc_b64; objects in memory are an allocation of their own.
CODE_ADDRESS = 0x7000000000000


@dataclass(slots=True)
class Translation:
    """The C of a kernel, in pieces: functions by their text, accesses, the table's rows."""

    functions: dict[str, str] = field(default_factory=dict)
    rows: list[str] = field(default_factory=list)

    def function(self, head: str, lines: list[str]) -> str:
        """The name of the function with this body."""
        body = "\n".join(f"  {line}" for line in lines)
        text = f"{head} {{\n{body}\n}}"
        return self.functions.setdefault(text, f"f{len(self.functions)}")


def translate(assembly: Assembly, name: str, data_address: int = 0) -> str:
    """The C of one kernel; `data_address` is where objects in memory are.

    EmulationError names an instruction that the emulator does not know.
    """
    if name not in assembly.kernels:
        raise EmulationError(f"the text has no kernel {name}")
    kernel = assembly.kernels[name]
    symbols = {label: data_address + at for label, at in assembly.data.labels.items()}
    made = Translation()
    for instruction in kernel.code:
        parts = Parts(_resolved(instruction, symbols))
        _fill(parts, kernel, assembly.chip, made)
        made.rows.append(_row(parts, made))
    functions = [text.replace("NAME", name) for text, name in made.functions.items()]
    ocp = "#define OCP\n" if assembly.chip == "gfx950" else ""
    headers = "".join(f'#include "{h}.h"\n' for h in ("lanes", "division", "crosslane", "matrix", "swizzle"))
    rows = ",\n".join(made.rows)
    return (
        f"{ocp}{headers}\n" + "\n".join(functions) + f"\nstatic const Ins code[] = {{\n{rows}\n}};\n"
        f"EXPORTED const Program hip_emulator_program = {{\"{name}\", code, {len(made.rows)}}};\n"
    )


def _resolved(instruction: Instruction, symbols: dict[str, int]) -> Instruction:
    """The instruction with the addresses of objects in place of their names."""
    if not any(isinstance(o.value, Name) and "@rel32" in o.value.text for o in instruction.operands):
        return instruction
    operands = []
    for operand in instruction.operands:
        value = operand.value
        if isinstance(value, Name) and "@rel32" in value.text:
            label, _, part = value.text.partition("@rel32@")
            if label not in symbols:
                raise EmulationError(f"line {instruction.line}: the text does not define {label}")
            # Measured from the code's address; the 4 and 12 behind them are the literals' own places.
            extra = int(part.partition("+")[2] or "0", 0) - (4 if part.startswith("lo") else 12)
            away = symbols[label] + extra - CODE_ADDRESS
            operand = Operand(Constant((away if part.startswith("lo") else away >> 32) & 0xFFFFFFFF))
        operands.append(operand)
    return Instruction(
        instruction.mnemonic, tuple(operands), instruction.modifiers, instruction.line,
        instruction.text, instruction.source,
    )  # fmt: skip


def _fill(parts: Parts, kernel: Kernel, chip: str, made: Translation) -> None:
    name = parts.instruction.mnemonic
    if control(parts, kernel.labels):
        return
    if memory := find_memory(name):
        fields = access(parts, memory)
        if "combine" in fields:
            head = "static void NAME(void *memory, const u32 *data, const u32 *data1)"
            fields["combine"] = made.function(head, parts.lines)
        listed = ", ".join(f".{k} = {v}" for k, v in fields.items())
        parts.fields["access"] = f"&(const Access){{{listed}}}"
        parts.lines = []
        return
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


def _spans(registers: list[Register]) -> str:
    rows = [f"{{{int(r.vector)}, {r.count}, {r.at}}}" for r in dict.fromkeys(registers)]
    return "{" + ", ".join(rows) + "}"


def _quoted(text: str | None) -> str:
    return "0" if text is None else '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _row(parts: Parts, made: Translation) -> str:
    """The instruction in the table."""
    fields = {"kind": parts.kind, "line": str(parts.instruction.line)}
    if parts.lines:
        fields["run"] = made.function("static void NAME(Wave *w, const Ins *i)", parts.lines)
    if parts.flags:
        fields["flags"] = " | ".join(sorted(parts.flags))
    if parts.registers:
        fields["r"] = "{" + ", ".join(map(str, parts.registers)) + "}"
    if parts.literals:
        fields["k"] = "{" + ", ".join(f"{x:#x}ull" for x in parts.literals) + "}"
    if parts.reads:
        fields["reads"] = _spans(parts.reads)
    if parts.writes:
        fields["writes"] = _spans(parts.writes)
    fields |= parts.fields
    fields["text"] = _quoted(parts.instruction.text)
    fields["source"] = _quoted(parts.instruction.source)
    return "{" + ", ".join(f".{k} = {v}" for k, v in fields.items()) + "}"
