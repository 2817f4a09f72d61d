"""MFMA instructions as calls of matrix.h, by what their names say."""

from __future__ import annotations

import re

from dslc.runtime.hip_emulator.constants import bits_of
from dslc.runtime.hip_emulator.function import Parts
from dslc.runtime.hip_emulator.lanewise import numbers
from dslc.runtime.hip_emulator.operands import Constant, Operand

_NAME = re.compile(
    r"v_mfma_(scale_)?(f32|i32|f64)_(\d+)x(\d+)x(\d+)(?:_(\d+)b)?_?"
    r"(f32|xf32|f16|bf16|i8|f64|f8f6f4|(?:fp8|bf8)_(?:fp8|bf8))(?:_1k)?$"
)
_FORMATS = {
    "f32": (32, "plain_f32"),
    "xf32": (32, "xf32_of"),
    "f16": (16, "f16_of"),
    "bf16": (16, "bf16_of"),
    "fp8": (8, "fp8_of"),
    "bf8": (8, "bf8_of"),
    "fp6": (6, "fp6_of"),
    "bf6": (6, "bf6_of"),
    "fp4": (4, "fp4_of"),
}
_BY_CODE = ("fp8", "bf8", "fp6", "bf6", "fp4")
# What each chip has, by the type of the operands: rows and K of a block. gfx950 has gfx942's, xf32 not.
_BOTH = {
    "f32": {(32, 1, 2), (16, 1, 4), (4, 1, 16), (32, 2, 1), (16, 4, 1)},
    "f16": {(32, 4, 2), (16, 4, 4), (4, 4, 16), (32, 8, 1), (16, 16, 1)},
    "bf16": {(32, 4, 2), (16, 4, 4), (4, 4, 16), (32, 8, 1), (16, 16, 1)},
    "i8": {(32, 4, 2), (16, 4, 4), (4, 4, 16), (32, 16, 1), (16, 32, 1)},
    "f64": {(16, 4, 1), (4, 4, 4)},
    "fp8": {(32, 16, 1), (16, 32, 1)},
}
_ONLY = {
    "gfx942": {"xf32": {(32, 4, 1), (16, 8, 1)}},
    "gfx950": {
        "f16": {(32, 16, 1), (16, 32, 1)},
        "bf16": {(32, 16, 1), (16, 32, 1)},
        "i8": {(32, 32, 1), (16, 64, 1)},
        "f8f6f4": {(32, 64, 1), (16, 128, 1)},
    },
}


def is_matrix(mnemonic: str) -> bool:
    """Whether it is an MFMA."""
    return mnemonic.startswith("v_mfma_")


def matrix(parts: Parts, chip: str) -> None:
    """An MFMA: D, A, B, C and, of gfx950's scaled ones, a register of scales for A and for B."""
    match = _NAME.match(parts.instruction.mnemonic)
    if not match:
        raise parts.fail("the emulator does not know this instruction")
    scaled, result, m, n, k, blocks, kind = match.groups()
    shape = (int(m), int(k), int(blocks or 1))
    family = "fp8" if "_" in kind else kind
    known = _BOTH.get(family, set()) | _ONLY.get(chip, {}).get(family, set())
    if m != n or shape not in known:
        raise parts.fail(f"{chip} has no such instruction, or the emulator does not know it")
    allowed = {"f8f6f4": {"cbsz", "blgp", "op_sel", "op_sel_hi"}}.get(kind, set())
    if unknown := set(parts.instruction.modifiers) - allowed:
        raise parts.fail(f"the emulator does not know the modifier {sorted(unknown)[0]}")
    if result == "f64":
        _double(parts, shape)
    elif result == "i32":
        _integer(parts, shape)
    else:
        _float(parts, shape, kind, bool(scaled))
    parts.flags.add("ALL")


def _operands(parts: Parts, counts: tuple[int, ...], kind: str) -> list[str]:
    """The C of D, A, B, C and of C's constant."""
    given = parts.instruction.operands
    names: list[str] = []
    for operand, count in zip(given[:3], counts, strict=False):
        register = parts.expect(operand, count)
        if not register.vector:
            raise parts.fail("an operand in scalar registers")
        (parts.writes if not names else parts.reads).append(register)
        names.append(f"w->v[{parts.register(register)}]")
    last = given[3]
    if isinstance(last.value, Constant):
        number = parts.literal(bits_of(last.value.value, kind))
        return [*(f"(u32 *){n}" for n in names), "NULL", number]
    register = parts.expect(last, counts[0])
    parts.reads.append(register)
    return [*(f"(u32 *){n}" for n in names), f"(u32 *)w->v[{parts.register(register)}]", "0"]


def _double(parts: Parts, shape: tuple[int, int, int]) -> None:
    m, _, blocks = shape
    d, a, b, c, fill = _operands(parts, (2 * m * m * blocks // 64, 2, 2), "f64")
    parts.lines.append(f"mfma_f64({d}, {a}, {b}, {c}, f64_of({fill}), {m});")


def _integer(parts: Parts, shape: tuple[int, int, int]) -> None:
    m, k, blocks = shape
    each = m * k * blocks // 64 // 4
    d, a, b, c, fill = _operands(parts, (m * m * blocks // 64, each, each), "u32")
    parts.lines.append(f"mfma_i32({d}, {a}, {b}, {c}, (u32){fill}, {m}, {k}, {blocks});")


def _float(parts: Parts, shape: tuple[int, int, int], kind: str, scaled: bool) -> None:
    m, k, blocks = shape
    if kind == "f8f6f4":
        codes = [int(parts.instruction.modifiers.get(w, "0"), 0) for w in ("cbsz", "blgp")]
        formats = [_FORMATS[_BY_CODE[code]] for code in codes]
    else:
        names = kind.split("_") if "_" in kind else (kind, kind)
        formats = [_FORMATS[name] for name in names]
    sizes = [m * k * blocks // 64 * bits // 32 for bits, _ in formats]
    d, a, b, c, fill = _operands(parts, (m * m * blocks // 64, *sizes), "f32")
    factors = ["NULL", "NULL"]
    if scaled:
        factors = ["scale_a", "scale_b"]
        for number, (name, operand) in enumerate(
            zip(factors, parts.instruction.operands[4:6], strict=True)
        ):
            _scale(parts, name, operand, number)
    (bits_a, decode_a), (bits_b, decode_b) = formats
    parts.lines.append(
        f"mfma_f32({d}, {a}, {b}, {c}, (u32){fill}, {m}, {k}, {blocks}, {bits_a}, {decode_a}, "
        f"{bits_b}, {decode_b}, {factors[0]}, {factors[1]});"
    )


def _scale(parts: Parts, name: str, operand: Operand, number: int) -> None:
    byte = numbers(parts, "op_sel", [0, 0, 0])[number]
    byte += 2 * numbers(parts, "op_sel_hi", [0, 0, 0])[number]
    parts.lines.append(f"float {name}[LANES];")
    if isinstance(operand.value, Constant):
        number_ = parts.literal(bits_of(operand.value.value, "u32"))
        parts.lines.append(f"scales({name}, NULL, (u32){number_}, {byte});")
        return
    register = parts.expect(operand, 1)
    parts.reads.append(register)
    at = parts.register(register)
    source = f"w->v[{at}], 0" if register.vector else f"NULL, w->s[{at}]"
    parts.lines.append(f"scales({name}, {source}, {byte});")
