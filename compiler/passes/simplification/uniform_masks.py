"""Masks of whole tiles are tested once. Serves attention's masks: 8 to 11 % there.

Where a mask holds for a whole tile one test of scalars stands for one an element.

Before (tests/ir/uniform-masks/example.tir):

    %k = full cast(l, i32) : i32[4, 4]
    %a = add %columns, %k : i32[4, 4]
    %rows = full s : i32[4, 4]
    %c = le %a, %rows : bool[4, 4]
    %m = where %c, %x, %none : f32[4, 4]

After:

    %m_1 : f32[4, 4] = if (l >= -2147483648) & (l + 3 <= cast(s, index)) & ... {
      yield %x
    } else {
      ...
      %c = le %a, %rows : bool[4, 4]
      %m = where %c, %x, %none : f32[4, 4]
      yield %m
    }

Attention's mask cuts only the blocks on the diagonal, a ragged end only the last block. The condition
of a `where` is followed to sums of `arange`s and scalars, whose least and greatest elements are scalars
too: where the greatest of one side stays below the least of the other the mask holds everywhere. Tiles
of integers wrap, so the test also asks that the outer bounds are within the dtype: then nothing has
wrapped that matters. What made the mask alone moves into the branch that needs it.

This is for loops that multiply, whose time goes to instructions. In one that waits for memory a branch
parts what the assembler would mix: an online softmax was 5 % slower with it on an H200.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from dslc.compiler.dtypes import BOOL, INDEX
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import simplify
from dslc.compiler.ir.expr import Binary, Convert, Expr, index
from dslc.compiler.ir.instructions import Joined, Stmt
from dslc.compiler.ir.program import Kernel, TileProgram
from dslc.compiler.ir.rewrite import Rewriter, map_kernels, with_body
from dslc.compiler.ir.traverse import Body, Name, Use, definitions, results, users
from dslc.compiler.ir.values import Memory, Value

_MOST_BITS = 32  # of integers whose bounds an index holds
_FLIPPED = {"ge": "le", "gt": "lt"}
_PURE = (
    ins.Full, ins.Arange, ins.Unary, ins.Binary, ins.Where, ins.Cast, ins.ConvertLayout,
    ins.Transpose, ins.Reshape, ins.Broadcast, ins.Repeat, ins.Extract,
)  # fmt: skip
_SAME_ELEMENTS = (
    ins.ConvertLayout,
    ins.Transpose,
    ins.Reshape,
    ins.Broadcast,
    ins.Repeat,
    ins.Extract,
)


@dataclass(frozen=True, slots=True)
class UniformMasks:
    """Skips the masks of those iterations of a product's loop in which they hold everywhere."""

    name: str = "uniform-masks"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program with its masks behind tests."""
        return map_kernels(program, _kernel)


def _kernel(kernel: Kernel) -> Kernel:
    return with_body(kernel, _Masks(kernel).body(kernel.body))


class _Masks(Rewriter):
    def __init__(self, kernel: Kernel) -> None:
        super().__init__()
        self.made = definitions(kernel.body)
        self.readers = users(kernel.body)
        self.loops = 0  # around the body

    def memory(self, memory: Memory) -> Memory:
        """Memories stay as they are."""
        return memory

    def nested(self, stmt: Stmt, which: int, handed: list[Use]) -> tuple[Body, list[Use]]:
        """A body, with the number of loops around it."""
        inside = isinstance(stmt, ins.For | ins.While)
        self.loops += inside
        rewritten = super().nested(stmt, which, handed)
        self.loops -= inside
        return rewritten

    def body(self, body: Body) -> Body:
        """A body, whose masks are tested in loops."""
        rewritten = super().body(body)
        if not self.loops or not any(isinstance(s, ins.Dot) for s in body):
            return rewritten
        for mask in [s for s in rewritten if isinstance(s, ins.Where)]:
            test = everywhere(mask.condition, self.made)
            if test is not None and mask in rewritten:
                rewritten = self._behind(test, mask, rewritten)
        return rewritten

    def _behind(self, test: Expr, mask: ins.Where, body: Body) -> Body:
        """The body with a mask, and what is made for it alone, behind its test."""
        at = body.index(mask)
        inside: list[Stmt] = [mask]
        for stmt in reversed(body[:at]):
            kept = mask.x in results(stmt)
            if not kept and isinstance(stmt, _PURE) and self._is_for(stmt, inside):
                inside.append(stmt)
        if self.made[mask.condition] not in inside:
            return body  # others want it anyhow
        masked = replace(mask.out)
        then = tuple(reversed([replace(mask, out=masked), *inside[1:]]))
        choice = ins.If(test, (), then, (Joined(mask.out, mask.x, masked),), loc=mask.loc)
        before = (s for s in body[:at] if s not in inside)
        return (*before, choice, *body[at + 1 :])

    def _is_for(self, stmt: Stmt, readers: list[Stmt]) -> bool:
        return all(r in readers for name in results(stmt) for r in self.readers[name])


def everywhere(condition: Value, made: Mapping[Name, Stmt]) -> Expr | None:
    """A scalar condition under which every element of a bool tile holds; None where none is known."""
    stmt = made.get(condition)
    if isinstance(stmt, _SAME_ELEMENTS):
        return everywhere(stmt.x, made)
    if not isinstance(stmt, ins.Binary):
        return None
    if stmt.op == "and" and condition.type.dtype == BOOL:
        both = [everywhere(v, made) for v in (stmt.x, stmt.y)]
        return _all(e for e in both if e is not None) if None not in both else None
    less, more = (stmt.y, stmt.x) if stmt.op in _FLIPPED else (stmt.x, stmt.y)
    op, dtype = _FLIPPED.get(stmt.op, stmt.op), stmt.x.type.dtype
    if op not in ("le", "lt") or dtype.is_float or dtype == BOOL or dtype.bits > _MOST_BITS:
        return None
    left, right = bounds(less, made), bounds(more, made)
    if left is None or right is None:
        return None
    low, high = dtype.integer_range  # the other two bounds lie between these
    return _all(
        (
            Binary(op, left[1], right[0], BOOL),
            Binary("ge", left[0], index(low), BOOL),
            Binary("le", right[1], index(high), BOOL),
        )
    )


def bounds(value: Value, made: Mapping[Name, Stmt]) -> tuple[Expr, Expr] | None:
    """Indices between which the elements lie, as if integers did not wrap."""
    stmt = made.get(value)
    match stmt:
        case ins.Full(value=scalar):
            # What wraps only differs by a multiple of the range.
            inner = scalar.x if isinstance(scalar, Convert) and scalar.x.dtype == INDEX else scalar
            if (isinstance(inner, Convert) and inner.saturate) or inner.dtype.is_float:
                return None
            exact = inner if inner.dtype == INDEX else Convert(inner, INDEX)
            return exact, exact
        case ins.Arange(out=out):
            return index(0), index(out.type.shape[0] - 1)
        case ins.Binary(op="add" | "sub", x=x, y=y):
            a, b = bounds(x, made), bounds(y, made)
            if a is None or b is None:
                return None
            low, high = b if stmt.op == "add" else (b[1], b[0])
            return _simple(stmt.op, a[0], low), _simple(stmt.op, a[1], high)
    if isinstance(stmt, _SAME_ELEMENTS):
        return bounds(stmt.x, made)
    return None


def _simple(op: str, x: Expr, y: Expr) -> Expr:
    return simplify(Binary(op, x, y, INDEX))


def _all(conditions: Iterable[Expr]) -> Expr:
    first, *rest = conditions
    for condition in rest:
        first = Binary("and", first, condition, BOOL)
    return simplify(first)
