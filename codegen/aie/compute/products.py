"""Matrix products: by the core's matrix shape over blocked operands, or lane by lane for any shape.

A matrix shape multiplies blocks that lie contiguous in memory. Four results are summed in registers
along the whole of k, so that each block that is loaded is used twice. Blocks of a transposed operand
are transposed in registers.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass

from dslc.codegen.aie.compute.arithmetic import splat
from dslc.codegen.aie.compute.casts import converted
from dslc.codegen.aie.compute.emission import Blocks, Emission, Stored
from dslc.codegen.aie.compute.filling import chunk, fill, held
from dslc.codegen.aie.compute.indices import Index
from dslc.codegen.aie.dtypes import element
from dslc.codegen.aie.printing.builder import Loop, vector
from dslc.compiler.ir import Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.targets import Atom

_ACROSS = 2  # results in registers along each side

MAPS = (
    "#lhs = affine_map<(m, n, k) -> (m, k)>",
    "#rhs = affine_map<(m, n, k) -> (k, n)>",
    "#acc = affine_map<(m, n, k) -> (m, n)>",
)
_CONTRACT = (
    'vector.contract {indexing_maps = [#lhs, #rhs, #acc], iterator_types = ["parallel", "parallel", '
    '"reduction"], kind = #vector.kind<add>}'
)


def product(e: Emission, stmt: ins.Dot, atom: Atom | None) -> None:
    """`out = a b + acc`, in the accumulator's memory where the placement says so."""
    blocks = None if atom is None else (atom.m, atom.n)
    sums = _accumulator(e, stmt, blocks)
    if atom is None:
        _by_lanes(e, stmt, sums)
    else:
        a = _operand(e, stmt.a, (atom.m, atom.k))
        b = _operand(e, stmt.b, (atom.k, atom.n))
        _by_blocks(e, atom, stmt, a, b, sums)
    e.held[stmt.out] = sums


@dataclass(frozen=True, slots=True)
class _Operand:
    """A blocked matrix of so many blocks a row; `transposed` where its transpose lies there."""

    memory: Stored
    blocks: Blocks
    across: int
    transposed: bool

    def block(self, e: Emission, i: Index, j: Index) -> str:
        """Block i, j as a matrix in registers."""
        rows, columns = self.blocks
        if not self.transposed:
            return _block(e, self.memory, i * self.across + j, self.blocks)
        rows_first = _block(e, self.memory, j * self.across + i, (columns, rows))
        kind = element(self.memory.dtype)
        types = f"vector<{columns}x{rows}x{kind}> to vector<{rows}x{columns}x{kind}>"
        return e.out.op(f"vector.transpose {rows_first}, [1, 0] : {types}", "turned")


