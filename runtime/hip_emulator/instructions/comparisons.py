"""Vector comparisons, VOPC: v_cmp gives a mask, v_cmpx sets EXEC too (CDNA3 ISA, chapter 12.11)."""

from __future__ import annotations

from dslc.runtime.hip_emulator.instructions.table import Entry, read_table

_INTEGER = {
    "f": "false",
    "lt": "a < b",
    "eq": "a == b",
    "le": "a <= b",
    "gt": "a > b",
    "ne": "a != b",
    "ge": "a >= b",
    "t": "true",
}
_ORDERED = "(a == a && b == b)"
_FLOAT = {
    "f": "false", "lt": "a < b", "eq": "a == b", "le": "a <= b", "gt": "a > b",
    "lg": "a < b || a > b", "ge": "a >= b", "o": _ORDERED, "u": f"!{_ORDERED}", "nge": "!(a >= b)",
    "nlg": "!(a < b || a > b)", "ngt": "!(a > b)", "nle": "!(a <= b)", "neq": "!(a == b)",
    "nlt": "!(a < b)", "tru": "true",
}  # fmt: skip
_LEAST = {"f16": "0x1p-14", "f32": "0x1p-126", "f64": "0x1p-1022"}
_QUIET = {
    "f16": "bits_f16(a) >> 9 & 1",
    "f32": "bits_f32(a) >> 22 & 1",
    "f64": "bits_f64(a) >> 51 & 1",
}


def _lines() -> str:
    lines = []
    for kind in ("i16", "u16", "i32", "u32", "i64", "u64", "f16", "f32", "f64"):
        for name, formula in (_FLOAT if kind.startswith("f") else _INTEGER).items():
            lines.append(f"v_cmp_{name}_{kind} mask = {kind} {kind} : * d = {formula}")
            lines.append(f"v_cmpx_{name}_{kind} mask +exec = {kind} {kind} : * d = e = {formula}")
        if kind.startswith("f"):
            test = f"in_class(a, {_QUIET[kind]}, {_LEAST[kind]}, b)"
            lines.append(f"v_cmp_class_{kind} mask = {kind} u32 : * d = {test}")
            lines.append(f"v_cmpx_class_{kind} mask +exec = {kind} u32 : * d = e = {test}")
    return "\n".join(lines)


TABLE: dict[str, Entry] = read_table(_lines())
