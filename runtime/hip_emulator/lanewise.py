"""Vector and scalar instructions of the tables as C functions: modifiers, SDWA and DPP included."""

from __future__ import annotations

import re
from dataclasses import dataclass

from dslc.runtime.hip_emulator.constants import width_of
from dslc.runtime.hip_emulator.function import (
    CTYPES,
    IMPLICIT,
    Parts,
    from_bits,
    is_float,
    signed,
    to_bits,
)
from dslc.runtime.hip_emulator.instructions.table import RESULT_NAMES, SOURCE_NAMES, Entry, Type
from dslc.runtime.hip_emulator.operands import Operand

_SELECTIONS = {
    "BYTE_0": 0,
    "BYTE_1": 1,
    "BYTE_2": 2,
    "BYTE_3": 3,
    "WORD_0": 4,
    "WORD_1": 5,
    "DWORD": 6,
}
_DPP = {
    "row_shl": 0x100,
    "row_shr": 0x110,
    "row_ror": 0x120,
    "row_newbcast": 0x150,
    "row_share": 0x150,
}
_DPP_FIXED = {
    "wave_shl": 0x130,
    "wave_rol": 0x134,
    "wave_shr": 0x138,
    "wave_ror": 0x13C,
    "row_mirror": 0x140,
    "row_half_mirror": 0x141,
}
_OMOD = {("mul", "2"): "2", ("mul", "4"): "4", ("div", "2"): "0.5f"}
_KNOWN = {
    "clamp", "mul", "div", "op_sel", "dst_sel", "dst_unused", "src0_sel", "src1_sel", "row_mask",
    "bank_mask", "bound_ctrl", "quad_perm", "row_bcast", "bitop3", "byte_sel", *_DPP, *_DPP_FIXED,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Slot:
    """A source or result: its type, its operand (None: implicit), its name in the body."""

    type: Type
    operand: Operand | None
    name: str


def numbers(parts: Parts, modifier: str, default: list[int]) -> list[int]:
    """A modifier such as op_sel:[0,1]."""
    text = parts.instruction.modifiers.get(modifier)
    return [int(w, 0) for w in text.strip("[]").split(",")] if text is not None else default


def slots_of(parts: Parts, entry: Entry) -> tuple[list[_Slot], list[_Slot]]:
    """The results and the sources of an instruction with their operands."""
    operands = list(parts.instruction.operands)
    results, sources = [], []
    for type_, name in zip(entry.results, RESULT_NAMES, strict=False):
        results.append(_Slot(type_, None if type_.implicit else parts.next_operand(operands), name))
    for type_, name in zip(entry.sources, SOURCE_NAMES, strict=False):
        if type_.kept:
            sources.append(_Slot(type_, results[0].operand, name))
        else:
            sources.append(
                _Slot(type_, None if type_.implicit else parts.next_operand(operands), name)
            )
    if operands:
        raise parts.fail("it has more operands than the emulator knows of it")
    return results, sources


def scalar(parts: Parts, entry: Entry) -> None:
    """A scalar instruction: once for the wave."""
    results, sources = slots_of(parts, entry)
    for slot in sources:
        _scalar_source(parts, slot)
    for slot in results:
        parts.lines.append(f"{CTYPES[slot.type.name]} {slot.name};")
    parts.lines.append(f"{{ {entry.statements}; }}")
    for slot in results:
        _scalar_result(parts, slot)
    if entry.strict:
        parts.flags.add("STRICT")


def _scalar_source(parts: Parts, slot: _Slot) -> None:
    kind = slot.type.name
    if slot.operand is None:
        parts.fetch_implicit(slot.name, kind)
        return
    bits = parts.fetch(f"{slot.name}_", slot.operand, kind)
    bits = signed(parts, bits, kind, slot.operand)
    parts.lines.append(f"const {CTYPES[kind]} {slot.name} = {from_bits(bits, kind)};")


def _scalar_result(parts: Parts, slot: _Slot) -> None:
    kind = slot.type.name
    if slot.operand is None:
        register = IMPLICIT[kind]
        at = str(register.at)
    else:
        register = parts.expect(slot.operand, width_of(kind) // 32 or 1)
        at = parts.register(register)
    if register.vector:
        raise parts.fail("a scalar result in a vector register")
    parts.writes.append(register)
    if register.count == 2:
        parts.lines.append(f"set_pair(w, {at}, (u64){slot.name});")
    else:
        bits = slot.name if slot.operand is None else to_bits(slot.name, kind)
        parts.lines.append(f"w->s[{at}] = (u32)({bits});")


def whole(parts: Parts, entry: Entry, all_lanes: bool) -> None:
    """An instruction that runs once for the wave and sees all lanes of its registers."""
    results, sources = slots_of(parts, entry)
    parts.lines.append("const u64 exec = exec_of(w); (void)exec;")
    for slot in sources:
        assert slot.operand is not None
        if slot.type.name == "lanes" and (register := slot.operand.register) and register.vector:
            parts.reads.append(parts.expect(slot.operand, 1))
            parts.lines.append(f"const u32 *const {slot.name} = w->v[{parts.register(register)}];")
        elif slot.type.name == "lanes":
            raise parts.fail("the emulator knows it with a vector register alone")
        else:
            parts.fetch(slot.name, slot.operand, "u32")
    scalars = []
    for slot in results:
        assert slot.operand is not None
        register = parts.expect(slot.operand, 1)
        parts.writes.append(register)
        if slot.type.name == "lanes":
            parts.reads.append(register)
            parts.lines.append(f"u32 *const {slot.name} = w->v[{parts.register(register)}];")
        else:
            parts.lines.append(f"u32 {slot.name};")
            scalars.append((parts.register(register), slot.name))
    parts.lines.append(f"{{ {entry.statements}; }}")
    parts.lines += [f"w->s[{at}] = {name};" for at, name in scalars]
    if all_lanes:
        parts.flags.add("ALL")


def lanewise(parts: Parts, entry: Entry) -> None:
    """A vector instruction of a table: a loop over lanes, its results put where EXEC is."""
    modifiers = parts.instruction.modifiers
    if unknown := set(modifiers) - _KNOWN:
        raise parts.fail(f"the emulator does not know the modifier {sorted(unknown)[0]}")
    results, sources = slots_of(parts, entry)
    parts.lines.append("const u64 exec = exec_of(w);")
    shuffled = _dpp_control(parts)
    loop: list[str] = []
    printed = 0
    for slot in sources:
        if slot.operand is None:
            bits = parts.fetch_implicit(f"{slot.name}_", slot.type.name)
            loop.append(f"const bool {slot.name} = {bits} >> l & 1;")
            continue
        if slot.type.name == "mask":
            bits = parts.fetch(f"{slot.name}_", slot.operand, "u64")
            loop.append(f"const bool {slot.name} = {bits} >> l & 1;")
            continue
        loop.append(_source(parts, slot, printed, shuffled if printed == 0 else None))
        printed += not slot.type.kept
    mask = "mask" if shuffled is not None else "exec"
    keeps = shuffled is not None or modifiers.get("dst_unused") == "UNUSED_PRESERVE"
    before, after = [], []
    for slot in results:
        loop.append(f"{CTYPES['mask' if slot.operand is None else slot.type.name]} {slot.name};")
    loop.append(f"{{ {_macros(parts, entry.statements)}; }}")
    for number, slot in enumerate(results):
        first, each, last = _result(parts, slot, printed, keeps, mask, number)
        before += first
        loop += each
        after += last
    parts.lines += [*before, "FOR_LANES {", *("  " + line for line in loop), "}", *after]
    if entry.strict:
        parts.flags.add("STRICT")


def _source(parts: Parts, slot: _Slot, number: int, shuffled: str | None) -> str:
    """The line that declares a source of the body in the loop."""
    assert slot.operand is not None
    kind, modifiers = slot.type.name, parts.instruction.modifiers
    bits = parts.fetch(f"{slot.name}_", slot.operand, kind)
    register = slot.operand.register
    if shuffled is not None:
        if register is None or not register.vector:
            raise parts.fail("DPP takes a vector register")
        halves = register.count
        parts.lines.append(f"u32 moved[{halves} * LANES];")
        parts.lines.append("u64 mask = exec;")
        for half in range(halves):
            at = f"{half} * LANES"
            parts.lines.append(f"mask = dpp(moved + {at}, {slot.name}_ + {at}, exec, {shuffled});")
        bits = bits.replace(f"{slot.name}_[", "moved[")
    selection = modifiers.get(f"src{number}_sel") if not slot.type.kept else None
    if selection not in (None, "DWORD"):
        sign = "true" if slot.operand.extended else "false"
        bits = f"selected({bits}, {_SELECTIONS[str(selection)]}, {sign})"
    elif width_of(kind) == 16 and not slot.type.kept:
        chosen = numbers(parts, "op_sel", [])
        if number < len(chosen) and chosen[number]:
            bits = f"({bits} >> 16)"
    bits = signed(parts, bits, kind, slot.operand)
    return f"const {CTYPES[kind]} {slot.name} = {from_bits(bits, kind)};"


def _result(
    parts: Parts, slot: _Slot, sources: int, keeps: bool, mask: str, number: int
) -> tuple[list[str], list[str], list[str]]:
    """Lines ahead of the loop, in it and after it."""
    kind, name, modifiers = slot.type.name, slot.name, parts.instruction.modifiers
    if slot.operand is None or kind == "mask":
        register = IMPLICIT["exec"] if slot.operand is None else parts.expect(slot.operand, 2)
        parts.writes.append(register)
        at = str(register.at) if slot.operand is None else parts.register(register)
        return (
            [f"u64 {name}_mask = 0;"],
            [f"{name}_mask |= (u64)({name} != 0) << l;"],
            [f"set_pair(w, {at}, {name}_mask & {mask});"],
        )
    words = max(width_of(kind), 32) // 32
    register = parts.expect(slot.operand, words)
    if not register.vector:
        raise parts.fail("a vector result in a scalar register")
    at = parts.register(register)
    if keeps:
        parts.reads.append(register)
    parts.writes.append(register)
    before = [f"u32 {name}_out[{words}][LANES];"]
    each = _finished(parts, kind, name)
    bits = to_bits(name, kind)
    selection = modifiers.get("dst_sel", "DWORD")
    chosen = numbers(parts, "op_sel", [])
    if selection != "DWORD":
        unused = modifiers.get("dst_unused", "UNUSED_PAD").removeprefix("UNUSED_")
        bits = f"placed({bits}, w->v[{at}][l], {_SELECTIONS[selection]}, {unused})"
    elif len(chosen) > sources and chosen[-1] and width_of(kind) == 16:
        if not keeps:
            parts.reads.append(register)
        bits = f"((w->v[{at}][l] & 0xffff) | {bits} << 16)"
    if words == 2:
        each += [f"const u64 {name}_bits = {bits};", f"{name}_out[0][l] = (u32){name}_bits;"]
        each.append(f"{name}_out[1][l] = (u32)({name}_bits >> 32);")
    else:
        each.append(f"{name}_out[0][l] = {bits};")
    after = [f"set_lanes(w->v[{at}] + {k} * LANES, {name}_out[{k}], {mask});" for k in range(words)]
    return before, each, after


def _finished(parts: Parts, kind: str, name: str) -> list[str]:
    """A float result's output modifiers."""
    modifiers = parts.instruction.modifiers
    lines: list[str] = []
    if not is_float(kind):
        return lines
    for (word, value), factor in _OMOD.items():
        if modifiers.get(word) == value:
            lines.append(f"{name} *= {factor};")
    if "clamp" in modifiers:
        lines.append(f"{name} = {name} > 0 ? ({name} < 1 ? {name} : 1) : 0;")
    return lines


def _macros(parts: Parts, body: str) -> str:
    """The words of a body that modifiers decide.

    What op_sel says of the result comes after what it says of the sources; of bytes it has two bits.
    """
    chosen = [*numbers(parts, "op_sel", []), 0, 0, 0, 0]
    given = len(numbers(parts, "op_sel", []))
    words = {
        "TRUTH": parts.instruction.modifiers.get("bitop3", "0"),
        "FROM_WORD": str(chosen[0]),
        "FROM_BYTE": str(chosen[0] + 2 * chosen[1]),
        "TO_WORD": str(chosen[given - 1] if given > 2 else 0),
        "TO_BYTE": str(chosen[2] + 2 * chosen[3]),
    }
    return re.sub(rf"\b({'|'.join(words)})\b", lambda m: words[m[1]], body)


def _dpp_control(parts: Parts) -> str | None:
    """The arguments of dpp() after EXEC, or None where lanes read their own."""
    modifiers = parts.instruction.modifiers
    control = None
    if "quad_perm" in modifiers:
        lanes = numbers(parts, "quad_perm", [])
        control = sum(lane << 2 * k for k, lane in enumerate(lanes))
    for name, code in _DPP.items():
        if name in modifiers:
            control = code + int(modifiers[name], 0)
    for name, code in _DPP_FIXED.items():
        if name in modifiers:
            control = code
    if "row_bcast" in modifiers:
        control = 0x142 if modifiers["row_bcast"] == "15" else 0x143
    if control is None:
        return None
    masks = [int(modifiers.get(m, "0xf"), 0) for m in ("row_mask", "bank_mask")]
    zero = "true" if "bound_ctrl" in modifiers else "false"
    return f"{control:#x}, {masks[0]:#x}, {masks[1]:#x}, {zero}"
