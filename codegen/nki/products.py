"""Products on the tensor engine: dst[M, N] in PSUM += stationary[K, M]^T moving[K, N].

The partitions of both operands count k. The stationary operand is cut into columns of 128, which become
the partitions of the result, the moving one into columns of 512, a bank of PSUM. Each piece of the
result is summed over all of k in one bank, and leaves it at once: the next piece takes another bank.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from dslc.codegen.nki.emission import At, Emission, refuse
from dslc.codegen.nki.held import Held
from dslc.compiler.dtypes import BF16, F32, I32, Kind, DType
from dslc.compiler.ir import Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.targets.nki import MOVING, PARTITIONS


def accumulate(first: str) -> str:
    """The flag of a product from the text that says whether one came before."""
    return first if first in ("False", "True") else f"({first})"


@dataclass(frozen=True, slots=True)
class Operand:
    """A side of the product: its tile, or the load that brings it piece by piece."""

    value: Value
    load: ins.Load | None
    held: Held | None
    columns: int


def dot(e: Emission, stmt: ins.Dot) -> None:
    """out = a @ b + acc."""
    if stmt.out.type.rank != 2:
        from dslc.codegen.nki.batches import batched

        batched(e, stmt)
        return
    swapped = stmt.atom is not None and stmt.atom.endswith(".swap")
    first, second = (stmt.b, stmt.a) if swapped else (stmt.a, stmt.b)
    limit = _exact_rows(stmt)
    stationary, moving = _operand(e, first, limit), _operand(e, second, limit)
    if stmt.acc is not None and stmt.acc in e.sums:
        _into_sums(e, stmt, stationary, moving)
        return
    acc = None if stmt.acc is None else e.held(stmt.acc)
    if acc is not None and acc.constant is not None:
        acc = None if float(acc.constant) == 0.0 else e.tensors(acc)
    made = e.result(stmt.out)
    depth = stmt.a.type.shape[-1]
    pieces = Pieces(e, made, acc, stationary, moving, depth, limit)
    pieces.emit()


def _operand(e: Emission, value: Value, limit: int) -> Operand:
    columns = prod(value.type.shape) // _depth(e, value)
    if value in e.streamed and limit == 0:
        return Operand(value, e.streamed.pop(value), None, columns)
    held = e.in_sbuf(e.tensors(e.held(value)))
    return Operand(value, None, multipliable(e, held), columns)


def _depth(e: Emission, value: Value) -> int:
    axis = e.place(value).axis
    assert axis is not None
    return value.type.shape[axis]


def multipliable(e: Emission, held: Held) -> Held:
    """The tile in a type that the tensor engine takes; integers of at most 8 bits are exact in bf16."""
    if held.dtype.is_float and held.dtype.bits >= 16:
        return held
    from dslc.codegen.nki.elementwise import copy

    made = e.like(held, held.name, BF16)
    copy(e, made, held)
    return made


def _exact_rows(stmt: ins.Dot) -> int:
    """How many products of integers f32 sums exactly, in whole chunks of k; 0 for floats."""
    a, b = stmt.a.type.dtype, stmt.b.type.dtype
    if a.is_float:
        return 0
    if max(a.bits, b.bits) > 8:
        raise refuse(stmt, f"the tensor engine has no exact product of {a} and {b}")
    greatest = [max(abs(n) for n in d.integer_range) for d in (a, b)]
    return max(PARTITIONS, (1 << 24) // (greatest[0] * greatest[1]) // PARTITIONS * PARTITIONS)


def _into_sums(e: Emission, stmt: ins.Dot, stationary: Operand, moving: Operand) -> None:
    """A turn of a loop that sums in PSUM: the accumulator stays where it is."""
    assert stmt.acc is not None
    sums = e.values[stmt.acc]
    earlier = e.sums[stmt.acc]
    e.values[stmt.out] = sums
    a, b = _loaded(e, stationary), _loaded(e, moving)
    with e.over(sums) as at:
        with e.over(a) as k:
            before = earlier if k.index is None else f"{earlier} or {e.names[k.index]} > 0"
            columns = _range(e, at, PARTITIONS)
            e.call(
                "nc_matmul", dst=e.text(sums, at),
                stationary=f"{e.base(a, k)}[0:{k.rows}, {columns}]", moving=e.text(b, k),
                accumulate=accumulate(before),
            )  # fmt: skip


def _loaded(e: Emission, operand: Operand) -> Held:
    if operand.held is not None:
        return operand.held
    assert operand.load is not None
    e.statement(operand.load)
    return e.values[operand.value]


def _range(e: Emission, at: At, width: int) -> str:
    if at.index is None:
        return f"0:{at.rows}"
    start = f"{width} * {e.names[at.index]}"
    return f"{start}:{start} + {at.rows}"


class Pieces:
    """The result of one product, piece by piece."""

    def __init__(
        self, e: Emission, made: Held, acc: Held | None, stationary: Operand, moving: Operand,
        depth: int, limit: int,
    ) -> None:  # fmt: skip
        self.e, self.made, self.acc, self.depth, self.limit = e, made, acc, depth, limit
        self.stationary, self.moving = stationary, moving

    def emit(self) -> None:
        """All pieces."""
        from dslc.codegen.nki.streams import over_panels

        if self.stationary.load is not None or self.moving.load is not None:
            over_panels(self)
            return
        assert self.stationary.held is not None and self.moving.held is not None
        with self.e.filled(self.made) as at:
            self.columns(at, self.stationary.held, self.moving.held)

    def columns(
        self, at: At, stationary: Held, moving: Held, at_panel: str = "0", width: int | None = None,
        stationary_at: str | None = None,
    ) -> None:  # fmt: skip
        """The pieces of one chunk of the result."""
        e = self.e
        total = width if width is not None else self.moving.columns
        for start in range(0, total, MOVING):
            stop = min(total, start + MOVING)
            self._piece(at, stationary, moving, start, stop, at_panel, stationary_at)
        _ = e

    def _piece(
        self, at: At, stationary: Held, moving: Held, start: int, stop: int, at_panel: str,
        stationary_at: str | None,
    ) -> None:  # fmt: skip
        e = self.e
        steps = self.limit or self.depth
        exact = self.limit > 0
        for low in range(0, self.depth, steps):
            sums = e.out.name("sums")
            e.out.line(
                f"{sums} = nl.ndarray(({at.rows}, {stop - start}), dtype=nl.float32, buffer=nl.psum)"
            )
            self._sum(sums, at, stationary, moving, start, stop, low, steps, stationary_at)
            dst = _columns_of(e, self.made, at, at_panel, start, stop)
            acc = None if self.acc is None else _columns_of(e, self.acc, at, at_panel, start, stop)
            if low > 0:
                acc = dst
            if acc is None:
                e.call("tensor_copy", dst=dst, src=sums)
            elif exact:
                whole = e.out.name("whole")
                shape = f"({at.rows}, {stop - start})"
                e.out.line(f"{whole} = nl.ndarray({shape}, dtype=nl.int32, buffer=nl.sbuf)")
                e.call("tensor_copy", dst=whole, src=sums)
                e.call(
                    "tensor_tensor", dst=dst, data1=whole, data2=acc, op="nl.add",
                    engine="nisa.engine.gpsimd",
                )  # fmt: skip
            else:
                e.call("tensor_tensor", dst=dst, data1=sums, data2=acc, op="nl.add")

    def _sum(
        self, sums: str, at: At, stationary: Held, moving: Held, start: int, stop: int, low: int,
        steps: int, stationary_at: str | None,
    ) -> None:  # fmt: skip
        """One bank: all of k, or as much of it as integers allow."""
        e = self.e
        columns = stationary_at or _range(e, at, PARTITIONS)
        first, last = low // PARTITIONS, -(-min(self.depth, low + steps) // PARTITIONS)
        if stationary.chunks == 1:
            k = At(None, stationary.rows)
            self._multiply(sums, stationary, moving, k, columns, start, stop, "False")
            return
        index = e.index_variable("k")
        begin = f"{first}, " if first else ""
        with e.out.block(f"for {e.names[index]} in range({begin}{last})"):
            k = At(index, e.rows_of(stationary, index))
            self._multiply(
                sums, stationary, moving, k, columns, start, stop, f"{e.names[index]} > {first}"
            )

    def _multiply(
        self, sums: str, stationary: Held, moving: Held, k: At, columns: str, start: int, stop: int,
        earlier: str,
    ) -> None:  # fmt: skip
        e = self.e
        e.call(
            "nc_matmul", dst=sums, stationary=f"{e.base(stationary, k)}[0:{k.rows}, {columns}]",
            moving=f"{e.base(moving, k)}[0:{k.rows}, {start}:{stop}]",
            accumulate=accumulate(earlier),
        )  # fmt: skip


def _columns_of(e: Emission, held: Held, at: At, panel: str, start: int, stop: int) -> str:
    if panel == "0":
        if (start, stop) == (0, held.extents[0]) and len(held.extents) == 1:
            return e.text(held, at)
        return f"{e.base(held, at)}[0:{at.rows}, {start}:{stop}]"
    left = f"{panel} + {start}" if start else panel
    return f"{e.base(held, at)}[0:{at.rows}, {left}:{panel} + {stop}]"


__all__ = ["F32", "I32", "DType", "Kind"]
EMITTERS = {ins.Dot: dot}
