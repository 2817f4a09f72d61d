"""Packed instructions and mixed-precision FMAs as C functions: op_sel says which half is taken."""

from __future__ import annotations

from dslc.runtime.hip_emulator.function import CTYPES, Parts, from_bits, is_float, signed, to_bits
from dslc.runtime.hip_emulator.instructions.table import SOURCE_NAMES, Entry
from dslc.runtime.hip_emulator.lanewise import numbers, slots_of
from dslc.runtime.hip_emulator.operands import Operand

_KNOWN = {"op_sel", "op_sel_hi", "neg_lo", "neg_hi", "clamp"}


def packed(parts: Parts, entry: Entry) -> None:
    """A VOP3P instruction: the entry's body once for each half of the result."""
    _check_modifiers(parts)
    results, sources = slots_of(parts, entry)
    kind = results[0].type.name
    wide = kind in ("f32", "b32")
    assert results[0].operand is not None
    register = parts.expect(results[0].operand, 2 if wide else 1)
    count = len(sources)
    low, high = numbers(parts, "op_sel", [0] * count), numbers(parts, "op_sel_hi", [1] * count)
    signs = numbers(parts, "neg_lo", [0] * count), numbers(parts, "neg_hi", [0] * count)
    fetched = [_fetch(parts, s.name, s.operand, wide) for s in sources if s.operand is not None]
    if parts.instruction.mnemonic.startswith("v_pk_mov"):
        low, high = [low[0], 0], [low[1], 0]
        fetched_high = fetched[::-1]
    else:
        fetched_high = fetched
    at = parts.register(register)
    parts.writes.append(register)
    body = ["u32 half[2];"]
    for number, (chosen, negated, bits) in enumerate(
        zip((low, high), signs, (fetched, fetched_high), strict=True)
    ):
        body.append("{")
        for k, slot in enumerate(sources):
            value = bits[k][chosen[k]]
            operand = Operand(slot.operand.value, bool(negated[k])) if slot.operand else None
            assert operand is not None
            value = signed(parts, value, slot.type.name, operand)
            body.append(
                f"  const {CTYPES[slot.type.name]} {slot.name} = {from_bits(value, slot.type.name)};"
            )
        body.append(f"  {CTYPES[kind]} d;")
        body.append(f"  {{ {entry.statements}; }}")
        if "clamp" in parts.instruction.modifiers and is_float(kind):
            body.append("  d = d > 0 ? (d < 1 ? d : 1) : 0;")
        body += [f"  half[{number}] = {to_bits('d', kind)};", "}"]
    parts.lines.append(f"u32 out[{register.count}][LANES];")
    if wide:
        body += ["out[0][l] = half[0];", "out[1][l] = half[1];"]
    else:
        body.append("out[0][l] = half[0] | half[1] << 16;")
    parts.lines += ["FOR_LANES {", *("  " + line for line in body), "}"]
    for k in range(register.count):
        parts.lines.append(f"set_lanes(w->v[{at}] + {k} * LANES, out[{k}], exec_of(w));")


def _fetch(parts: Parts, name: str, operand: Operand, wide: bool) -> tuple[str, str]:
    """The bits of a source's low and high half."""
    register = operand.register
    if not wide:
        bits = parts.fetch(f"{name}_", operand, "f16" if register is None else "u32")
        return f"({bits} & 0xffff)", f"({bits} >> 16)"
    if register is None:
        bits = parts.fetch(f"{name}_", operand, "f32")
        return bits, bits
    bits = parts.fetch(f"{name}_", operand, "u64")
    return f"(u32){bits}", f"(u32)({bits} >> 32)"


def mixed(parts: Parts, entry: Entry) -> None:
    """An FMA whose sources are f32, or f16 halves where op_sel_hi says so."""
    _check_modifiers(parts)
    results, sources = slots_of(parts, entry)
    assert results[0].operand is not None
    register = parts.expect(results[0].operand, 1)
    half, high = numbers(parts, "op_sel_hi", [0, 0, 0]), numbers(parts, "op_sel", [0, 0, 0])
    body = []
    for k, slot in enumerate(sources):
        assert slot.operand is not None
        bits = parts.fetch(f"{slot.name}_", slot.operand, "f16" if half[k] else "u32")
        value = f"f16_of({bits} >> {16 * high[k]})" if half[k] else f"f32_of({bits})"
        value = f"fabsf({value})" if slot.operand.absolute else value
        value = f"-{value}" if slot.operand.negated else value
        body.append(f"const float {SOURCE_NAMES[k]} = {value};")
    body += ["float d;", f"{{ {entry.statements}; }}"]
    if "clamp" in parts.instruction.modifiers:
        body.append("d = unit(d);")
    name, at = parts.instruction.mnemonic, parts.register(register)
    parts.writes.append(register)
    if "mix_f32" in name:
        body.append("out[l] = bits_f32(d);")
    else:
        parts.reads.append(register)
        old = f"w->v[{at}][l]"
        into = f"({old} & 0xffff) | bits_f16(d) << 16"
        if "mixlo" in name:
            into = f"({old} & 0xffff0000) | bits_f16(d)"
        body.append(f"out[l] = {into};")
    parts.lines += ["u32 out[LANES];", "FOR_LANES {", *("  " + line for line in body), "}"]
    parts.lines.append(f"set_lanes(w->v[{at}], out, exec_of(w));")


def _check_modifiers(parts: Parts) -> None:
    if unknown := set(parts.instruction.modifiers) - _KNOWN:
        raise parts.fail(f"the emulator does not know the modifier {sorted(unknown)[0]}")
