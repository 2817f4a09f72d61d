"""Chains that end in operations on two tiles: column by column, by the engines that have time.

What stands between two instructions of a chain lies in a bank of PSUM, or in SBUF where GpSimd takes
it, for as many elements as a bank has: `lanes` says which engines there are and what each part takes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod

from dslc.codegen.nki.arithmetic.elementwise import ALU
from dslc.codegen.nki.arithmetic.scaling import Scaling, activation, columns_text, scalings
from dslc.codegen.nki.emission import At, Emission
from dslc.codegen.nki.movement.copying import shared_copy
from dslc.codegen.nki.tile_values import TileValue, dense_strides, part
from dslc.compiler.dtypes import F32
from dslc.compiler.ir import instructions as ins
from dslc.compiler.passes.trainium.lanes import BLOCK, Lane, block_axis, lanes, split

_UNIT = 64  # elements of a partition: what a lane has at least
_TURNS = 4  # blocks for which an operand that is the same for all is brought to PSUM

Step = Callable[[str, str, "Columns"], None]
"""Writes out one instruction: from a text of its result and of its data, for some columns."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Indices `start` to `start` + `count` of an axis along the partitions; all without an axis."""

    axis: int | None
    start: int | str = 0
    count: int = 0

    def text(self, e: Emission, held: TileValue, at: At) -> str:
        """What a tile has there."""
        axis = self.axis
        if axis is None:
            return e.text(held, at)
        shape = (*held.shape[:axis], self.count, *held.shape[axis + 1 :])
        mine, stride = replace(held, shape=shape), held.strides[axis]
        if isinstance(self.start, int) or stride == 0:
            skipped = self.start * stride if isinstance(self.start, int) else 0
            mine = replace(mine, offset=held.offset + skipped)
            return part(mine, e.base(held, at), at.rows, whole=False)
        first = self.start if stride == 1 else f"{self.start} * {stride}"
        first = f"{held.offset} + {first}" if held.offset else first
        base, pattern = e.base(held, at), mine.pattern or [(1, 1)]
        if len(held.extents) == 1 and len(pattern) == 1 and pattern[0][0] == 1:
            return f"{base}[0:{at.rows}, {first}:{first} + {pattern[0][1]}]"
        pairs = [f"[{prod(held.extents)}, {at.rows}]", *(f"[{s}, {n}]" for s, n in pattern)]
        return f"{base}.ap(pattern=[{', '.join(pairs)}], offset={first})"


