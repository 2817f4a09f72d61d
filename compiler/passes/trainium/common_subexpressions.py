"""What a body has loaded or computed once is not loaded or computed again.

Before (tests/ir/common-subexpressions/example.tir), where both loops over a row have one block:

    %x_1 = load @x[m : +4, 0 : +64] : f32[4, 64]
    %p = reduce max %x_1, axis=1, keepdims : f32[4, 1]
    %x_2 = load @x[m : +4, 0 : +64] : f32[4, 64]
    ...
    %e = sub %x_2, %q : f32[4, 64]

After:

    %x_1 = load @x[m : +4, 0 : +64] : f32[4, 64]
    %p = reduce max %x_1, axis=1, keepdims : f32[4, 1]
    ...
    %e = sub %x_1, %q : f32[4, 64]

Transfers and engines bound kernels without products, and a tile that is kept costs room alone. The
tensors are those that the kernel is given and does not write.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from dslc.compiler.ir import Kernel, Role, TileProgram, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.rewrite import Rewriter, map_kernels
from dslc.compiler.ir.traverse import Body, fields, tile_of, walk

_MADE = (ins.Load, ins.Full, ins.Arange, ins.Reduce)
_PURE = (*ins.ELEMENTWISE, *_MADE, ins.Broadcast, ins.Transpose, ins.Reshape)


@dataclass(frozen=True, slots=True)
class CommonSubexpressions:
    """Takes the tile of the first of equal statements of a body, in kernels without products."""

    name: ClassVar[str] = "common-subexpressions"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program with each tile made once in a body."""
        return map_kernels(program, _kernel)


def _kernel(kernel: Kernel) -> Kernel:
    if any(isinstance(s, ins.Dot) for s in walk(kernel.body)):
        return kernel
    return _Once().kernel(kernel)


class _Once(Rewriter):
    def __init__(self) -> None:
        super().__init__()
        self._made: dict[object, Value] = {}
        self._same: dict[Value, Value] = {}

    def value(self, value: Value) -> Value:
        """The tile of the first statement."""
        return self._same.get(value, value)

    def body(self, body: Body) -> Body:
        """A body, which knows what it has made itself."""
        outer, self._made = self._made, {}
        rewritten = super().body(body)
        self._made = outer
        return rewritten

    def statement(self, stmt: Stmt) -> Iterable[Stmt]:
        """Nothing in place of a statement that has been."""
        (rewritten,) = stmts = tuple(super().statement(stmt))
        key = _key(rewritten)
        if key is None:
            return stmts
        out = tile_of(stmt)
        assert out is not None
        if key in self._made:
            self._same[out] = self._made[key]
            return ()
        self._made[key] = out
        return stmts


def _key(stmt: Stmt) -> object:
    """What is the same for statements that make the same tile; None for those that may not."""
    out = tile_of(stmt)
    if out is None or not isinstance(stmt, _PURE):
        return None
    if isinstance(stmt, ins.Load) and stmt.region.memory.role is not Role.IN:
        return None
    parts = [getattr(stmt, f.name) for f in fields(type(stmt)) if f.name not in ("out", "loc")]
    return type(stmt), out.type, *parts
