"""A product in pieces of at most 128 rows (stationary) by 512 columns (moving), summed in PSUM."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from dslc.codegen.nki.arithmetic.eight_bits import columns
from dslc.codegen.nki.emission import At, Emission
from dslc.codegen.nki.limits import check_banks
from dslc.codegen.nki.movement.copying import shared_copy
from dslc.codegen.nki.order import Between
from dslc.codegen.nki.products.streamed_operands import Operand, Part, parts
from dslc.codegen.nki.tile_values import TileValue
from dslc.compiler.targets.nki import MOVING, PARTITIONS


def mode_of(held: TileValue) -> str | None:
    """How the unit is to read an operand: rows in pairs, where it lies so."""
    return "nisa.matmul_perf_mode.double_row" if held.paired else None


_APART = 4  # steps of k: as long as a bank takes to be copied, and more


def accumulate(first: str) -> str:
    """The flag of a product from the text that says whether one came before."""
    return first if first in ("False", "True") else f"({first})"


@dataclass(frozen=True, slots=True)
class Piece:
    """Columns of a part whose chunks from `low` on are summed in the tensors of the list `sums`."""

    part: Part
    sums: str
    low: str
    column: str
    width: str


class Pieces:
    """The result of one product. Pieces of 128 x 512 are summed in all banks that are free at a time.

    Each step of k is taken for all of them: an operand's chunk is used and given free before the next
    one is needed. The last steps are taken for one piece after another, so that the banks empty in turn
    and the tensor engine never waits for one.
    """

    def __init__(
        self,
        e: Emission,
        made: TileValue,
        acc: TileValue | None,
        stationary: Operand,
        moving: Operand,
        depth: int,
        limit: int,
    ) -> None:
        self.e, self.made, self.acc, self.depth, self.limit = e, made, acc, depth, limit
        self.stationary, self.moving = stationary, moving
        self.group = e.banks.free
        held = stationary.held or moving.held
        self.step = 2 * PARTITIONS if held is not None and held.paired else PARTITIONS
        self.between: Between | None = None
        self.fresh: str | None = None  # tells the iteration that finds nothing to add to

    def emit(self) -> None:
        """All parts."""
        if self.made is not self.acc:
            with self.e.filled(self.made):
                pass
        for number, part in enumerate(
            parts(self.e, self.stationary, self.moving, self.made.chunks)
        ):
            if self.between is not None and number == 0:
                self.between.begin(self.e)
            self._groups(part)

    def _groups(self, part: Part) -> None:
        e = self.e
        if part.last - part.first <= self.group:
            self._columns(part, str(part.first), None)
            return
        group = e.index_variable("g")
        head = f"for {e.names[group]} in range({part.first}, {part.last}, {self.group})"
        with e.out.block(head):
            self._columns(part, e.names[group], e.names[group])

    def _columns(self, part: Part, low: str, group: str | None) -> None:
        e = self.e
        if part.width <= MOVING:
            self._group(part, low, group, "0", str(part.width))
            return
        column = e.out.name("j")
        with e.out.block(f"for {column} in range(0, {part.width}, {MOVING})"):
            width = str(MOVING)
            if part.width % MOVING:
                width = e.out.name("width")
                e.out.line(f"{width} = min({MOVING}, {part.width} - {column})")
            self._group(part, low, group, column, width)

    def _group(self, part: Part, low: str, group: str | None, column: str, width: str) -> None:
        """Some pieces side by side: all steps of k, then out of PSUM."""
        e = self.e
        self._between()
        chunks = self._chunk_range(part, group)
        steps = self.limit or self.depth
        for begin in range(0, self.depth, steps):
            sums = e.out.name("sums")
            check_banks(sums, min(self.group, part.last - part.first), e.banks)
            e.out.line(f"{sums} = []")
            with self._each(chunks) as at:
                tensor = e.tensor(sums, at.rows, (width,), "nl.float32", psum=True)
                e.out.line(f"{sums}.append({tensor})")
            first, last = begin // self.step, -(-min(self.depth, begin + steps) // self.step)
            apart = first if self.made.chunks == 1 else max(first, last - _APART)
            piece = Piece(part, sums, low, column, width)
            if apart > first:
                with self._k(part, first, apart) as k, self._each(chunks) as at:
                    self._step(piece, at, k, first)
            with self._each(chunks) as at:
                with self._k(part, apart, last) as k:
                    self._step(piece, at, k, first)
                self._out(piece, at, begin > 0)

    def _chunk_range(self, part: Part, group: str | None) -> str:
        if group is None:
            begin = f"{part.first}, " if part.first else ""
            return f"{begin}{part.last}"
        end = f"{group} + {self.group}"
        if (part.last - part.first) % self.group:
            end = f"min({end}, {part.last})"
        return f"{group}, {end}"

    @contextmanager
    def _each(self, chunks: str) -> Iterator[At]:
        e = self.e
        if self.made.chunks == 1:
            yield At(None, self.made.rows)
            return
        index = e.index_variable("c")
        with e.out.block(f"for {e.names[index]} in range({chunks})"):
            yield At(index, e.rows_of(self.made, index))

    @contextmanager
    def _k(self, part: Part, first: int, last: int) -> Iterator[At]:
        """Steps of k: chunks of both operands."""
        e = self.e
        if part.stationary.chunks == 1:
            yield At(None, part.stationary.rows)
            return
        index = e.index_variable("k")
        start = f"{first}, " if first else ""
        with e.out.block(f"for {e.names[index]} in range({start}{last})"):
            whole = part.stationary.paired
            yield At(index, PARTITIONS if whole else e.rows_of(part.stationary, index))

    def _step(self, piece: Piece, at: At, k: At, first: int) -> None:
        """The product of a piece at a step of k."""
        e, part = self.e, piece.part
        left = "0"
        if at.index is not None:
            left = f"{PARTITIONS} * {e.names[at.index]}"
            left += f" - {part.stationary_from}" if part.stationary_from else ""
        earlier = "False" if k.index is None else f"{e.names[k.index]} > {first}"
        e.call(
            "nc_matmul",
            dst=f"{piece.sums}[{_less(e, at, piece.low)}]",
            stationary=columns(e, part.stationary, k, _slice(left, at.rows)),
            moving=columns(e, part.moving, k, _slice(piece.column, piece.width)),
            accumulate=accumulate(earlier),
            perf_mode=mode_of(part.stationary),
        )

    def _out(self, piece: Piece, at: At, again: bool) -> None:
        """A finished piece, to where its reader has it."""
        e = self.e
        sums = f"{piece.sums}[{_less(e, at, piece.low)}]"
        dst = self._place(self.made, piece, at)
        acc = None if self.acc is None else self._place(self.acc, piece, at)
        if again:
            acc = dst
        if acc is None and self.made.dtype.is_float:
            shared_copy(e, dst, sums, min(piece.part.width, MOVING), self.made.chunks)
        elif acc is None:
            e.call("tensor_copy", dst=dst, src=sums)
        elif self.limit:
            whole = e.out.name("whole")
            shape = f"({at.rows}, {piece.width})"
            e.out.line(f"{whole} = nl.ndarray({shape}, dtype=nl.int32, buffer=nl.sbuf)")
            e.call("tensor_copy", dst=whole, src=sums)
            e.call(
                "tensor_tensor",
                dst=dst,
                data1=whole,
                data2=acc,
                op="nl.add",
                engine="nisa.engine.gpsimd",
            )
        elif self.fresh is not None:
            with e.out.block(f"if {self.fresh}"):
                e.call("tensor_copy", dst=dst, src=sums)
            with e.out.block("else"):
                e.call("tensor_tensor", dst=dst, data1=sums, data2=acc, op="nl.add")
        else:
            e.call("tensor_tensor", dst=dst, data1=sums, data2=acc, op="nl.add")

    def _between(self) -> None:
        """What others do while some pieces are summed."""
        if self.between is not None:
            columns = -(-self.moving.columns // MOVING)
            self.between.emit(self.e, -(-self.made.chunks // self.group) * columns)

    def _place(self, held: TileValue, piece: Piece, at: At) -> str:
        first, column, width = piece.part.column_from, piece.column, piece.width
        if column == "0" and first == 0 and width == str(held.extents[0]):
            return self.e.text(held, at)
        left = column
        if first:
            left = str(first) if column == "0" else f"{first} + {column}"
        return f"{self.e.base(held, at)}[0:{at.rows}, {_slice(left, width)}]"


def _slice(left: str, width: int | str) -> str:
    if left == "0":
        return f"0:{width}"
    if left.isdigit() and str(width).isdigit():
        return f"{left}:{int(left) + int(width)}"
    return f"{left}:{left} + {width}"


def _less(e: Emission, at: At, low: str) -> str:
    """The number of a chunk within its group."""
    if at.index is None:
        return "0"
    return e.names[at.index] if low == "0" else f"{e.names[at.index]} - {low}"
