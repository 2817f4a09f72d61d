"""Memory instructions by their names: what is accessed, in which elements, and what atomics do.

Global, flat, scratch, buffer (CDNA3 ISA, chapters 9.1 and 9.2), LDS (chapter 11) and scalar loads
(chapter 8); gfx950's wide copies to LDS and transposed reads (CDNA4 ISA, chapters 9 and 11).
"""

# ruff: noqa: E501 - an instruction is a line of a table

from __future__ import annotations

import re
from dataclasses import dataclass

_WIDE = {"dword": 4, "dwordx2": 8, "dwordx3": 12, "dwordx4": 16}
_NARROW = {
    "ubyte": (1, "ZERO"),
    "sbyte": (1, "SIGN"),
    "ushort": (2, "ZERO"),
    "sshort": (2, "SIGN"),
    "ubyte_d16": (1, "LOW_HALF"),
    "ubyte_d16_hi": (1, "HIGH_HALF"),
    "sbyte_d16": (1, "LOW_HALF_SIGN"),
    "sbyte_d16_hi": (1, "HIGH_HALF_SIGN"),
    "short_d16": (2, "LOW_HALF"),
    "short_d16_hi": (2, "HIGH_HALF"),
}
_NARROW_STORES = {
    "byte": (1, "ZERO"),
    "byte_d16_hi": (1, "HIGH_HALF"),
    "short": (2, "ZERO"),
    "short_d16_hi": (2, "HIGH_HALF"),
}
_LDS_NARROW = {
    "u8": (1, "ZERO"), "i8": (1, "SIGN"), "u16": (2, "ZERO"), "i16": (2, "SIGN"),
    "u8_d16": (1, "LOW_HALF"), "u8_d16_hi": (1, "HIGH_HALF"), "i8_d16": (1, "LOW_HALF_SIGN"),
    "i8_d16_hi": (1, "HIGH_HALF_SIGN"), "u16_d16": (2, "LOW_HALF"), "u16_d16_hi": (2, "HIGH_HALF"),
}  # fmt: skip
_LDS_NARROW_STORES = {
    "b8": (1, "ZERO"),
    "b8_d16_hi": (1, "HIGH_HALF"),
    "b16": (2, "ZERO"),
    "b16_d16_hi": (2, "HIGH_HALF"),
}
_BITS = {"b32": 4, "b64": 8, "b96": 12, "b128": 16}


@dataclass(frozen=True, slots=True)
class Atomic:
    """What a memory cell of a C type becomes: `m` is what it holds, `a` and `b` are the operands."""

    ctype: str
    formula: str
    operands: int = 1

    @property
    def bytes(self) -> int:
        """Of the cell."""
        return 8 if self.ctype.endswith("64") or self.ctype == "double" else 4


@dataclass(frozen=True, slots=True)
class Memory:
    """An instruction: `count` elements of `bytes` a lane; `form` says how its operands are written."""

    space: str
    action: str
    bytes: int
    form: str
    extend: str = "ZERO"
    count: int = 1
    stride: int = 1
    atomic: Atomic | None = None
    returns: bool = False
    bits: int = 0


_PAIR = "(u32)bits_{t}({t}_of(m & 0xffff) + {t}_of(a & 0xffff)) | bits_{t}({t}_of(m >> 16) + {t}_of(a >> 16)) << 16"
_FORMULAS = {
    "swap": "a", "add": "m + a", "sub": "m - a", "rsub": "a - m", "and": "m & a", "or": "m | a",
    "xor": "m ^ a", "inc": "m >= a ? 0 : m + 1", "dec": "m == 0 || m > a ? a : m - 1",
}  # fmt: skip
_MINIMUM, _MAXIMUM = "a < m ? a : m", "a > m ? a : m"
_FLOATS = {
    "add_f32": Atomic("float", "m + a"),
    "add_f64": Atomic("double", "m + a"),
    "min_f64": Atomic("double", "fmin(m, a)"),
    "max_f64": Atomic("double", "fmax(m, a)"),
    "min_f32": Atomic("float", "min_f32(a, m)"),
    "max_f32": Atomic("float", "max_f32(a, m)"),
    "pk_add_f16": Atomic("u32", _PAIR.format(t="f16")),
    "pk_add_bf16": Atomic("u32", _PAIR.format(t="bf16")),
}


