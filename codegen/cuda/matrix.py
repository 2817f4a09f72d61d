"""Dot on the tensor cores: mma.sync over the registers that the layouts match."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from dslc.codegen.c_family import control, products
from dslc.codegen.c_family.emission import Emission, Emitter
from dslc.codegen.c_family.registers import Tile
from dslc.codegen.c_family.remap import gather
from dslc.codegen.c_family.unrolling import linear_loops
from dslc.codegen.c_family.writer import Writer
from dslc.codegen.cuda import mma
from dslc.codegen.cuda.fragments import Mismatch, Plan, plan
from dslc.compiler.diagnostics import error
from dslc.compiler.ir import instructions as ins
from dslc.compiler.layout import Layout, permute
from dslc.compiler.targets import Atom, find_target
from dslc.compiler.targets.target import SWAP


def dot(e: Emission, s: ins.Dot) -> None:
    """out = a @ b (+ acc)."""
    if s.atom is None:
        products.dot(e, s)
        return
    atom = find_target("cuda:sm_90a").atom(s.atom.removesuffix(SWAP))
    a, b = e.tile(s.a), e.tile(s.b)
    out = e.new(s.out, zero=s.acc is None)
    if s.acc is not None:
        control.copy(e, out, e.tile(s.acc))
    sides = (a, b, out)
    if s.atom.endswith(SWAP):  # d^T = b^T a^T: the atom's rows are the columns of the product
        sides = (turned(b), turned(a), turned(out))
    if atom is None or not atom.takes(sides[0].dtype.name, sides[1].dtype.name):
        raise error("DSL0591", f"{s.atom} does not multiply {a.dtype} by {b.dtype}", s.loc)
    try:
        emit_product(e.out, atom, *sides)
    except Mismatch as problem:
        text = f"{s.atom} cannot multiply tiles of these layouts: {problem}"
        hint = f"a is {a.layout}, b is {b.layout}, the result {out.layout}"
        raise error("DSL0591", text, s.loc, hint=hint) from None


def turned(x: Tile) -> Tile:
    """The same registers as a tile with its last two axes exchanged."""
    *batch, m, n = range(x.layout.rank)
    return Tile(x.name, x.dtype, permute(x.layout, [*batch, n, m]))


def emit_product(out: Writer, atom: Atom, a: Tile, b: Tile, c: Tile) -> None:
    """The instructions of c += a b. Mismatch where the layouts do not fit the atom."""
    per = mma.elements_in_register(a.dtype)
    found = plan(a.layout, b.layout, c.layout, _layouts(atom), per)
    a = a if found.gather_a is None else gather(out, a, found.gather_a)
    b = b if found.gather_b is None else gather(out, b, found.gather_b)
    function = mma.name_of(atom, a.dtype.name, b.dtype.name)
    _calls(out, function, found, (a, b, c), per)


def _layouts(atom: Atom) -> tuple[Layout, Layout, Layout]:
    assert atom.a is not None
    assert atom.b is not None
    return atom.a, atom.b, atom.c


def _calls(out: Writer, function: str, found: Plan, tiles: tuple[Tile, ...], per: int) -> None:
    """One call a step, in loops where the numbers of the registers are regular."""
    a, b, c = tiles
    groups = [
        (a, [[i // per for i in step.a] for step in found.steps]),
        (b, [[i // per for i in step.b] for step in found.steps]),
        (c, [list(step.c) for step in found.steps]),
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
            ctype = tile.declaration.partition(" ")[0] if tile is c else f"const {_ctype(tile)}"
            cells = [f"{tile.name}[{i}]" for i in at]
            out.line(f"{ctype} {own}[{len(cells)}] = {{{', '.join(cells)}}};")
            names.append(own)
            if tile is c:
                after = [f"{cell} = {own}[{k}];" for k, cell in enumerate(cells)]
        out.line(f"{function}({names[2]}, {names[0]}, {names[1]});")
        if after:
            out.line(" ".join(after))


def _ctype(tile: Tile) -> str:
    return tile.declaration.removesuffix(f" {tile.name}[{tile.words}]")


def _run(rows: Sequence[Sequence[int]]) -> bool:
    """Whether every step's registers follow one another."""
    found = np.array(rows)
    return bool((found == found[:, :1] + np.arange(found.shape[1])).all())


EMITTERS: dict[type, Emitter] = {ins.Dot: dot}
