"""What a body has loaded once is not loaded again: transfers bound kernels without products.

Before (tests/ir/same-loads/example.tir), where both loops over a row have one block:

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

The tensors are those that the kernel is given and does not write.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from dslc.compiler.ir import Kernel, Role, TileProgram, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.rewrite import Rewriter, map_kernels
from dslc.compiler.ir.traverse import Body, walk


@dataclass(frozen=True, slots=True)
class SameLoads:
    """Takes the tile of the first of equal loads of a body, in kernels without products."""

    name: ClassVar[str] = "same-loads"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program with each region loaded once in a body."""
        return map_kernels(program, _kernel)


def _kernel(kernel: Kernel) -> Kernel:
    if any(isinstance(s, ins.Dot) for s in walk(kernel.body)):
        return kernel
    return _Once().kernel(kernel)


class _Once(Rewriter):
    def __init__(self) -> None:
        super().__init__()
        self._loaded: dict[object, Value] = {}
        self._same: dict[Value, Value] = {}

    def value(self, value: Value) -> Value:
        """The tile of the first load."""
        return self._same.get(value, value)

    def body(self, body: Body) -> Body:
        """A body, which knows what it has loaded itself."""
        outer, self._loaded = self._loaded, {}
        rewritten = super().body(body)
        self._loaded = outer
        return rewritten

    def statement(self, stmt: Stmt) -> Iterable[Stmt]:
        """Nothing in place of a load that has been."""
        match stmt:
            case ins.Load(out=out, region=region, other=other) if region.memory.role is Role.IN:
                key = region, other, out.type
                if key in self._loaded:
                    self._same[out] = self._loaded[key]
                    return ()
                self._loaded[key] = out
        return super().statement(stmt)
