"""Operands of products in panels: block by block in the order in which a unit's registers hold them.

Codes of fewer than 8 bits whose blocks share bytes are unpacked together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from dslc.codegen.aarch64.chunks.conversions import number
from dslc.codegen.aarch64.chunks.formats import Format, Lanes
from dslc.codegen.aarch64.chunks.lane_formats import as_format
from dslc.codegen.aarch64.machine_code.blocks import Reg
from dslc.codegen.aarch64.memory.chunk_loads import load_lanes
from dslc.codegen.aarch64.memory.transfer import store_lanes
from dslc.codegen.aarch64.places import Array
from dslc.codegen.aarch64.products.units import PAIRS_OF_EIGHT, QUADS, Pairs
from dslc.codegen.chunks.at import At
from dslc.codegen.chunks.nests import each, each_place
from dslc.compiler.ir import Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import Linear, constant, simplify
from dslc.compiler.ir.arithmetic.index_arithmetic import cdiv, mul
from dslc.compiler.ir.traverse import names_in, operands, uses_of
from dslc.compiler.passes.cpu.weight_order import is_in_fours

if TYPE_CHECKING:
    from dslc.codegen.aarch64.emission import Emission

_QUAD = 4
_TOGETHER = (4, 3, 2, 1)  # blocks that one iteration of a panel's loop brings


@dataclass(frozen=True, slots=True)
class Operand:
    """Blocks of an operand: from a panel for each of some iterations, or from the tile itself."""

    value: Value
    blocks: Pairs
    form: Format
    size: tuple[int, int]  # rows and columns of a block
    panel: Array | None = None
    walk: Walk | None = None  # with a panel: its blocks
    iteration: Linear = Linear()

    def at_iteration(self, iteration: Linear) -> Operand:
        """The operand of an iteration, by its number."""
        return replace(self, iteration=iteration)

    def register(self, e: Emission, batch: tuple[Linear, ...], at: tuple[Linear, Linear]) -> Reg:
        """The register of the block that begins at two coordinates."""
        if self.panel is None:
            with e.streams():
                return packed_block(e, self, batch, at)
        return load_lanes(e, self.panel, self._place(batch, at)).regs[0]

    def fill(self, e: Emission) -> None:
        """Every block that matters into the panel of the iteration."""
        walk, panel = self.walk, self.panel
        assert walk is not None
        assert panel is not None

        def pack(batch: tuple[Linear, ...], x: Linear, y: Linear) -> None:
            reg = packed_block(e, self, batch, (x, y))
            lanes = Lanes((reg,), self.form, len(self.blocks))
            store_lanes(e, panel, self._place(batch, (x, y)), lanes)

        *outer, _, _ = self.value.type.shape
        with e.streams():
            each_place(e, tuple(outer), lambda batch: walk.run(e, partial(pack, batch)))
        e.forget()

    def _place(self, batch: tuple[Linear, ...], at: tuple[Linear, Linear]) -> At:
        block = tuple(x.divide(Linear(constant=n)) for x, n in zip(at, self.size, strict=True))
        zeros = (0,) * (len(batch) + 3)
        lanes = tuple((*zeros, i) for i in range(len(self.blocks)))
        return At((self.iteration, *batch, *block, Linear()), lanes)


def packed_block(
    e: Emission, operand: Operand, batch: tuple[Linear, ...], at: tuple[Linear, Linear]
) -> Reg:
    """A block pulled from the tile; what lies past the tile's edge is 0."""
    if operand.blocks == PAIRS_OF_EIGHT and in_fours(e, operand.value):
        part = at[1].modulo(Linear(constant=_QUAD))
        if part.is_constant:
            return _of_quads(
                e, operand, batch, (at[0], at[1] + Linear(constant=-part.constant)), part
            )
    return _pulled(e, operand, operand.blocks, batch, at)


def _of_quads(
    e: Emission,
    operand: Operand,
    batch: tuple[Linear, ...],
    at: tuple[Linear, Linear],
    part: Linear,
) -> Reg:
    """8 of k of two columns from two registers that hold 4 of k of four columns."""
    first, second = (
        _pulled(e, operand, QUADS, batch, (at[0] + Linear(constant=d), at[1])) for d in (0, _QUAD)
    )
    op = "zip2" if part.constant else "zip1"
    return e.s.v(f"{op} {{0}}.4s, {{1}}.4s, {{2}}.4s", first, second)


def _pulled(
    e: Emission,
    operand: Operand,
    blocks: Pairs,
    batch: tuple[Linear, ...],
    at: tuple[Linear, Linear],
) -> Reg:
    shape = operand.value.type.shape[-2:]
    zeros = (0,) * len(batch)
    lanes, missing = [], False
    for pair in blocks:
        kept = []
        for d, b, n in zip(pair, at, shape, strict=True):
            past = b.is_constant and b.constant + d >= n
            missing |= past
            kept.append(max(0, n - 1 - b.constant) if past else d)
        lanes.append((*zeros, *kept))
    dtype = operand.value.type.dtype
    pulled = e.pull(operand.value, At((*batch, *at), tuple(lanes)))
    if operand.form.kind != "f" or operand.form.bits > 16:
        pulled = number(e, pulled, dtype)
    reg = as_format(e, pulled, operand.form).regs[0]
    if not missing:
        return reg
    size = operand.form.bits // 8
    inside = [
        all(not b.is_constant or b.constant + d < n for d, b, n in zip(p, at, shape, strict=True))
        for p in blocks
    ]
    mask = e.s.literal(b"".join((b"\xff" if x else b"\0") * size for x in inside))
    return e.s.v("and {0}.16b, {1}.16b, {2}.16b", reg, mask)


