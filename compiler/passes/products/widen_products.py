"""Products whose types no matrix unit takes get operands of wider types that one does take.

Before (tests/ir/widen-products/f8.tir), for sm_80, which multiplies no f8:

    %x = load @a[m : +16, 0 : +64!] : f8e4m3[16, 64]
    %w = load @b[0 : +64!, n : +64!] : f8e5m2[64, 64]
    %acc = dot %x, %w : f32[16, 64]

After:

    %x = load @a[m : +16, 0 : +64!] : f8e4m3[16, 64]
    %w = load @b[0 : +64!, n : +64!] : f8e5m2[64, 64]
    %x_wide = cast %x : f16[16, 64]
    %w_wide = cast %w : f16[64, 64]
    %acc = dot %x_wide, %w_wide : f32[16, 64]

Each number of the narrow types is one of the wider type, and the accumulator stays the same, so nothing
is rounded that was not before. Without a unit each multiply-add takes instructions of its own: f8 on
sm_80 was 16 times slower than f16. Parameters stay as callers pass them: bytes that were no weights are
not packed for the cast.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

from dslc.compiler.analysis.weights import CODES, packed_freely
from dslc.compiler.dtypes import BF16, F16, DType
from dslc.compiler.dtypes.casting import is_exact
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.program import Kernel, TileProgram
from dslc.compiler.ir.rewrite import Rewriter, Substitution, map_kernels
from dslc.compiler.ir.values import TileType, Value
from dslc.compiler.targets import Target

_WIDER = (F16, BF16)  # the first that holds both operands


@dataclass(frozen=True, slots=True)
class WidenProducts:
    """Casts operands for which the target has no atom, exactly, to types for which it has one."""

    target: Target
    name: ClassVar[str] = "widen-products"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program with these casts."""
        return map_kernels(program, self._kernel)

    def _kernel(self, kernel: Kernel) -> Kernel:
        widened = _Widener(self.target).kernel(kernel)
        if widened is kernel:
            return kernel
        more = packed_freely(widened) - packed_freely(kernel)
        marked = {m: replace(m, packed=CODES) for m in more if not m.dtype.is_low_bit}
        return Substitution(memories=marked).kernel(widened) if marked else widened


class _Widener(Rewriter):
    def __init__(self, target: Target) -> None:
        super().__init__()
        self._target = target

    def statement(self, stmt: Stmt) -> Iterable[Stmt]:
        """A product that no unit takes, after the casts of its operands."""
        rebuilt = self.rebuild(stmt)
        if not isinstance(rebuilt, ins.Dot) or rebuilt.is_scaled or rebuilt.atom is not None:
            return (rebuilt,)
        wide = self._wider(rebuilt.a.type.dtype, rebuilt.b.type.dtype)
        if wide is None:
            return (rebuilt,)
        a, b = (_wide(x, wide) for x in (rebuilt.a, rebuilt.b))
        casts = [ins.Cast(y, x, loc=stmt.loc) for x, y in ((rebuilt.a, a), (rebuilt.b, b))]
        return (*casts, replace(rebuilt, a=a, b=b))

    def _wider(self, a: DType, b: DType) -> DType | None:
        """What both are cast to; None where a unit takes them, or nothing that holds them."""
        if self._takes(a, b):
            return None
        if not (a.is_float and b.is_float):
            return None
        exact = (w for w in _WIDER if is_exact(a, w) and is_exact(b, w))
        return next((w for w in exact if self._takes(w, w)), None)

    def _takes(self, a: DType, b: DType) -> bool:
        return any(atom.takes(a.name, b.name) for atom in self._target.atoms)


def _wide(x: Value, dtype: DType) -> Value:
    return Value(TileType(dtype, x.type.shape, x.type.layout), f"{x.name or 'x'}_wide")
