"""A function as text: its frame, the registers that it saves, its lines, its constants.

AAPCS64 (Arm IHI 0055): x19 to x28, x29, x30 and the lower halves of v8 to v15 belong to the caller.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from dslc.codegen.aarch64.machine_code.blocks import File, Inst, Label, Line, Reg, Remark, written

_SAVED_X = range(19, 31)
_SAVED_V = range(8, 16)


def function_text(
    symbol: str,
    lines: Sequence[Line],
    numbers: Mapping[Reg, int],
    frame: int,
    constants: Mapping[bytes, Label],
    exit_label: Label,
) -> str:
    """The text of a function whose lines end at `exit_label` with its result in x0."""
    used = {(r.file, numbers[r]) for line in lines if isinstance(line, Inst) for r in line.operands}
    general = [n for n in _SAVED_X if (File.X, n) in used]
    vectors = [n for n in _SAVED_V if (File.V, n) in used]
    saves = [*(f"x{n}" for n in general), *(f"d{n}" for n in vectors)]
    base = frame
    total = -(-(frame + 8 * len(saves)) // 16) * 16
    out = [f"\t.p2align 4\n\t.globl {symbol}", f"\t.type {symbol}, %function", f"{symbol}:"]
    if total:
        out.append(f"\tsub sp, sp, #{total}" if total < 4096 else _large("sub", total))
    out += _each("str", "stp", saves, base)
    out += [_line(line, numbers) for line in lines]
    out.append(f"{exit_label.name}:")
    out += _each("ldr", "ldp", saves, base)
    if total:
        out.append(f"\tadd sp, sp, #{total}" if total < 4096 else _large("add", total))
    out.append("\tret")
    if constants:
        out.append("\t.p2align 4")
    for data, label in constants.items():
        starts = range(0, len(data), 4)
        words = [f"0x{int.from_bytes(data[i : i + 4], 'little'):08x}" for i in starts]
        out.append(f"{label.name}:\n\t.word {', '.join(words)}")
    out.append(f"\t.size {symbol}, .-{symbol}")
    return "\n".join(out) + "\n"


def _line(line: Line, numbers: Mapping[Reg, int]) -> str:
    match line:
        case Label(name=name):
            return f"{name}:"
        case Remark(text=text):
            return f"\t// {text}"
        case Inst(comment=comment):
            text = written(line, [numbers[r] for r in line.operands])
            return f"\t{text}" + (f"\t// {comment}" if comment else "")


def _each(one: str, two: str, names: Sequence[str], base: int) -> Iterable[str]:
    """Saves or restores, in pairs of neighbours of one file."""
    i, at = 0, base
    while i < len(names):
        pair = i + 1 < len(names) and names[i][0] == names[i + 1][0] and at <= 496
        if pair:
            yield f"\t{two} {names[i]}, {names[i + 1]}, [sp, #{at}]"
        else:
            yield f"\t{one} {names[i]}, [sp, #{at}]"
        i += 2 if pair else 1
        at += 16 if pair else 8


def _large(op: str, total: int) -> str:
    low = total % 4096
    first = f"\t{op} sp, sp, #{total - low}"
    return f"{first}\n\t{op} sp, sp, #{low}" if low else first
