"""Reductions: over a thread's registers, then the lanes of a warp by shuffles, then the warps.

The result has the operand's layout with the axis reduced: every thread that took part holds it.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass

from dslc.codegen.c_family import scalars
from dslc.codegen.c_family.ctypes_of import element_type
from dslc.codegen.c_family.emission import Emission, Emitter
from dslc.codegen.c_family.indexing import add
from dslc.codegen.c_family.registers import Tile
from dslc.codegen.c_family.remap import move
from dslc.codegen.c_family.writer import Writer
from dslc.compiler.dtypes import DType, Kind
from dslc.compiler.ir import TileType, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.layout import Layout, reduce, unsqueeze
from dslc.compiler.layout.mode import with_weights

_BINARY = {"sum": "add", "max": "max", "min": "min", "any": "or", "all": "and"}


@dataclass(frozen=True, slots=True)
class Fold:
    """How two partial results are combined, with the index beside the value for argmax and argmin."""

    op: str
    dtype: DType

    @property
    def indexed(self) -> bool:
        """Whether an index goes with the value."""
        return self.op.startswith("arg")

    @property
    def ctype(self) -> str:
        """The C type of a partial result."""
        return element_type(self.dtype)

    def start(self) -> str:
        """What an empty reduction has."""
        if self.op in ("any", "all"):
            return "true" if self.op == "all" else "false"
        if self.op == "sum":
            return (
                scalars.literal(0, self.dtype)
                if not self.dtype.is_float
                else scalars.float_literal(-0.0, double=self.dtype.bits == 64)
            )
        greatest = self.op in ("min", "argmin")
        if self.dtype.is_float:
            return scalars.float_literal(
                float("inf") if greatest else float("-inf"), double=self.dtype.bits == 64
            )
        low, high = self.dtype.integer_range
        if not greatest and low == -(1 << 63):
            return "(-9223372036854775807ll - 1)"
        if not greatest and low == -(1 << 31):
            return "(-2147483647 - 1)"
        return scalars.literal(high if greatest else low, self.dtype)

    def combine(self, out: Writer, value: str, index: str, y: str, j: str) -> None:
        """value, index = the better of (value, index) and (y, j)."""
        if not self.indexed:
            out.line(f"{value} = {scalars.binary(_BINARY[self.op], value, y, self.dtype)};")
            return
        sign = ">" if self.op == "argmax" else "<"
        better = f"({y} {sign} {value}) || ({y} == {value} && {j} < {index})"
        if self.dtype.is_float:  # the first NaN wins, as in NumPy
            better = (
                f"{value} == {value} ? ({y} != {y} || {better}) : ({y} != {y} && {j} < {index})"
            )
        with out.block(f"if ({better})"):
            out.line(f"{value} = {y}; {index} = {j};")


def reduced_layout(layout: Layout, axis: int, keepdims: bool) -> Layout:
    """The layout of a reduction's result: copies where threads shared the axis."""
    found = reduce(layout, [axis])
    return unsqueeze(found, [axis]) if keepdims else found


def emit_reduce(e: Emission, s: ins.Reduce) -> None:
    """A reduction over one axis."""
    x = e.tile(s.x)
    fold = Fold(s.op, x.dtype)
    layout = reduced_layout(x.layout, s.axis, s.keepdims)
    part = e.out.name(s.out.name or "part")
    place = e.out.name("index") if fold.indexed else ""
    count = layout.locals
    e.out.line(f"{fold.ctype} {part}[{count}];")
    if place:
        e.out.line(f"int {place}[{count}];")
    with e.out.loop("i", count):
        e.out.line(f"{part}[i] = {fold.start()};" + (f" {place}[i] = 0x7fffffff;" if place else ""))
    _registers(e, x, s.axis, fold, part, place)
    lanes, warps = _split_axis(x.layout, s.axis, e.warp)
    for weight in lanes:
        _shuffle(e, fold, part, place, count, weight)
    if warps:
        _across_warps(e, fold, part, place, count, warps)
    _finish(e, s, layout, place or part)


def _registers(e: Emission, x: Tile, axis: int, fold: Fold, part: str, place: str) -> None:
    """Fold the registers that differ only along the axis."""
    digits = with_weights(x.layout.local_modes)
    kept = [m for m in x.layout.local_modes if m.axis != axis]
    weights = {id(m): w for m, w in with_weights(tuple(kept))}
    with ExitStack() as stack:
        element, target, along = [], [], []
        for mode, weight in digits:
            i = e.out.name("i")
            e.out.line("#pragma unroll")
            stack.enter_context(e.out.block(f"for (int {i} = 0; {i} < {mode.size}; ++{i})"))
            element.append(f"{i} * {weight}")
            if mode.axis == axis:
                along.append(f"{i} * {mode.stride}")
            else:
                target.append(f"{i} * {weights[id(mode)]}")
        if not digits:
            stack.enter_context(e.out.block(""))
        value = x.read(add(*element) if element else "0")
        r = add(*target) if target else "0"
        j = add(e.bases.base(x.layout, axis), *along)
        name = e.out.name("x")
        e.out.line(f"const {fold.ctype} {name} = {value};")
        fold.combine(e.out, f"{part}[{r}]", f"{place}[{r}]", name, j or "0")


