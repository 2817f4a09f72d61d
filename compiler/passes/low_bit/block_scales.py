"""Products of small floats with the scales of their blocks. Serves gfx950 alone: gain not measured.

Its units multiply both as they are.

Before (tests/ir/block-scales/example.tir):

    %a = load @a[m : +16, 0 : +256] : f8e4m3[16, 256]
    %x = cast %a : bf16[16, 256]
    %w = load @w[0 : +256, n : +16] : f4e2m1[256, 16]
    %y = cast %w : bf16[256, 16]
    %s = load @s[0 : +8, n : +16] : e8m0[8, 16]
    %t = cast %s : bf16[8, 16]
    %r = repeat %t, times=32, axis=0 : bf16[256, 16]
    %z = mul %y, %r : bf16[256, 16]
    %c = dot %x, %z : f32[16, 16]
    store @c[m : +16, n : +16], %c

After:

    %a = load @a[m : +16, 0 : +256] : f8e4m3[16, 256]
    %w = load @w[0 : +256, n : +16] : f4e2m1[256, 16]
    %s = load @s[0 : +8, n : +16] : e8m0[8, 16]
    %c = dot %a, %w, scale_b=%s : f32[16, 16]
    store @c[m : +16, n : +16], %c

Both are exact as long as the scaled elements are numbers of the wider dtype, which has the range of the
scales: f32 or bf16. Beyond it the unit alone keeps them. Without scales any wider dtype will do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from dslc.compiler.dtypes import BF16, E8M0, F32
from dslc.compiler.dtypes.dtype import MX_BLOCK
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.program import Kernel, TileProgram
from dslc.compiler.ir.rewrite import Rewriter, map_kernels
from dslc.compiler.ir.traverse import Name, definitions
from dslc.compiler.ir.values import TileType, Value
from dslc.compiler.passes.layouts.matrix import atoms_for
from dslc.compiler.passes.simplification.dead_code import remove_dead_code
from dslc.compiler.targets import Target

_WIDE = (BF16, F32)  # with the exponents of e8m0


@dataclass(frozen=True, slots=True)
class BlockScales:
    """Gives products small operands and their scales, where the target has a unit for both."""

    target: Target
    name: str = "block-scales"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program with such products."""
        if not any(atom.scaled for atom in self.target.atoms):
            return program
        return map_kernels(program, self._kernel)

    def _kernel(self, kernel: Kernel) -> Kernel:
        body = _Finder(kernel, self.target).body(kernel.body)
        return kernel if body is kernel.body else remove_dead_code(replace(kernel, body=body))


@dataclass(frozen=True, slots=True)
class _Operand:
    """Elements as they are stored, their scales, and the statements that turn these as needed."""

    codes: Value
    scales: Value | None = None
    made: tuple[Stmt, ...] = ()


class _Finder(Rewriter):
    def __init__(self, kernel: Kernel, target: Target) -> None:
        super().__init__()
        self.target = target
        self.known = definitions(kernel.body)

    def statement(self, stmt: Stmt) -> Iterable[Stmt]:
        """A product over what its operands were made of."""
        if isinstance(stmt, ins.Dot) and stmt.atom is None and not stmt.is_scaled:
            rank = stmt.a.type.rank
            a, b = _operand(stmt.a, rank - 1, self.known), _operand(stmt.b, rank - 2, self.known)
            if a is not None and b is not None:
                dot = replace(stmt, a=a.codes, b=b.codes, scale_a=a.scales, scale_b=b.scales)
                if any(atom.scaled for atom in atoms_for(dot, self.target)):
                    return (*a.made, *b.made, dot)
        return super().statement(stmt)


def _operand(x: Value, axis: int, known: Mapping[Name, Stmt]) -> _Operand | None:
    """What a tile of small floats is made of; k is the axis. None where it is something else."""
    definition = known.get(x)
    match definition:
        case ins.Transpose(x=source, axes=axes):
            inner = _operand(source, axes[axis], known)
            return None if inner is None else _transposed(inner, definition)
        case ins.Binary(op="mul", x=left, y=right) if x.type.dtype in _WIDE:
            for codes, factor in ((left, right), (right, left)):
                plain, scales = _operand(codes, axis, known), _scales(factor, axis, known)
                if plain is not None and plain.scales is None and scales is not None:
                    return replace(plain, scales=scales.codes, made=(*plain.made, *scales.made))
            return None
        case ins.Cast(x=source) if (
            x.type.dtype.is_float and source.type.dtype.bits < x.type.dtype.bits
        ):
            return _operand(source, axis, known)
    small = x.type.dtype.is_float and x.type.dtype != E8M0 and x.type.dtype.bits <= E8M0.bits
    return _Operand(x) if small else None


def _transposed(inner: _Operand, made: ins.Transpose) -> _Operand:
    """A transposed operand, by transposing what it is made of."""

    def transposed(x: Value) -> ins.Transpose:
        shape = tuple(x.type.shape[d] for d in made.axes)
        return replace(made, out=Value(TileType(x.type.dtype, shape), x.name), x=x)

    codes, scales = (
        transposed(inner.codes),
        None if inner.scales is None else transposed(inner.scales),
    )
    transposes = (codes,) if scales is None else (codes, scales)
    return _Operand(
        codes.out, scales.out if scales is not None else None, (*inner.made, *transposes)
    )


def _scales(x: Value, axis: int, known: Mapping[Name, Stmt]) -> _Operand | None:
    """The scales of which a tile repeats each for whole blocks along the axis."""
    wide = known.get(x)
    if isinstance(wide, ins.Cast):
        x, wide = wide.x, known.get(wide.x)
    if not isinstance(wide, ins.Repeat) or wide.axis != axis or wide.times % MX_BLOCK:
        return None
    source, loc = wide.x, wide.loc
    narrow = known.get(source)
    if isinstance(narrow, ins.Cast):
        source = narrow.x
    if source.type.dtype != E8M0:
        return None
    if wide.times == MX_BLOCK:
        return _Operand(source)
    blocks = tuple(n // MX_BLOCK if d == axis else n for d, n in enumerate(x.type.shape))
    scales = Value(TileType(E8M0, blocks), source.name)
    return _Operand(
        scales, None, (ins.Repeat(scales, source, wide.times // MX_BLOCK, axis, loc=loc),)
    )