def in_fours(e: Emission, value: Value) -> bool:
    """Whether a tile is made, element by element, of codes ordered by `passes.cpu.weight_order`."""
    stack = [value]
    while stack:
        x = stack.pop()
        stmt = e.lazy.get(x)
        if isinstance(stmt, ins.View) and x not in e.homes:
            layout = stmt.out.type.layout
            return layout is not None and is_in_fours(layout)
        if isinstance(stmt, ins.ELEMENTWISE) and x not in e.homes:
            stack += operands(stmt)
    return False


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
    others: int,
    iterations: int,
) -> Operand:
    """An operand, with panels for some iterations if its blocks are `reused`: to be filled.

    `ends` are how many of its rows and columns matter, None for the axis of k; `pad` the multiples that
    the panel has room for. Each element is multiplied by `others` of the other operand.
    """
    if not reused:
        return Operand(value, blocks, form, size)
    *outer, r, c = value.type.shape
    counts = [
        -(-(-(-extent // p) * p) // n) for extent, p, n in zip((r, c), pad, size, strict=True)
    ]
    columns_first = ends[1] is not None  # blocks of one column follow each other along k
    shape = (iterations, *outer, *counts, len(blocks))
    panel = e.array(form, shape, ("panel", value))
    if columns_first:
        inner, block = counts[0], len(blocks)
        strides = (
            *panel.strides[:-3],
            Linear(constant=block),
            Linear(constant=inner * block),
            Linear(constant=1),
        )
        panel = replace(panel, strides=strides)
    together = codes_in_a_byte(e, value)
    if blocks == PAIRS_OF_EIGHT and in_fours(e, value):
        together *= _QUAD // size[1]
    most = 1 if has_checks(e, value) else _TOGETHER[0]
    walk = Walk((r, c), size, ends, 0 if columns_first else 1, together, others, most)
    return Operand(value, blocks, form, size, panel, walk)


@dataclass(frozen=True, slots=True)
class Walk:
    """Every block of an operand that has an element that matters, along `inner` in the inner loop.

    `together` columns of blocks are brought one after another: their codes share registers. An
    element is multiplied by `others` of the other operand. An iteration of the inner loop brings up to
    `most` blocks of a column.
    """

    extents: tuple[int, int]
    size: tuple[int, int]
    ends: tuple[ex.Expr | None, ex.Expr | None]
    inner: int
    together: int
    others: int
    most: int

    @property
    def beside(self) -> int:
        """How many columns of blocks one iteration of the inner loop brings."""
        whole = self.extents[1] // self.size[1]
        exact = self.extents[1] % self.size[1] == 0
        return self.together if self.inner == 0 and exact and whole % self.together == 0 else 1

    def run(self, e: Emission, body: Callable[[Linear, Linear], None]) -> None:
        """Call `body` with the coordinates where each block begins."""
        if self.inner == 1:
            self._along(e, 0, 1, lambda x: self._along(e, 1, 1, lambda y: body(x, y)))
            return
        columns = range(0, self.beside * self.size[1], self.size[1])

        def several(x: Linear, y: Linear) -> None:
            for column in columns:
                body(x, y + Linear(constant=column))

        self._along(e, 1, self.beside, lambda y: self._along(e, 0, 1, lambda x: several(x, y)))

    def _along(self, e: Emission, axis: int, blocks: int, body: Callable[[Linear], None]) -> None:
        """A loop over so many whole blocks an iteration; the one that the edge cuts stands alone."""
        extent, n, end = self.extents[axis], self.size[axis], self.ends[axis]
        cut = extent % n
        if end is None or constant(end) is not None or cut:
            last: ex.Expr = ex.index(extent - cut)
        else:
            step = n * blocks
            last, cut = simplify(mul(cdiv(end, step), step)), 0
        known = constant(last)
        if axis != self.inner:
            each(e, ex.index(0), last, n * blocks, body)
        else:
            steps = 0 if known is None else int(known) // n
            self._innermost(e, last, self._several(steps), body)
        if cut:
            body(Linear(constant=extent - cut))

    def _several(self, steps: int) -> int:
        return next(t for t in _TOGETHER if t <= self.most and steps % t == 0)

    def _innermost(
        self, e: Emission, last: ex.Expr, several: int, body: Callable[[Linear], None]
    ) -> None:
        n, block = self.size[self.inner], self.size[0] * self.size[1]

        def marked(at: Linear) -> None:
            if at.constant % (n * several) == 0:
                name = e.marks.panel("b" if self.inner == 0 else "a")
                e.marks.begin(name, several * self.beside * block * self.others)
            body(at)

        each(e, ex.index(0), last, n, marked, together=several)
        e.marks.end()


def has_checks(e: Emission, value: Value) -> bool:
    """Whether a chunk of a tile needs checks of bounds: it is long code then, better written once."""
    stack = [value]
    while stack:
        stmt = e.lazy.get(x := stack.pop())
        if stmt is None or x in e.homes:
            continue
        if isinstance(stmt, ins.Load) and any(a.checked and a.size > 1 for a in stmt.region.axes):
            return True
        stack += operands(stmt)
    return False


def codes_in_a_byte(e: Emission, value: Value) -> int:
    """How many codes of the narrowest tile that a value is made of, element by element, a byte has."""
    codes, stack = 1, [value]
    while stack:
        x = stack.pop()
        if x.type.dtype.bits < 8:
            codes = max(codes, 8 // x.type.dtype.bits)
        stmt = e.lazy.get(x)
        if stmt is not None and x not in e.homes:
            stack += [v for u in uses_of(stmt) for v in names_in(u) if isinstance(v, Value)]
    return codes
