"""A C function of one instruction shape: what does not depend on which registers and numbers it has.

Instructions that differ in registers, literals and lines alone share a function, so that a kernel of
thousands of instructions compiles to a hundred functions and a table.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from dslc.runtime.hip_emulator.assembly import Instruction
from dslc.runtime.hip_emulator.constants import bits_of, width_of
from dslc.runtime.hip_emulator.errors import EmulationError
from dslc.runtime.hip_emulator.operands import EXEC, M0, SCC, VCC, Constant, Operand, Register

IMPLICIT = {
    "scc": Register(False, SCC, 1),
    "vcc": Register(False, VCC, 2),
    "exec": Register(False, EXEC, 2),
    "m0": Register(False, M0, 1),
}
CTYPES = {
    "u32": "u32", "i32": "i32", "f32": "float", "b32": "u32", "u16": "u16", "i16": "i16",
    "f16": "float", "bf16": "float", "b16": "u32", "u64": "u64", "i64": "i64", "f64": "double",
    "b64": "u64", "mask": "bool", "scc": "u32", "exec": "u64", "vcc": "u64", "m0": "u32",
}  # fmt: skip
_FROM_BITS = {
    "f32": "f32_of",
    "f16": "f16_of",
    "bf16": "bf16_of",
    "f64": "f64_of",
    "i32": "(i32)",
    "u16": "(u16)",
    "i16": "(i16)",
    "i64": "(i64)",
}
_TO_BITS = {"f32": "bits_f32", "f16": "bits_f16", "bf16": "bits_bf16", "f64": "bits_f64"}
_SIGNS = {"f32": 31, "b32": 31, "f16": 15, "bf16": 15, "b16": 15, "f64": 63, "b64": 63}


@dataclass(slots=True)
class Parts:
    """What an instruction of the machine is made of: its function's lines, registers, literals."""

    instruction: Instruction
    lines: list[str] = field(default_factory=list)
    registers: list[int] = field(default_factory=list)
    literals: list[int] = field(default_factory=list)
    reads: list[Register] = field(default_factory=list)
    writes: list[Register] = field(default_factory=list)
    flags: set[str] = field(default_factory=set)
    kind: str = "RUN"
    fields: dict[str, str] = field(default_factory=dict)

    def fail(self, why: str) -> EmulationError:
        """An error at this instruction."""
        return EmulationError(f"line {self.instruction.line}: {self.instruction.text}: {why}")

    def next_operand(self, operands: list[Operand]) -> Operand:
        """The first of those that are left, which is taken away."""
        if not operands:
            raise self.fail("it has fewer operands than the emulator knows of it")
        return operands.pop(0)

    def register(self, register: Register) -> str:
        """The C name of a register's number."""
        self.registers.append(register.at)
        return f"i->r[{len(self.registers) - 1}]"

    def literal(self, bits: int) -> str:
        """The C name of a number."""
        self.literals.append(bits)
        return f"i->k[{len(self.literals) - 1}]"

    def expect(self, operand: Operand, count: int, what: str = "registers") -> Register:
        """The operand's registers, as many as its type has."""
        register = operand.register
        if register is None or (register.count != count):
            raise self.fail(f"an operand has not the {count} {what} that this instruction needs")
        return register

    def fetch(self, name: str, operand: Operand, kind: str, count: int | None = None) -> str:
        """Declare an operand's place once a wave; gives the C of its bits in lane l."""
        words = count or max(width_of(kind), 32) // 32
        if isinstance(operand.value, Constant):
            number = self.literal(bits_of(operand.value.value, kind))
            ctype = "u64" if words == 2 else "u32"
            self.lines.append(f"const {ctype} {name} = ({ctype}){number};")
            return name
        register = operand.register
        if register is None:
            raise self.fail("the emulator does not know this operand")
        if register.count != words:
            raise self.fail(f"an operand of {32 * words} bits has {register.count} registers")
        self.reads.append(register)
        if register.vector:
            self.lines.append(f"const u32 *const {name} = w->v[{self.register(register)}];")
            return f"({name}[l] | (u64){name}[{'LANES + l'}] << 32)" if words == 2 else f"{name}[l]"
        at = self.register(register)
        value = f"pair(w, {at})" if words == 2 else f"w->s[{at}]"
        self.lines.append(f"const {'u64' if words == 2 else 'u32'} {name} = {value};")
        return name

    def fetch_implicit(self, name: str, kind: str) -> str:
        """The same for scc, vcc, exec and m0."""
        register = IMPLICIT[kind]
        self.reads.append(register)
        value = f"pair(w, {register.at})" if register.count == 2 else f"w->s[{register.at}]"
        self.lines.append(f"const {CTYPES[kind]} {name} = {value};")
        return name


def signed(parts: Parts, bits: str, kind: str, operand: Operand) -> str:
    """The bits with the operand's sign changed as its modifiers say."""
    if not operand.negated and not operand.absolute:
        return bits
    if kind not in _SIGNS:
        raise parts.fail("an integer operand has a sign's modifier")
    one = f"((u64)1 << {_SIGNS[kind]})" if _SIGNS[kind] == 63 else f"(1u << {_SIGNS[kind]})"
    if operand.absolute:
        bits = f"({bits} & ~{one})"
    return f"({bits} ^ {one})" if operand.negated else bits


def from_bits(bits: str, kind: str) -> str:
    """The value of bits as a type."""
    if kind in ("bf16", "b16"):
        bits = f"({bits} & 0xffff)"
    return f"{_FROM_BITS[kind]}({bits})" if kind in _FROM_BITS else bits


def to_bits(value: str, kind: str) -> str:
    """The bits of a value of a type, as u32 or u64."""
    if kind in _TO_BITS:
        return f"{_TO_BITS[kind]}({value})"
    if kind in ("u16", "i16", "b16"):
        return f"((u32)({value}) & 0xffff)"
    return f"(u64)({value})" if width_of(kind) == 64 else f"(u32)({value})"


def is_float(kind: str) -> bool:
    """Whether clamping means to [0, 1]."""
    return kind in ("f16", "f32", "f64", "bf16")
