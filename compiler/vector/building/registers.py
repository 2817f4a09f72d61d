"""The part of the builder that makes instructions between registers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from dslc.compiler.diagnostics import Loc
from dslc.compiler.dtypes import BOOL, I32, INDEX, DType
from dslc.compiler.ir.expr import COMPARE_OPS
from dslc.compiler.vector import instructions as ins
from dslc.compiler.vector.atoms import ATOMS
from dslc.compiler.vector.constants import constant, lanes_of
from dslc.compiler.vector.folding import fold
from dslc.compiler.vector.function import Stmt
from dslc.compiler.vector.types import POINTER, VectorType
from dslc.compiler.vector.values import Constant, Operand, Register

I8 = DType("i8", I32.kind, 8)
Given: TypeAlias = Operand | int | float | bool


class RegisterBuilder:
    """Appends instructions to the innermost of `bodies`."""

    def __init__(self, loc: Loc | None = None) -> None:
        self.loc = loc
        self.bodies: list[list[Stmt]] = [[]]

    def append(self, stmt: Stmt) -> None:
        """Append a statement that was made elsewhere."""
        self.bodies[-1].append(stmt)

    def append_result(self, instruction: Any) -> Operand:
        """Append an instruction and give its result."""
        self.append(instruction)
        out = instruction.out
        assert isinstance(out, Register)
        return out

    def folded(self, instruction: Any) -> Operand:
        """What the instruction gives: a known value, or its result after it is appended."""
        known = fold(instruction)
        return self.append_result(instruction) if known is None else known

    def operand(self, value: Given, type_: VectorType) -> Operand:
        """A number as a constant of the type; operands are as they are."""
        return value if isinstance(value, (Register, Constant)) else constant(value, type_)

    def offset(self, value: Given) -> Operand:
        """A number of bytes, a lane or an iteration."""
        return self.operand(value, VectorType(INDEX))

    def pair(self, x: Given, y: Given) -> tuple[Operand, Operand]:
        """Two operands of one type, of which one may be a number."""
        given = x if isinstance(x, (Register, Constant)) else y
        assert isinstance(given, (Register, Constant)), "one of two operands is no number"
        type_ = vector_type(given)
        return self.operand(x, type_), self.operand(y, type_)

    def unary(self, op: str, x: Operand, name: str = "") -> Operand:
        """op(x)."""
        return self.folded(ins.Unary(Register(x.type, name), op, x, loc=self.loc))

    def binary(self, op: str, x: Given, y: Given, name: str = "") -> Operand:
        """op(x, y); one of them may be a number."""
        x, y = self.pair(x, y)
        type_ = vector_type(x)
        out = type_.of(BOOL) if op in COMPARE_OPS else type_
        return self.folded(ins.Binary(Register(out, name), op, x, y, loc=self.loc))

    def add(self, x: Given, y: Given, name: str = "") -> Operand:
        """x + y."""
        return self.binary("add", x, y, name)

    def sub(self, x: Given, y: Given, name: str = "") -> Operand:
        """x - y."""
        return self.binary("sub", x, y, name)

    def mul(self, x: Given, y: Given, name: str = "") -> Operand:
        """x * y."""
        return self.binary("mul", x, y, name)

    def fma(self, x: Given, y: Given, z: Operand, name: str = "") -> Operand:
        """x * y + z, rounded once."""
        type_ = vector_type(z)
        x, y = self.operand(x, type_), self.operand(y, type_)
        return self.append_result(ins.Fma(Register(type_, name), x, y, z, loc=self.loc))

    def select(self, condition: Operand, x: Given, y: Given, name: str = "") -> Operand:
        """x where condition, else y."""
        if not (isinstance(x, Register) and x.type == POINTER):
            x, y = self.pair(x, y)
        assert isinstance(x, (Register, Constant))
        assert isinstance(y, (Register, Constant))
        return self.folded(ins.Select(Register(x.type, name), condition, x, y, loc=self.loc))

    def convert(
        self, x: Operand, dtype: DType, *, saturate: bool = False, in_range: bool = False
    ) -> Operand:
        """x in another dtype; x itself where it has that already and nothing is clamped."""
        type_ = vector_type(x)
        if type_.dtype == dtype and not (saturate and dtype.is_float):
            return x
        out = Register(type_.of(dtype))
        return self.folded(ins.Convert(out, x, saturate, in_range, loc=self.loc))

    def nearest(self, x: Operand, dtype: DType) -> Operand:
        """Floats as the nearest integers, which are in range."""
        return self.append_result(ins.Nearest(Register(vector_type(x).of(dtype)), x, loc=self.loc))

    def bitcast(self, x: Operand, type_: VectorType) -> Operand:
        """The same bits as another type."""
        if x.type == type_:
            return x
        return self.folded(ins.Bitcast(Register(type_), x, loc=self.loc))

    # Lanes

    def broadcast(self, x: Operand, lanes: int) -> Operand:
        """A scalar in all lanes."""
        type_ = vector_type(x).by(lanes)
        if isinstance(x, Constant):
            return Constant(x.values, type_)
        return self.append_result(ins.Broadcast(Register(type_), x, loc=self.loc))

    def iota(self, lanes: int, dtype: DType, start: int = 0, step: int = 1) -> Constant:
        """start, start + step, ..., one a lane."""
        return lanes_of([start + step * i for i in range(lanes)], dtype)

    def first_lanes(self, count: Operand, lanes: int) -> Operand:
        """A mask of as many first lanes as `count` says, a scalar of dtype index; all or none past the
        ends.
        """
        # Bytes where they do: one comparison makes the mask of a register of any of them.
        narrow = I8 if lanes < 1 << 7 else I32
        bounded = self.binary("max", self.binary("min", count, lanes), 0)
        known = self.broadcast(self.convert(bounded, narrow), lanes)
        return self.binary("lt", self.iota(lanes, narrow), known)

    def shuffle(self, x: Operand, indices: Sequence[int], y: Operand | None = None) -> Operand:
        """Lane i is lane indices[i] of x and then y."""
        chosen = tuple(indices)
        if y is None and chosen == tuple(range(vector_type(x).count)):
            return x
        out = Register(vector_type(x).by(len(chosen)))
        return self.folded(ins.Shuffle(out, x, y, chosen, loc=self.loc))

    def part(self, x: Operand, start: int, lanes: int) -> Operand:
        """So many lanes from `start` on."""
        return self.shuffle(x, range(start, start + lanes))

    def concat(self, *xs: Operand) -> Operand:
        """Vectors of one dtype, one after another."""
        joined, *rest = xs
        for x in rest:
            lanes = vector_type(joined).count + vector_type(x).count
            joined = self._join(joined, x, lanes)
        return joined

    def _join(self, x: Operand, y: Operand, lanes: int) -> Operand:
        if isinstance(x, Constant) and isinstance(y, Constant):
            values = (*x.values * (1 if len(x.values) > 1 else vector_type(x).count),)
            values += y.values * (1 if len(y.values) > 1 else vector_type(y).count)
            return lanes_of(values, vector_type(x).dtype)
        out = Register(vector_type(x).by(lanes))
        return self.append_result(ins.Shuffle(out, x, y, tuple(range(lanes)), loc=self.loc))

    def permute(self, table: Operand, at: Operand) -> Operand:
        """Lane i is lane at[i] of the table, whose lanes are a power of two."""
        out = Register(vector_type(at).of(vector_type(table).dtype))
        return self.append_result(ins.Permute(out, table, at, loc=self.loc))

    def extract(self, x: Operand, lane: Given) -> Operand:
        """One lane as a scalar."""
        at = self.offset(lane)
        return self.folded(ins.Extract(Register(vector_type(x).by(None)), x, at, loc=self.loc))

    def insert(self, x: Operand, value: Given, lane: Given) -> Operand:
        """x with one lane replaced."""
        at = self.offset(lane)
        put = self.operand(value, vector_type(x).by(None))
        return self.append_result(ins.Insert(Register(x.type), x, put, at, loc=self.loc))

    def reduce(self, op: str, x: Operand) -> Operand:
        """All lanes as one scalar."""
        return self.folded(ins.Reduce(Register(vector_type(x).by(None)), op, x, loc=self.loc))

    def dot(self, atom: str, a: Operand, b: Operand, acc: Operand | None = None) -> Operand:
        """acc + the products of an atom; the lanes of the sums follow from a's."""
        unit = ATOMS[atom]
        lanes = vector_type(a).count // (unit.m * unit.k) * unit.m * unit.n
        out = Register(VectorType(unit.acc, lanes))
        return self.append_result(ins.Dot(out, atom, a, b, acc, loc=self.loc))


def vector_type(x: Operand) -> VectorType:
    """The type of a register that is no pointer."""
    assert isinstance(x.type, VectorType)
    return x.type
