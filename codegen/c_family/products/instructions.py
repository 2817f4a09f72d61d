"""Calls of matrix instructions on registers, in loops where the registers' numbers are regular."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from dslc.codegen.c_family.products.instruction_operands import Step
from dslc.codegen.c_family.registers import Tile
from dslc.codegen.c_family.unrolling import linear_loops
from dslc.codegen.c_family.writer import Writer


@dataclass(frozen=True, slots=True)
class Call:
    """The function of an instruction and its operands; `per` elements of a and b are a register."""

    function: str
    a: Tile
    b: Tile
    c: Tile
    per: int


def emit_calls(out: Writer, call: Call, steps: Sequence[Step]) -> None:
    """One call a step, in order."""
    groups = [
        (call.a, [[i // call.per for i in step.a] for step in steps]),
        (call.b, [[i // call.per for i in step.b] for step in steps]),
        (call.c, [list(step.c) for step in steps]),
    ]
    table = np.concatenate([np.array(rows) for _, rows in groups], axis=1)
    ends = np.cumsum([len(rows[0]) for _, rows in groups])
    for indices in linear_loops(out, table):
        parts = np.split(np.array(indices, dtype=object), ends[:-1])
        names, after = [], []
        for (tile, rows), at in zip(groups, parts, strict=True):
            if _run(rows):
                names.append(f"&{tile.name}[{at[0]}]")
                continue
            own = out.name(f"{tile.name}_part")
            ctype = (
                tile.declaration.partition(" ")[0] if tile is call.c else f"const {_ctype(tile)}"
            )
            cells = [f"{tile.name}[{i}]" for i in at]
            out.line(f"{ctype} {own}[{len(cells)}] = {{{', '.join(cells)}}};")
            names.append(own)
            if tile is call.c:
                after = [f"{cell} = {own}[{k}];" for k, cell in enumerate(cells)]
        out.line(f"{call.function}({names[2]}, {names[0]}, {names[1]});")
        if after:
            out.line(" ".join(after))


def _ctype(tile: Tile) -> str:
    return tile.declaration.removesuffix(f" {tile.name}[{tile.words}]")


def _run(rows: Sequence[Sequence[int]]) -> bool:
    """Whether every step's registers follow one another."""
    numbers = np.array(rows)
    return bool((numbers == numbers[:, :1] + np.arange(numbers.shape[1])).all())