def _split_axis(layout: Layout, axis: int, warp: int) -> tuple[list[int], list[tuple[int, int]]]:
    """The xor distances of the axis' lanes; (weight, size) of digits that no shuffle reaches."""
    lanes: list[int] = []
    warps: list[tuple[int, int]] = []
    for mode, weight in with_weights(layout.spatial_modes):
        if mode.axis != axis:
            continue
        size = mode.size
        if size & (size - 1) == 0 and weight & (weight - 1) == 0:
            w = weight
            while size > 1 and w < warp:
                lanes.append(w)
                w, size = w * 2, size // 2
            weight = w  # noqa: PLW2901
        if size > 1:
            warps.append((weight, size))
    return lanes, warps


def _shuffle(e: Emission, fold: Fold, part: str, place: str, count: int, distance: int) -> None:
    with e.out.loop("i", count):
        e.out.line(
            f"const {fold.ctype} other = __shfl_xor_sync(0xffffffffu, {part}[i], {distance});"
        )
        j = "0"
        if place:
            e.out.line(
                f"const int other_at = __shfl_xor_sync(0xffffffffu, {place}[i], {distance});"
            )
            j = "other_at"
        fold.combine(e.out, f"{part}[i]", f"{place}[i]", "other", j)


def _across_warps(
    e: Emission, fold: Fold, part: str, place: str, count: int, digits: list[tuple[int, int]]
) -> None:
    """Every thread writes its partial results and reads those of all threads of its group."""
    first = "tid"
    for weight, size in digits:
        first += f" - tid / {weight} % {size} * {weight}"
    group = e.out.name("group")
    e.out.line(f"const int {group} = {first};")
    width = (8 if fold.dtype.bits == 64 else 4) + (4 if place else 0)
    fits = max(1, e.room // (e.threads * width))
    for start in range(0, count, fits):
        own, at = (f"({x} + {start})" if start and x else x for x in (part, place))
        _exchange(e, fold, own, at, min(fits, count - start), group, digits)


def _exchange(
    e: Emission,
    fold: Fold,
    part: str,
    place: str,
    count: int,
    group: str,
    digits: list[tuple[int, int]],
) -> None:
    """So many results as shared memory has room for."""
    width = 8 if fold.dtype.bits == 64 else 4
    area = e.scratch(e.threads * count * width * (2 if place else 1))
    ctype = "int" if fold.dtype.kind is Kind.BOOL else fold.ctype
    cells = f"(({ctype}*){area})"
    places = f"((int*){area} + {e.threads * count * width // 4})"
    with e.out.loop("i", count):
        e.out.line(f"{cells}[i * {e.threads} + tid] = {part}[i];")
        if place:
            e.out.line(f"{places}[i * {e.threads} + tid] = {place}[i];")
    e.out.line(e.together)
    with e.out.loop("i", count):
        e.out.line(f"{part}[i] = {fold.start()};" + (f" {place}[i] = 0x7fffffff;" if place else ""))
        with ExitStack() as stack:
            at = [group]
            for weight, size in digits:
                w = e.out.name("w")
                e.out.line("#pragma unroll")
                stack.enter_context(e.out.block(f"for (int {w} = 0; {w} < {size}; ++{w})"))
                at.append(f"{w} * {weight}")
            where = f"i * {e.threads} + {' + '.join(at)}"
            e.out.line(f"const {fold.ctype} other = {cells}[{where}];")
            fold.combine(e.out, f"{part}[i]", f"{place}[i]", "other", f"{places}[{where}]")


def _finish(e: Emission, s: ins.Reduce, layout: Layout, array: str) -> None:
    """The partial results as a tile, moved to the result's layout if that differs."""
    held = Value(TileType(s.out.type.dtype, s.out.type.shape, layout), s.out.name)
    tile = e.new(held)
    with e.out.loop("i", tile.count):
        e.out.line(tile.write("i", f"{array}[i]"))
    if s.out.type.layout == layout:
        e.alias(s.out, tile)
    else:
        move(e, s.out, tile, lambda i: i)


EMITTERS: dict[type, Emitter] = {ins.Reduce: emit_reduce}
