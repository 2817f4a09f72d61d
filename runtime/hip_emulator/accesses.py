"""Memory instructions of a text as accesses of the machine: operands by role, offsets, atomics."""

from __future__ import annotations

import re

from dslc.runtime.hip_emulator.function import Parts
from dslc.runtime.hip_emulator.instructions.memory import Memory
from dslc.runtime.hip_emulator.operands import M0, Constant, Name, Operand, Register

_NONE = 0xFFFF
_CACHES = {"sc0", "sc1", "nt", "glc", "slc", "scc"}
_COHERENT = {"sc1", "glc"}  # of atomic loads: they see what other compute units have written
_KNOWN = {"offset", "offset0", "offset1", "offen", "idxen", "lds", "gds", *_CACHES}
_SWIZZLE = "EXPORTED u32 NAME(u32 lane, u32 pattern) { return ds_swizzle(lane, pattern); }"
RESULT, ADDRESS, DATA, RESOURCE, SCALAR_OFFSET, DATA1 = range(6)


def access(parts: Parts, memory: Memory) -> dict[str, str]:
    """Fill in `parts` for a memory instruction; gives its Access, functions by their C."""
    instruction = parts.instruction
    if unknown := set(instruction.modifiers) - _KNOWN:
        raise parts.fail(f"the emulator does not know the modifier {sorted(unknown)[0]}")
    parts.kind = "ACCESS"
    parts.registers = [_NONE] * 6
    fields = {"space": memory.space, "action": memory.action, "extend": memory.extend}
    fields |= {"bytes": str(memory.bytes), "count": str(memory.count)}
    to_lds = memory.action == "TO_LDS" or "lds" in instruction.modifiers
    if to_lds:
        fields["action"] = "TO_LDS"
        parts.reads.append(Register(False, M0, 1))
    operands = list(instruction.operands)
    if memory.form == "scalar" or memory.space == "SCALAR":
        _scalar(parts, memory, operands, fields)
    elif memory.space == "LDS":
        _lds(parts, memory, operands, fields)
    elif memory.form == "buffer":
        _buffer(parts, memory, operands, fields, to_lds)
    else:
        _addressed(parts, memory, operands, fields, to_lds)
    if operands:
        raise parts.fail("it has more operands than the emulator knows of it")
    if memory.atomic:
        fields["combine"] = _combine(parts, memory)
        if memory.space != "LDS":
            fields["count"] = str(memory.atomic.operands)
    fields.setdefault("offset", instruction.modifiers.get("offset", "0"))
    return fields


def _words(memory: Memory) -> int:
    return (memory.bytes + 3) // 4


def _use(parts: Parts, role: int, operand: Operand, count: int) -> None:
    """An operand that is read."""
    register = parts.expect(operand, count)
    parts.registers[role] = register.at
    parts.reads.append(register)


def _result(parts: Parts, operand: Operand, count: int, keeps: bool = False) -> None:
    register = parts.expect(operand, count)
    parts.registers[RESULT] = register.at
    parts.writes.append(register)
    if keeps:
        parts.reads.append(register)


def _is_off(operand: Operand) -> bool:
    return operand.value == Name("off")


def _addressed(
    parts: Parts, memory: Memory, operands: list[Operand], fields: dict[str, str], to_lds: bool
) -> None:
    """Global, flat and scratch: [result], address, [data], [base]."""
    returns = memory.action == "ATOMIC" and "sc0" in parts.instruction.modifiers
    result = None
    if (memory.action == "LOAD" and not to_lds) or returns:
        result = parts.next_operand(operands)
    address = parts.next_operand(operands)
    if memory.action in ("STORE", "ATOMIC"):
        data = parts.next_operand(operands)
        count = _words(memory) * (memory.atomic.operands if memory.atomic else 1)
        _use(parts, DATA, data, count)
    base = parts.next_operand(operands) if memory.space != "FLAT" else None
    scratch = memory.space == "SCRATCH"
    if base is not None and not _is_off(base):
        _use(parts, RESOURCE, base, 1 if scratch else 2)
    based = parts.registers[RESOURCE] != _NONE
    if not _is_off(address):
        _use(parts, ADDRESS, address, 1 if scratch or based else 2)
    if result is not None:
        half = "HALF" in memory.extend
        _result(parts, result, _words(memory), keeps=half)
    if returns:
        fields["returns"] = "1"
    if memory.action == "LOAD" and _COHERENT & set(parts.instruction.modifiers):
        fields["coherent"] = "1"


