"""Operands of products in panels: block by block in the order in which a unit's registers hold them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import product as cartesian
from typing import TYPE_CHECKING

from dslc.codegen.aarch64.conversions import as_format, number
from dslc.codegen.aarch64.formats import Format, Lanes
from dslc.codegen.aarch64.machine import Reg
from dslc.codegen.aarch64.nests import each
from dslc.codegen.aarch64.places import Array, At
from dslc.codegen.aarch64.transfer import load_lanes, store_lanes
from dslc.codegen.aarch64.units import Pairs
from dslc.compiler.dtypes import INDEX
from dslc.compiler.ir import Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir.affine import Linear, constant, simplify

if TYPE_CHECKING:
    from dslc.codegen.aarch64.emission import Emission

EDGE = 4  # panels and accumulators have room for whole multiples of so many rows and columns


@dataclass(frozen=True, slots=True)
class Operand:
    """Blocks of an operand: from a panel, or from the tile itself."""

    value: Value
    blocks: Pairs
    form: Format
    panel: Array | None
    size: tuple[int, int]  # rows and columns of a block

    def register(self, e: Emission, batch: tuple[Linear, ...], at: tuple[Linear, Linear]) -> Reg:
        """The register of the block that begins at two coordinates."""
        if self.panel is None:
            return packed_block(e, self, batch, at)
        block = tuple(x.divide(Linear(constant=n)) for x, n in zip(at, self.size, strict=True))
        zeros = (0,) * (len(batch) + 2)
        lanes = tuple((*zeros, i) for i in range(len(self.blocks)))
        where = At((*batch, *block, Linear()), lanes)
        return load_lanes(e, self.panel, where).regs[0]


def packed_block(
    e: Emission, operand: Operand, batch: tuple[Linear, ...], at: tuple[Linear, Linear]
) -> Reg:
    """A block pulled from the tile; what lies past the tile's edge is 0."""
    shape = operand.value.type.shape[-2:]
    zeros = (0,) * len(batch)
    lanes, missing = [], False
    for pair in operand.blocks:
        kept = []
        for d, b, n in zip(pair, at, shape, strict=True):
            past = b.is_constant and b.constant + d >= n
            missing |= past
            kept.append(max(0, n - 1 - b.constant) if past else d)
        lanes.append((*zeros, *kept))
    dtype = operand.value.type.dtype
    found = e.pull(operand.value, At((*batch, *at), tuple(lanes)))
    reg = as_format(e, number(e, found, dtype) if operand.form.kind != "f" or operand.form.bits > 16
                    else found, operand.form).regs[0]  # fmt: skip
    if not missing:
        return reg
    size = operand.form.bits // 8
    inside = [
        all(not b.is_constant or b.constant + d < n for d, b, n in zip(p, at, shape, strict=True))
        for p in operand.blocks
    ]
    mask = e.s.literal(b"".join((b"\xff" if x else b"\0") * size for x in inside))
    return e.s.v("and {0}.16b, {1}.16b, {2}.16b", reg, mask)


def operand_of(
    e: Emission,
    value: Value,
    blocks: Pairs,
    form: Format,
    size: tuple[int, int],
    *,
    reused: bool,
    ends: tuple[ex.Expr | None, ex.Expr | None],
    pad: tuple[int, int],
) -> Operand:
    """An operand, put into a panel if its blocks are `reused`.

    `ends` are how many of its rows and columns matter, None for the axis of k; `pad` the multiples that
    the panel has room for.
    """
    operand = Operand(value, blocks, form, None, size)
    if not reused:
        return operand
    *outer, r, c = value.type.shape
    counts = [
        -(-(-(-extent // p) * p) // n) for extent, p, n in zip((r, c), pad, size, strict=True)
    ]
    columns_first = ends[1] is not None  # blocks of one column follow each other along k
    shape = (*outer, *counts, len(blocks))
    panel = e.array(form, shape, ("panel", value))
    if columns_first:
        inner, block = counts[0], len(blocks)
        strides = (
            *panel.strides[:-3], Linear(constant=block), Linear(constant=inner * block),
            Linear(constant=1),
        )  # fmt: skip
        panel = replace(panel, strides=strides)

    def pack(batch: tuple[Linear, ...], x: Linear, y: Linear) -> None:
        reg = packed_block(e, operand, batch, (x, y))
        zeros = (0,) * (len(batch) + 2)
        block = tuple(v.divide(Linear(constant=n)) for v, n in zip((x, y), size, strict=True))
        lanes = tuple((*zeros, k) for k in range(len(blocks)))
        store_lanes(
            e, panel, At((*batch, *block, Linear()), lanes), Lanes((reg,), form, len(blocks))
        )

    for batch in cartesian(*(range(x) for x in outer)):
        where = tuple(Linear(constant=x) for x in batch)
        _blocks(e, (r, c), size, ends, partial(pack, where), columns_first)
    e.s.forget("tile")
    return replace(operand, panel=panel)


def _blocks(
    e: Emission,
    extents: tuple[int, int],
    size: tuple[int, int],
    ends: tuple[ex.Expr | None, ex.Expr | None],
    body: Callable[[Linear, Linear], None],
    columns_first: bool,
) -> None:
    """Every block that has an element that matters; those cut by the tile's edge stand alone."""

    def along(k: int, inner: Callable[[Linear], None]) -> None:
        extent, n = extents[k], size[k]
        end = ends[k]
        if end is None or constant(end) is not None or extent % n:
            whole = extent // n * n
            each(e, ex.index(0), ex.index(whole), n, inner)
            if whole < extent:
                inner(Linear(constant=whole))
            return
        up = ex.Binary("add", end, ex.index(n - 1), INDEX)
        count = ex.Binary("floordiv", up, ex.index(n), INDEX)
        last = simplify(ex.Binary("mul", count, ex.index(n), INDEX))
        each(e, ex.index(0), last, n, inner)

    if columns_first:
        along(1, lambda y: along(0, lambda x: body(x, y)))
    else:
        along(0, lambda x: along(1, lambda y: body(x, y)))