@dataclass(slots=True)
class Chain:
    """A chain while it is written out: its steps with their tiles and numbers."""

    e: Emission
    made: TileValue
    first: TileValue
    leading: list[str]
    tails: list[str]
    columns: list[TileValue]
    tiles: list[TileValue]

    def write(self) -> None:
        """All columns, lane by lane."""
        e, axis = self.e, block_axis(self.made.place, self.made.shape)
        psum = e.engines.copies and axis is not None
        same = self._same(axis) if psum and not self.leading else None
        steps = [*self.leading, *self.tails]
        kinds = [True] * len(self.columns) + [False] * len(self.tiles)
        ways = lanes(steps, kinds, psum=psum, same=same is not None)
        alone = ways[-1 if self.leading else 0]
        parts = [(alone, 0, 0)] if axis is None else self._dealt(ways, axis)
        with e.filled(self.made) as at:
            scaled = any(lane.leading == "scalar" for lane, *_ in parts)
            given = scalings(e, self.leading, self.columns, at) if scaled else []
            if same is not None and any(lane.engine == "vector" for lane, *_ in parts):
                here = self._in_psum(same, axis, at)
            else:
                here = self
            for lane, start, stop in parts:
                chain = here if lane.engine == "vector" else self
                chain._lane(lane, Columns(axis, start, stop - start), at, given, psum=psum)

    def _dealt(self, ways: Sequence[Lane], axis: int) -> list[tuple[Lane, int, int]]:
        """The lanes in use, GpSimd first, with where their columns begin and end."""
        e, made = self.e, self.made
        whole = made.shape[axis]
        each = prod(made.extents) if made.is_dense else prod(made.shape[k] for k in made.free)
        unit = max(1, _UNIT * whole // each)
        shares = e.shares.deal(e.now, ways, each, made.chunks)
        pairs = sorted(zip(ways, shares, strict=True), key=lambda p: p[0].engine != "gpsimd")
        parts: list[tuple[Lane, int, int]] = []
        start, left = 0, sum(share > 0 for share in shares)
        for lane, share in pairs:
            if share <= 0:
                continue
            left -= 1
            stop = whole if not left else min(whole, start + round(share * whole / unit) * unit)
            if stop > start:
                parts.append((lane, start, stop))
            start = stop
        return parts

    def _same(self, axis: int | None) -> TileValue | None:
        """The operand of the first step that all blocks have in common."""
        if axis is None or self.made.shape[axis] < _TURNS:
            return None
        pair = (self.tiles[0], self.first)
        return next((t for t in pair if t.strides[axis] == 0 and not t.psum), None)

    def _in_psum(self, same: TileValue, axis: int | None, at: At) -> Chain:
        """The chain with an operand in PSUM."""
        assert axis is not None
        e = self.e
        shape = (*same.shape[:axis], 1, *same.shape[axis + 1 :])
        strides = dense_strides(same.place, shape)
        width = prod(shape[k] for k in same.free)
        name = e.out.name(same.name)
        e.out.line(f"{name} = {e.tensor(name, at.rows, (width,), 'nl.float32', psum=True)}")
        shared_copy(e, name, Columns(axis, 0, 1).text(e, same, at), width)
        strides = tuple(0 if k == axis else n for k, n in enumerate(strides))
        copy = replace(
            same, name=name, dtype=F32, extents=(width,), strides=strides, offset=0, psum=True
        )
        copy = replace(copy, shared=True)
        if same is self.first:
            return replace(self, first=copy)
        return replace(self, tiles=[copy, *self.tiles[1:]])

    def _lane(
        self, lane: Lane, columns: Columns, at: At, given: list[Scaling], *, psum: bool
    ) -> None:
        """The columns of one lane, by blocks where something stands between two instructions."""
        steps = self._steps(lane, at, given)
        axis = columns.axis
        if axis is None or len(steps) == 1:
            self._block(steps, columns, at, psum=False)
            return
        inner = prod(self.made.shape[k] for k in self.made.free if k > axis)
        most, unit = max(1, BLOCK // inner), max(1, _UNIT // inner)
        even = -(-columns.count // -(-columns.count // most))
        each = min(most, -(-even // unit) * unit)
        assert isinstance(columns.start, int)
        start, stop = columns.start, columns.start + columns.count
        whole = columns.count // each * each
        in_psum = psum and lane.engine == "vector"
        if whole > each:
            index = self.e.out.name("column")
            with self.e.out.block(f"for {index} in range({start}, {start + whole}, {each})"):
                self._block(steps, Columns(axis, index, each), at, psum=in_psum)
            start += whole
        while start < stop:
            count = min(each, stop - start)
            self._block(steps, Columns(axis, start, count), at, psum=in_psum)
            start += count

    def _block(self, steps: Sequence[Step], columns: Columns, at: At, *, psum: bool) -> None:
        """One block: what stands between is a tile of its own, which each step overwrites."""
        e = self.e
        data, between = columns.text(e, self.first, at), ""
        if len(steps) > 1:
            axis, shape = columns.axis, self.made.shape
            width = prod(columns.count if k == axis else shape[k] for k in self.made.free)
            between = e.out.name("part")
            tensor = e.tensor(between, at.rows, (width,), "nl.float32", psum=psum)
            e.out.line(f"{between} = {tensor}")
        for step in steps[:-1]:
            step(between, data, columns)
            data = between
        steps[-1](columns.text(e, self.made, at), data, columns)

    def _steps(self, lane: Lane, at: At, given: list[Scaling]) -> list[Step]:
        """The instructions of a lane."""
        steps: list[Step] = []
        tails = list(zip(self.tails, self.tiles, strict=True))
        if lane.leading == "scalar":
            steps += [self._scaled(scaling) for scaling in given]
        elif len(self.leading) == 1:
            steps.append(self._with_column(*tails.pop(0), at))
        else:
            for k in range(0, len(self.leading), 2):
                steps.append(self._columns(k, at))
        return steps + [self._two(step, tile, lane.engine, at) for step, tile in tails]

    def _scaled(self, scaling: Scaling) -> Step:
        return lambda dst, data, _: activation(self.e, dst, data, scaling)

    def _columns(self, k: int, at: At) -> Step:
        words = columns_text(self.e, self.leading[k : k + 2], self.columns[k : k + 2], at)
        return lambda dst, data, _: self.e.call("tensor_scalar", dst=dst, data=data, **words)

    def _with_column(self, step: str, tile: TileValue, at: At) -> Step:
        words = columns_text(self.e, self.leading, self.columns, at)
        reverse = "True" if step == "rsub" else None

        def write(dst: str, data: str, columns: Columns) -> None:
            other = columns.text(self.e, tile, at)
            op = ALU[step.removeprefix("r")]
            self.e.call(
                "scalar_tensor_tensor", dst=dst, data=data, **words,
                op1=op, operand1=other, reverse1=reverse,
            )  # fmt: skip

        return write

    def _two(self, step: str, tile: TileValue, engine: str, at: At) -> Step:
        def write(dst: str, data: str, columns: Columns) -> None:
            pair = data, columns.text(self.e, tile, at)
            one, two = pair[::-1] if step == "rsub" else pair
            op = ALU[step.removeprefix("r")]
            by = f"nisa.engine.{engine}"
            self.e.call("tensor_tensor", dst=dst, data1=one, data2=two, op=op, engine=by)

        return write


def chain(
    e: Emission, stmt: ins.Fused, first: TileValue, steps: list[str], others: list[TileValue]
) -> None:
    """Write out a chain."""
    kinds = [held.is_column for held in others]
    leading, tails = split(steps, kinds)
    count = sum(step in ins.FUSED_OPS for step in leading)
    tiles = [e.tensors(held) if held.constant is not None else held for held in others[count:]]
    Chain(e, e.result(stmt.out), first, leading, tails, others[:count], tiles).write()


__all__ = ["chain"]
