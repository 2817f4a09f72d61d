"""Arithmetic on f16 becomes arithmetic on f32 between casts, on machines that hold f16 as bits.

Before (tests/ir/wide-halves/example.tir):

    %z = add %x, %y : f16[64]

After:

    %x_1 = cast %x : f32[64]
    %y_1 = cast %y : f32[64]
    %z = add %x_1, %y_1 : f32[64]
    %z_1 = cast %z : f16[64]

That is what the language says of f16: operations compute in f32 and round once, each for itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from typing import ClassVar

from dslc.compiler.dtypes import F16, F32
from dslc.compiler.ir import TileProgram, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.rewrite import Rewriter, map_kernels

_COMPUTING = (ins.Unary, ins.Binary, ins.Fma, ins.Reduce, ins.Scan, ins.Dot)


@dataclass(frozen=True, slots=True)
class WideHalves:
    """Computes in f32 what the program computes in f16."""

    name: ClassVar[str] = "wide-halves"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program whose tiles of f16 are loaded, stored, moved, chosen and cast alone."""
        return map_kernels(program, lambda k: _Wide().kernel(k))


class _Wide(Rewriter):
    def statement(self, stmt: Stmt) -> Iterable[Stmt]:
        """The statement; of one that computes in f16, casts around it."""
        rebuilt = self.rebuild(stmt)
        if isinstance(rebuilt, _COMPUTING):
            return _between_casts(rebuilt)
        return (rebuilt,)


def _between_casts(stmt: Stmt) -> Iterator[Stmt]:
    casts: dict[Value, Value] = {}
    changes: dict[str, Value] = {}
    for field in fields(stmt):
        value = getattr(stmt, field.name)
        if not isinstance(value, Value) or value.type.dtype != F16:
            continue
        if field.name != "out" and value in casts:
            changes[field.name] = casts[value]
            continue
        wide = Value(replace(value.type, dtype=F32), value.name)
        changes[field.name] = wide
        if field.name != "out":
            casts[value] = wide
            yield ins.Cast(wide, value, loc=stmt.loc)
    yield replace(stmt, **changes)  # type: ignore[arg-type]
    if "out" in changes:
        yield ins.Cast(stmt.out, changes["out"], loc=stmt.loc)  # type: ignore[union-attr,arg-type]