def _global_atomic(name: str) -> Atomic | None:
    if name in _FLOATS:
        return _FLOATS[name]
    width = "64" if name.endswith("_x2") else "32"
    name = name.removesuffix("_x2")
    if name == "cmpswap":
        return Atomic(f"u{width}", "m == b ? a : m", 2)
    if name in ("smin", "smax"):
        return Atomic(f"i{width}", _MINIMUM if name == "smin" else _MAXIMUM)
    if name in ("umin", "umax"):
        return Atomic(f"u{width}", _MINIMUM if name == "umin" else _MAXIMUM)
    return Atomic(f"u{width}", _FORMULAS[name]) if name in _FORMULAS and name != "rsub" else None


def _lds_atomic(name: str) -> Atomic | None:
    if name in _FLOATS:
        return _FLOATS[name]
    match = re.match(r"(\w+)_([ubi])(32|64)$", name)
    if not match:
        return None
    verb, sign, width = match.groups()
    ctype = ("i" if sign == "i" else "u") + width
    if verb in ("min", "max"):
        return Atomic(ctype, _MINIMUM if verb == "min" else _MAXIMUM)
    if verb == "cmpst":
        return Atomic(ctype, "m == a ? b : m", 2)
    verb = {"wrxchg": "swap"}.get(verb, verb)
    return Atomic("u" + width, _FORMULAS[verb]) if verb in _FORMULAS else None


def _vector(space: str, form: str, rest: str) -> Memory | None:
    verb, _, what = rest.partition("_")
    if verb == "load" and what.startswith("lds_"):
        what = what.removeprefix("lds_")
        return Memory(space, "TO_LDS", _WIDE[what], form) if what in _WIDE else None
    if verb == "load" and what in _WIDE:
        return Memory(space, "LOAD", _WIDE[what], form)
    if verb == "load" and what in _NARROW:
        return Memory(space, "LOAD", _NARROW[what][0], form, _NARROW[what][1])
    if verb == "store" and what in _WIDE:
        return Memory(space, "STORE", _WIDE[what], form)
    if verb == "store" and what in _NARROW_STORES:
        return Memory(space, "STORE", _NARROW_STORES[what][0], form, _NARROW_STORES[what][1])
    if verb == "atomic" and (atomic := _global_atomic(what)):
        return Memory(space, "ATOMIC", atomic.bytes, form, atomic=atomic)
    return None


def _lds(rest: str) -> Memory | None:
    if rest in ("bpermute_b32", "permute_b32", "swizzle_b32"):
        return Memory("LDS", "PERMUTE", 4, rest.removesuffix("_b32"))
    if match := re.match(r"read_b(64|96)_tr_b(4|6|8|16)$", rest):
        return Memory("LDS", "LOAD", int(match[1]) // 8, "lds", "TRANSPOSE", bits=int(match[2]))
    if match := re.match(r"(read|write)2(st64)?_(b32|b64)$", rest):
        action = "LOAD" if match[1] == "read" else "STORE"
        size = _BITS[match[3]]
        return Memory("LDS", action, size, "lds", count=2, stride=size * (64 if match[2] else 1))
    verb, _, what = rest.partition("_")
    if verb == "read" and (what in _BITS or what in _LDS_NARROW):
        size, extend = _LDS_NARROW.get(what, (_BITS.get(what, 0), "ZERO"))
        return Memory("LDS", "LOAD", size, "lds", extend)
    if verb == "write" and (what in _BITS or what in _LDS_NARROW_STORES):
        size, extend = _LDS_NARROW_STORES.get(what, (_BITS.get(what, 0), "ZERO"))
        return Memory("LDS", "STORE", size, "lds", extend)
    name, returns = rest.replace("_rtn_", "_"), "_rtn_" in rest
    if atomic := _lds_atomic(name):
        return Memory("LDS", "ATOMIC", atomic.bytes, "lds", atomic=atomic, returns=returns)
    return None


def find_memory(mnemonic: str) -> Memory | None:
    """The memory instruction of a name, or None."""
    head, _, rest = mnemonic.partition("_")
    match head:
        case "global" | "flat" | "scratch":
            return _vector(head.upper(), head, rest)
        case "buffer":
            return _vector("BUFFER", "buffer", rest)
        case "ds":
            return _lds(rest)
    if match := re.match(r"s_(buffer_)?load_dword(?:x(2|4|8|16))?$", mnemonic):
        return Memory("SCALAR", "LOAD", 4 * int(match[2] or 1), "buffer" if match[1] else "scalar")
    return None