def _operand(e: Emission, value: Value, blocks: Blocks) -> _Operand:
    """An operand in memory, as it is or as it is before it is transposed."""
    stmt = None if value in e.held else e.definitions.get(value)
    transposed = isinstance(stmt, ins.Transpose) and stmt.axes == (1, 0)
    x, own = (
        (stmt.x, blocks[::-1])
        if transposed and isinstance(stmt, ins.Transpose)
        else (value, blocks)
    )
    return _Operand(held(e, x, own), blocks, x.type.shape[1] // own[1], transposed)


def _accumulator(e: Emission, stmt: ins.Dot, blocks: Blocks | None) -> Stored:
    """The memory of the result, holding what it begins with."""
    out = stmt.out
    acc = e.held.get(stmt.acc) if stmt.acc is not None else None
    if stmt in e.in_place and acc is not None and acc.blocks == blocks and acc.is_dense:
        return acc
    sums = e.buffer(out.name or "acc", out.type.dtype, out.type.shape, blocks)
    if stmt.acc is not None:
        fill(e, stmt.acc, sums)
    return sums


def _by_blocks(e: Emission, atom: Atom, stmt: ins.Dot, a: _Operand, b: _Operand, c: Stored) -> None:
    m, k = stmt.a.type.shape
    n = stmt.b.type.shape[1]
    rows, columns, depth = m // atom.m, n // atom.n, k // atom.k
    across = [_ACROSS if count % _ACROSS == 0 else 1 for count in (rows, columns)]
    kind = f"vector<{atom.m}x{atom.n}x{element(stmt.out.type.dtype)}>"
    with ExitStack() as loops:
        i = e.out.at(loops.enter_context(e.loop(rows // across[0])), across[0])
        j = e.out.at(loops.enter_context(e.loop(columns // across[1])), across[1])
        cells = [(i + r, j + s) for r in range(across[0]) for s in range(across[1])]
        if stmt.acc is None:
            zero = e.out.constant(0, kind)
            first = [zero for _ in cells]
        else:
            first = [_block(e, c, (r * columns + s), (atom.m, atom.n)) for r, s in cells]
        with e.loop(depth, tuple((x, kind) for x in first), "k") as loop:
            _multiply(e, atom, loop, (a, b), (i, j), (across[0], across[1]))
        for (r, s), total in zip(cells, loop.results, strict=True):
            _store_block(e, c, r * columns + s, (atom.m, atom.n), total)


def _multiply(
    e: Emission,
    atom: Atom,
    loop: Loop,
    operands: tuple[_Operand, _Operand],
    at: tuple[Index, Index],
    across: tuple[int, int],
) -> None:
    """One step along k: the blocks of a and of b, and each with each."""
    a, b = operands
    (i, j), k = at, e.out.at(loop)
    left = [a.block(e, i + r, k) for r in range(across[0])]
    right = [b.block(e, k, j + s) for s in range(across[1])]
    types = f"{_matrix(a.memory, atom.m, atom.k)}, {_matrix(b.memory, atom.k, atom.n)}"
    for number, carry in enumerate(loop.carried):
        x, y = left[number // across[1]], right[number % across[1]]
        text = f"{_CONTRACT} {x}, {y}, {carry.inner} : {types} into {carry.type}"
        loop.yielded.append(e.out.op(text, "dot"))


def _matrix(held: Stored, rows: int, columns: int) -> str:
    return f"vector<{rows}x{columns}x{element(held.dtype)}>"


def _block(e: Emission, held: Stored, number: Index, blocks: Blocks) -> str:
    """A block as a matrix in registers."""
    rows, columns = blocks
    flat = vector(rows * columns, element(held.dtype))
    place = e.out.index(number * (rows * columns) + held.offset)
    elements = e.out.op(f"vector.load {held.name}[{place}] : {held.type}, {flat}", "row")
    kind = _matrix(held, rows, columns)
    return e.out.op(f"vector.shape_cast {elements} : {flat} to {kind}", "block")


def _store_block(e: Emission, held: Stored, number: Index, blocks: Blocks, value: str) -> None:
    rows, columns = blocks
    flat = vector(rows * columns, element(held.dtype))
    kind = _matrix(held, rows, columns)
    row = e.out.op(f"vector.shape_cast {value} : {kind} to {flat}", "row")
    place = e.out.index(number * (rows * columns) + held.offset)
    e.out.effect(f"vector.store {row}, {held.name}[{place}] : {held.type}, {flat}")


def _by_lanes(e: Emission, stmt: ins.Dot, made: Stored) -> None:
    """Each chunk of a row of the result: the sum of a's elements times chunks of b's rows."""
    *batch, m, k = stmt.a.type.shape
    n = stmt.b.type.shape[-1]
    dtype = stmt.out.type.dtype
    lanes = chunk(e, stmt.b, n)
    while lanes > 16 or n % lanes:
        lanes //= 2
    kind = e.type(dtype, lanes)
    with ExitStack() as loops:
        outer = [e.out.at(loops.enter_context(e.loop(size))) for size in batch]
        i = e.out.at(loops.enter_context(e.loop(m)))
        j = e.out.at(loops.enter_context(e.loop(n // lanes)), lanes)
        at = (*outer, i, j)
        zero = e.out.constant(0, kind)
        first = zero if stmt.acc is None else e.load(made, at, lanes)
        with e.loop(k, ((first, kind),), "k") as loop:
            step = e.out.at(loop)
            x = e.pull(stmt.a, (*outer, i, step), 1)
            y = e.pull(stmt.b, (*outer, step, j), lanes)
            x = converted(e, stmt, x, stmt.a.type.dtype, dtype, 1)
            x = splat(e, x, element(dtype), lanes)
            y = converted(e, stmt, y, stmt.b.type.dtype, dtype, lanes)
            loop.yielded.append(_multiply_add(e, x, y, loop.carried[0].inner, kind, dtype.is_float))
        e.store(loop.results[0], made, at, lanes)


def _multiply_add(e: Emission, x: str, y: str, z: str, kind: str, is_float: bool) -> str:
    if is_float:
        return e.out.op(f"math.fma {x}, {y}, {z} : {kind}", "fma")
    scaled = e.out.op(f"arith.muli {x}, {y} : {kind}", "product")
    return e.out.op(f"arith.addi {scaled}, {z} : {kind}", "sum")
