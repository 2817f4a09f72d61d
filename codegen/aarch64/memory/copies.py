"""Copy elimination: a value that is copied, changed and copied back is changed where it is instead.

    mov  t, total                     fmla total, x, s
    fmla t, x, s               ->
    mov  total, t

Allocation would give both one register as long as their lives do not overlap; an order that moves the
first copy ahead makes them overlap.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from dslc.codegen.aarch64.machine_code.blocks import Inst, Label, Line, Reg


def in_place(lines: Sequence[Line]) -> list[Line]:
    """The lines without such pairs of copies."""
    uses = Counter(r for x in lines if isinstance(x, Inst) for r in x.operands)
    kept: list[Line | None] = list(lines)
    copies: dict[Reg, int] = {}  # by the copy, where it was made in this straight part
    for at, line in enumerate(lines):
        if isinstance(line, Label) or (isinstance(line, Inst) and line.target is not None):
            copies.clear()
        if not isinstance(line, Inst) or not line.is_move:
            continue
        out, source = line.operands
        first = copies.pop(source, None)
        if first is not None and _returns(kept, first, at, uses):
            for i in range(first + 1, at):
                kept[i] = _renamed(kept[i], source, out)
            kept[first] = kept[at] = None
        elif out.fixed is None and source.fixed is None:
            copies[out] = at
    return [line for line in kept if line is not None]


def _returns(lines: Sequence[Line | None], first: int, last: int, uses: Counter[Reg]) -> bool:
    """Whether the copy made at `first` alone lives until it comes back at `last`."""
    back = lines[last]
    assert isinstance(back, Inst)
    out, copy = back.operands
    copy_made = lines[first]
    if not isinstance(copy_made, Inst) or copy_made.operands != (copy, out):
        return False
    between = [x for x in lines[first + 1 : last] if isinstance(x, Inst)]
    inside = sum(x.operands.count(copy) for x in between)
    return inside + 2 == uses[copy] and all(out not in x.operands for x in between)


def _renamed(line: Line | None, old: Reg, new: Reg) -> Line | None:
    if not isinstance(line, Inst) or old not in line.operands:
        return line
    return replace(line, operands=tuple(new if r is old else r for r in line.operands))
