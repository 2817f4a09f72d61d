"""The instructions of Tile IR that make tiles of tiles: element by element, by shape, by products."""

from __future__ import annotations

from dataclasses import dataclass

from dslc.compiler.diagnostics import Loc
from dslc.compiler.ir.expr import Expr
from dslc.compiler.ir.located import loc_field as _loc
from dslc.compiler.ir.values import Value

# Making


@dataclass(frozen=True, slots=True, eq=False)
class Full:
    """Every element is `value`, a scalar of out's dtype."""

    out: Value
    value: Expr
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class Undefined:
    """A register tile whose elements must be written before they are read."""

    out: Value
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class Arange:
    """0, 1, 2, ... as i32 along the one axis."""

    out: Value
    loc: Loc | None = _loc()


# Elementwise


@dataclass(frozen=True, slots=True, eq=False)
class Unary:
    """out = op(x), op from expr.UNARY_OPS."""

    out: Value
    op: str
    x: Value
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class Binary:
    """out = op(x, y), op from expr.BINARY_OPS; comparisons give bool."""

    out: Value
    op: str
    x: Value
    y: Value
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class Fma:
    """out = x * y + z, rounded once."""

    out: Value
    x: Value
    y: Value
    z: Value
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class Fused:
    """out = xs[0] after `steps`, words with a blank between: what engines do to a tile at a time.

    A step is from expr.UNARY_OPS, `square` or `silu` (x * sigmoid(x)), or one of FUSED_OPS and takes
    the next of the other `xs` as its second operand (`rsub`: as its first). Each computes in f32; the
    last result is rounded to out's dtype.
    """

    out: Value
    xs: tuple[Value, ...]
    steps: str
    loc: Loc | None = _loc()


FUSED_OPS = ("add", "sub", "rsub", "mul", "max", "min")
"""The steps of Fused that have two operands."""


@dataclass(frozen=True, slots=True, eq=False)
class Where:
    """out = x where condition (bool), else y."""

    out: Value
    condition: Value
    x: Value
    y: Value
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class Cast:
    """Another dtype: to a float rounds to nearest even, float to integer truncates and saturates,
    integer to a narrower integer wraps unless `saturate`.
    """

    out: Value
    x: Value
    saturate: bool = False
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """The same bits per thread as another dtype and layout; both tiles have layouts.

    Or neither: then each element's bits are those of one of the other dtype.
    """

    out: Value
    x: Value
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class ConvertLayout:
    """The same elements in another layout (through registers, shuffles or shared memory)."""

    out: Value
    x: Value
    loc: Loc | None = _loc()


# Reductions


@dataclass(frozen=True, slots=True, eq=False)
class Reduce:
    """Over one axis; op is sum, max, min, any, all, argmax, argmin (these give i32) or of MOMENTS."""

    out: Value
    op: str
    x: Value
    axis: int
    keepdims: bool = False
    loc: Loc | None = _loc()


MOMENTS = ("mean", "variance")
"""Reductions of floats that give f32: the mean, and the mean square of what is left without it."""


@dataclass(frozen=True, slots=True, eq=False)
class ClusterReduce:
    """In the turn of rank 0 the x of all turns of the cluster, by `op` in the order of their ranks.

    op is add, min or max. `rank` is the turn's own; each comes here, and the others keep their x.
    """

    out: Value
    op: str
    x: Value
    rank: Expr
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class Scan:
    """Inclusive prefix along one axis; op is sum."""

    out: Value
    op: str
    x: Value
    axis: int
    loc: Loc | None = _loc()


# Shape


@dataclass(frozen=True, slots=True, eq=False)
class Transpose:
    """out's axis i is x's axis axes[i]."""

    out: Value
    x: Value
    axes: tuple[int, ...]
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class Reshape:
    """The same elements in row-major order."""

    out: Value
    x: Value
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class Broadcast:
    """NumPy's broadcast_to: x may have fewer axes, and axes of size 1 stretch."""

    out: Value
    x: Value
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class Repeat:
    """Each element `times` times along the axis (NumPy's repeat)."""

    out: Value
    x: Value
    times: int
    axis: int
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class Concat:
    """The tiles one after another along the axis."""

    out: Value
    xs: tuple[Value, ...]
    axis: int
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class Extract:
    """A constant slice of a tile: per axis of x a start, and a step; sizes are out's shape.

    Axes in `dropped` have size 1 and are not in out's shape.
    """

    out: Value
    x: Value
    starts: tuple[int, ...]
    steps: tuple[int, ...]
    dropped: tuple[int, ...] = ()
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class Dot:
    """out = a @ b (+ acc), batched over leading axes: [.., m, k] x [.., k, n].

    Floats accumulate in f32 (f64 for f64), integers in i32. `atom` names the matrix unit, once chosen.
    An operand that has no layout by then is read from shared memory by the unit itself, which takes its
    time: such a Dot `is_async`. Its result may be read, and what it reads be overwritten, only after
    the WaitDots for it; the next Dot may take the result as its accumulator at once.

    `scale_a` [.., m, k / 32] and `scale_b` [.., k / 32, n] of e8m0 multiply blocks of 32 along k (OCP
    Microscaling Formats Specification 1.0, section 5).
    """

    out: Value
    a: Value
    b: Value
    acc: Value | None = None
    scale_a: Value | None = None
    scale_b: Value | None = None
    atom: str | None = None
    loc: Loc | None = _loc()

    @property
    def is_scaled(self) -> bool:
        """Whether blocks of an operand have scales."""
        return self.scale_a is not None or self.scale_b is not None

    @property
    def is_async(self) -> bool:
        """Whether it ends only at a WaitDots."""
        in_memory = self.a.type.layout is None or self.b.type.layout is None
        return self.atom is not None and in_memory
