"""Branches, waits, barriers and what else steers a wave (CDNA3 ISA, chapters 4.4 and 12.5)."""

from __future__ import annotations

import re

from dslc.runtime.hip_emulator.function import Parts
from dslc.runtime.hip_emulator.operands import EXEC, SCC, VCC, Constant, Name, Register

_BRANCHES: dict[str, tuple[Register | None, str]] = {
    "s_branch": (None, "1"),
    "s_cbranch_scc0": (Register(False, SCC, 1), f"!w->s[{SCC}]"),
    "s_cbranch_scc1": (Register(False, SCC, 1), f"w->s[{SCC}]"),
    "s_cbranch_vccz": (Register(False, VCC, 2), f"!pair(w, {VCC})"),
    "s_cbranch_vccnz": (Register(False, VCC, 2), f"pair(w, {VCC})"),
    "s_cbranch_execz": (Register(False, EXEC, 2), f"!pair(w, {EXEC})"),
    "s_cbranch_execnz": (Register(False, EXEC, 2), f"pair(w, {EXEC})"),
}
_NOTHING = {
    "s_nop", "s_setprio", "s_inst_prefetch", "s_icache_inv", "s_dcache_inv", "s_dcache_wb",
    "s_dcache_inv_vol", "s_dcache_wb_vol", "buffer_wbl2", "buffer_inv", "buffer_wbinvl1",
    "buffer_wbinvl1_vol", "s_code_end", "v_nop", "s_ttracedata", "s_incperflevel",
    "s_decperflevel", "v_clrexcp", "ds_nop", "s_wakeup",
}  # fmt: skip
_KINDS = {
    "s_barrier": "BARRIER",
    "s_endpgm": "END",
    "s_sleep": "SLEEP",
    "s_trap": "TRAP",
    "s_endpgm_saved": "END",
}
_COUNTER = re.compile(r"(\w+)\((\d+|0x[0-9a-fA-F]+)\)")
_MOST = 0xFFFF


def control(parts: Parts, labels: dict[str, int]) -> bool:
    """Fill in `parts` where the instruction is one of these; whether it is."""
    name = parts.instruction.mnemonic
    if name in _BRANCHES:
        _branch(parts, labels)
    elif name in _NOTHING:
        parts.kind = "NOTHING"
    elif name in _KINDS:
        parts.kind = _KINDS[name]
    elif name == "s_waitcnt":
        _wait(parts)
    elif name in ("s_memtime", "s_memrealtime"):
        _clock(parts)
    else:
        return False
    return True


def _branch(parts: Parts, labels: dict[str, int]) -> None:
    target = parts.instruction.operands[0].value
    if not isinstance(target, Name) or target.text not in labels:
        raise parts.fail("it goes to a label that is not in the kernel")
    read, condition = _BRANCHES[parts.instruction.mnemonic]
    parts.kind = "BRANCH"
    if read:
        parts.reads.append(read)
    parts.fields["target"] = str(labels[target.text])
    parts.lines.append(f"if ({condition}) w->pc = i->target;")


def _wait(parts: Parts) -> None:
    """The counters in words, or the 16 bits of gfx9: vmcnt has bits 3:0 and 15:14, lgkmcnt 11:8."""
    counts = {"vmcnt": _MOST, "lgkmcnt": _MOST, "expcnt": _MOST}
    for operand in parts.instruction.operands:
        if isinstance(operand.value, Constant):
            bits = int(operand.value.value)
            counts["vmcnt"] = (bits & 15) | (bits >> 14 & 3) << 4
            counts["lgkmcnt"] = bits >> 8 & 15
            if counts["lgkmcnt"] == 15:
                counts["lgkmcnt"] = _MOST
            if counts["vmcnt"] == 63:
                counts["vmcnt"] = _MOST
            continue
        for word in re.split(
            r"[\s&]+", operand.value.text if isinstance(operand.value, Name) else ""
        ):
            match = _COUNTER.fullmatch(word)
            if not match or match[1] not in counts:
                raise parts.fail("the emulator does not know this counter")
            counts[match[1]] = int(match[2], 0)
    parts.kind = "WAIT"
    parts.fields |= {"vm": str(counts["vmcnt"]), "lgkm": str(counts["lgkmcnt"])}


def _clock(parts: Parts) -> None:
    register = parts.expect(parts.instruction.operands[0], 2)
    parts.writes.append(register)
    parts.lines.append(f"set_pair(w, {parts.register(register)}, ++w->clock);")