def _buffer(
    parts: Parts, memory: Memory, operands: list[Operand], fields: dict[str, str], to_lds: bool
) -> None:
    """Buffer: [data or result], address or off, resource, scalar offset."""
    modifiers = parts.instruction.modifiers
    words = _words(memory)
    data = None if to_lds and len(operands) == 3 else parts.next_operand(operands)
    address, resource, offset = (parts.next_operand(operands) for _ in range(3))
    index, offen = "idxen" in modifiers, "offen" in modifiers
    fields |= {"offen": str(int(offen)), "idxen": str(int(index))}
    if not _is_off(address):
        _use(parts, ADDRESS, address, index + offen)
    _use(parts, RESOURCE, resource, 4)
    if offset.register is None:
        assert isinstance(offset.value, Constant)
        parts.literals.append(int(offset.value.value) & 0xFFFFFFFF)
    else:
        _use(parts, SCALAR_OFFSET, offset, 1)
    if to_lds or data is None or _is_off(data):
        return
    if memory.action == "LOAD":
        _result(parts, data, words, keeps="HALF" in memory.extend)
        return
    count = words * (memory.atomic.operands if memory.atomic else 1)
    _use(parts, DATA, data, count)
    if memory.action == "ATOMIC" and "sc0" in modifiers:
        register = parts.expect(data, count)
        parts.registers[RESULT] = register.at
        parts.writes.append(Register(True, register.at, words))
        fields["returns"] = "1"


def _lds(parts: Parts, memory: Memory, operands: list[Operand], fields: dict[str, str]) -> None:
    modifiers = parts.instruction.modifiers
    if memory.action == "PERMUTE":
        _permute(parts, memory, operands, fields)
        return
    words = _words(memory)
    half = "HALF" in memory.extend
    if memory.action == "LOAD" or memory.returns:
        _result(parts, parts.next_operand(operands), words * memory.count, keeps=half)
    _use(parts, ADDRESS, parts.next_operand(operands), 1)
    if memory.action == "STORE":
        _use(parts, DATA, parts.next_operand(operands), words)
        if memory.count == 2:
            _use(parts, DATA1, parts.next_operand(operands), words)
    if memory.atomic:
        _use(parts, DATA, parts.next_operand(operands), words)
        if memory.atomic.operands == 2:
            _use(parts, DATA1, parts.next_operand(operands), words)
        fields["returns"] = str(int(memory.returns))
    if memory.count == 2:
        for k in (0, 1):
            offset = int(modifiers.get(f"offset{k}", "0"), 0) * memory.stride
            fields["offset" if k == 0 else "offset1"] = str(offset)
    if memory.extend == "TRANSPOSE":
        parts.literals += [0, memory.bits]


def _permute(parts: Parts, memory: Memory, operands: list[Operand], fields: dict[str, str]) -> None:
    _result(parts, parts.next_operand(operands), 1)
    if memory.form == "swizzle":
        _use(parts, DATA, parts.next_operand(operands), 1)
        pattern = parts.instruction.modifiers.get("offset", "0")
        fields["offset"] = str(swizzle_code(parts, pattern))
        fields["permute"] = _SWIZZLE
        return
    _use(parts, ADDRESS, parts.next_operand(operands), 1)
    _use(parts, DATA, parts.next_operand(operands), 1)
    fields["idxen"] = str(int(memory.form == "permute"))


def swizzle_code(parts: Parts, text: str) -> int:
    """The 16 bits of ds_swizzle's pattern: a number, or swizzle(KIND, ...)."""
    match = re.match(r"swizzle\((\w+),\s*(.*)\)$", text)
    if not match:
        return int(text, 0)
    kind, rest = match[1], [w.strip().strip('"') for w in match[2].split(",")]
    match kind:
        case "QUAD_PERM":
            return 0x8000 | sum(int(lane, 0) << 2 * k for k, lane in enumerate(rest))
        case "SWAP":
            return 0x1F | int(rest[0], 0) << 10
        case "REVERSE":
            return 0x1F | (int(rest[0], 0) - 1) << 10
        case "BROADCAST":
            size, lane = (int(w, 0) for w in rest)
            return (32 - size) & 0x1F | lane << 5
        case "BITMASK_PERM":
            masks = [0, 0, 0]
            for k, sign in enumerate(rest[0]):
                bit = 1 << (4 - k)
                masks[0] |= bit if sign in "pi" else 0
                masks[1] |= bit if sign == "1" else 0
                masks[2] |= bit if sign == "i" else 0
            return masks[0] | masks[1] << 5 | masks[2] << 10
    raise parts.fail(f"the emulator does not know the pattern {kind}")


def _scalar(parts: Parts, memory: Memory, operands: list[Operand], fields: dict[str, str]) -> None:
    _result(parts, parts.next_operand(operands), memory.bytes // 4)
    buffer = memory.form == "buffer"
    _use(parts, RESOURCE, parts.next_operand(operands), 4 if buffer else 2)
    fields["idxen"] = str(int(buffer))
    offset = parts.next_operand(operands)
    if offset.register is not None:
        _use(parts, SCALAR_OFFSET, offset, 1)
    else:
        assert isinstance(offset.value, Constant)
        fields["offset"] = str(int(offset.value.value))


def _combine(parts: Parts, memory: Memory) -> str:
    """The C function of an atomic."""
    atomic = memory.atomic
    assert atomic is not None
    copies = f"{atomic.ctype} m, a; memcpy(&m, memory, sizeof m); memcpy(&a, data, sizeof a);"
    if atomic.operands == 2:
        copies += f" {atomic.ctype} b; memcpy(&b, data1, sizeof b);"
    parts.lines.append(f"{copies} (void)data1; m = {atomic.formula}; memcpy(memory, &m, sizeof m);")
    return "COMBINE"
