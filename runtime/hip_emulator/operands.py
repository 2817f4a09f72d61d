"""Operands and modifiers of an instruction's text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

FIRST_AGPR = 256
NAMED = {
    "vcc": (106, 2), "vcc_lo": (106, 1), "vcc_hi": (107, 1), "m0": (124, 1), "exec": (126, 2),
    "exec_lo": (126, 1), "exec_hi": (127, 1), "scc": (128, 1), "flat_scratch": (102, 2),
    "flat_scratch_lo": (102, 1), "flat_scratch_hi": (103, 1), "xnack_mask": (104, 2),
}  # fmt: skip
VCC, M0, EXEC, SCC = 106, 124, 126, 128
_APERTURES = {
    "src_shared_base": 0x1000000000000,
    "src_private_base": 0x2000000000000,
    "src_shared_limit": 0x1000000FFFFFFFF,
    "src_private_limit": 0x2000000FFFFFFFF,
}
_SINGLE = re.compile(r"([vas]|ttmp)(\d+)$")
_RANGE = re.compile(r"([vas]|ttmp)\[(\d+)(?::(\d+))?\]$")
_NUMBER = re.compile(r"-?(?:0[xX][0-9a-fA-F]+|\d+)$")
_FLOAT = re.compile(r"-?\d+\.\d*(?:[eE][-+]?\d+)?$")
_MODIFIER = re.compile(r"[a-z]\w*(?::(?:\[[^\]]*\]|\w+\([^)]*\)|[-\w]+))?")
_ALONE = {"s_waitcnt", "s_sendmsg", "s_getreg_b32", "s_setreg_b32", "s_setreg_imm32_b32"}


@dataclass(frozen=True, slots=True)
class Register:
    """`vector` registers from `at` on; AGPRs follow the VGPRs, at FIRST_AGPR."""

    vector: bool
    at: int
    count: int


@dataclass(frozen=True, slots=True)
class Constant:
    """A number in the text: what it means depends on the operand's type. Floats are as written."""

    value: int | float


@dataclass(frozen=True, slots=True)
class Name:
    """Any other word: `off`, a label, hwreg(...)."""

    text: str


@dataclass(frozen=True, slots=True)
class Operand:
    """A value and what is done to it when it is read."""

    value: Register | Constant | Name
    negated: bool = False
    absolute: bool = False
    extended: bool = False

    @property
    def register(self) -> Register | None:
        """The registers, where it is some."""
        return self.value if isinstance(self.value, Register) else None


def read_operands(mnemonic: str, text: str) -> tuple[tuple[Operand, ...], Mapping[str, str]]:
    """What follows a mnemonic; ValueError for what is no operand."""
    if not text:
        return (), {}
    if mnemonic.removesuffix("_e64") in _ALONE:
        return tuple(_operand(w) if not _is_call(w) else Operand(Name(w)) for w in _split(text)), {}
    words = _split(text)
    last, modifiers = _without_modifiers(words[-1])
    texts = [*words[:-1], *([last] if last else [])]
    return tuple(_operand(w) for w in texts), modifiers


def _is_call(word: str) -> bool:
    return "(" in word


def _split(text: str) -> list[str]:
    """At the commas outside of brackets."""
    words, depth, start = [], 0, 0
    for at, sign in enumerate(text):
        depth += (sign in "([") - (sign in ")]")
        if sign == "," and depth == 0:
            words.append(text[start:at].strip())
            start = at + 1
    return [*words, text[start:].strip()]


def _without_modifiers(word: str) -> tuple[str, dict[str, str]]:
    """The last operand and the modifiers after it."""
    parts = _at_spaces(word)
    modifiers: dict[str, str] = {}
    first = parts[0]
    rest = parts[1:]
    if ":" in first and not _RANGE.match(first.strip("-|")) and _MODIFIER.fullmatch(first):
        first, rest = "", parts
    for part in rest:
        if not _MODIFIER.fullmatch(part):
            raise ValueError(f"no modifier: {part}")
        name, _, value = part.partition(":")
        modifiers[name] = value or "1"
    return first, modifiers


def _at_spaces(text: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for at, sign in enumerate(text):
        depth += (sign in "([") - (sign in ")]")
        if sign == " " and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    return [p for p in [*parts, text[start:]] if p]


def _operand(word: str) -> Operand:
    negated = absolute = extended = False
    if word.startswith("sext(") and word.endswith(")"):
        word, extended = word[5:-1], True
    if word.startswith("neg(") and word.endswith(")"):
        word, negated = word[4:-1], True
    if word.startswith("-") and not _NUMBER.match(word) and not _FLOAT.match(word):
        word, negated = word[1:], True
    if (word.startswith("|") and word.endswith("|")) or word.startswith("abs("):
        word, absolute = word.removeprefix("abs(").strip("|)"), True
    return Operand(_value(word), negated, absolute, extended)


def _value(word: str) -> Register | Constant | Name:
    if word in NAMED:
        return Register(False, *NAMED[word])
    if match := _SINGLE.match(word):
        return _register(match[1], int(match[2]), 1)
    if match := _RANGE.match(word):
        last = int(match[3] or match[2])
        return _register(match[1], int(match[2]), last - int(match[2]) + 1)
    if _NUMBER.match(word):
        return Constant(int(word, 0))
    if _FLOAT.match(word):
        return Constant(float(word))
    if word in _APERTURES:
        return Constant(_APERTURES[word])
    return Name(word)


def _register(kind: str, at: int, count: int) -> Register:
    if kind == "ttmp":
        return Register(False, 108 + at, count)
    return Register(kind != "s", at + (FIRST_AGPR if kind == "a" else 0), count)
