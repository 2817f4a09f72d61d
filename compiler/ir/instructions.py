"""The instructions of Tile IR: block-level, each over whole tiles.

An instruction that gives a tile has it in `out`. Operands of elementwise instructions have one shape
and one dtype: broadcasts, casts and splats of scalars are instructions of their own. Instructions
compare by identity.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from dslc.compiler.diagnostics import Loc
from dslc.compiler.ir.expr import Expr, Var
from dslc.compiler.ir.values import Memory, Region, Value

if TYPE_CHECKING:
    from dslc.compiler.layout import Layout


def _loc() -> Loc | None:
    return field(default=None, kw_only=True, repr=False)


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
    """The same bits per thread as another dtype and layout; both tiles have layouts."""

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
    """Over one axis; op is sum, max, min, any, all, argmax or argmin (these give i32)."""

    out: Value
    op: str
    x: Value
    axis: int
    keepdims: bool = False
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
    time: such a Dot `is_late`. Its result may be read, and what it reads be overwritten, only after the
    WaitDots for it; the next Dot may take the result as its accumulator at once.
    """

    out: Value
    a: Value
    b: Value
    acc: Value | None = None
    atom: str | None = None
    loc: Loc | None = _loc()

    @property
    def is_late(self) -> bool:
        """Whether it ends only at a WaitDots."""
        in_memory = self.a.type.layout is None or self.b.type.layout is None
        return self.atom is not None and in_memory


# Memory


@dataclass(frozen=True, slots=True, eq=False)
class Alloc:
    """An on-chip memory begins to live here; its elements are undefined."""

    memory: Memory
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class Load:
    """A tile from memory; out of bounds (on checked axes) gives `other`, or 0."""

    out: Value
    region: Region
    other: Expr | None = None
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class Store:
    """A tile to memory; out of bounds (on checked axes) is dropped."""

    region: Region
    x: Value
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class AtomicAdd:
    """region += x, each element atomically; `out`, if any, is what stood there before.

    With an `out` it also publishes the turn's earlier writes and sees what others published so.
    """

    region: Region
    x: Value
    out: Value | None = None
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class Gather:
    """Rows by index: along `axis` of the memory, element ids[...] + start of that AxisSlice.

    The region's slice on that axis is a placeholder of size 1; out's shape has ids' shape there.
    Ids out of range read 0.
    """

    out: Value
    region: Region
    ids: Value
    axis: int
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class Scatter:
    """The inverse of Gather: ids out of range are dropped; equal ids in one scatter are a race."""

    region: Region
    ids: Value
    x: Value
    axis: int
    loc: Loc | None = _loc()


# Explicit copies and synchronisation


@dataclass(frozen=True, slots=True, eq=False)
class CopyAsync:
    """Start a copy between memories; it has landed only after the wait for its group.

    `layout`, of the regions' shape, says which thread copies which element, once decided: the first of
    those that hold it. With a `barrier`, one element, the copy is in bulk: a unit of the machine makes
    it, and it has landed when the barrier's phase ends; it belongs to no group.
    """

    dst: Region
    src: Region
    layout: Layout | None = None
    barrier: Region | None = None
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class CommitGroup:
    """The copies started since the last commit form a group."""

    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class WaitGroup:
    """Wait until at most `pending` groups are under way."""

    pending: int
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class WaitDots:
    """Wait until at most `pending` late Dots are under way."""

    pending: int
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class Sync:
    """A barrier of all threads of the turn."""

    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class InitBarriers:
    """The elements of the region become barriers whose phases end after `arrivals` arrivals each.

    A barrier counts its phases from 0. A phase ends when all have arrived and the bytes that they
    announced have been copied; then the next begins.
    """

    region: Region
    arrivals: int
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class Arrive:
    """One arrival at a barrier; its phase ends only after `bytes` more bytes of bulk copies.

    One thread arrives for all; with `together`, it is an arrival once every warp has come to it.
    """

    region: Region
    bytes: int = 0
    together: bool = False
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class AwaitPhase:
    """Wait until the barrier's latest phase of that parity (0 or 1) has ended; it may have by now."""

    region: Region
    parity: Expr
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class SemaphoreWait:
    """Spin until the one element of the region equals `value`, then see what was released."""

    region: Region
    value: Expr
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class SemaphoreRelease:
    """Publish earlier writes, then set the one element of the region to `value`."""

    region: Region
    value: Expr
    loc: Loc | None = _loc()


# Scalars and debugging


@dataclass(frozen=True, slots=True, eq=False)
class Let:
    """A scalar gets a name."""

    var: Var
    value: Expr
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class Print:
    """Print a text and values, once a turn."""

    text: str
    args: tuple[Value | Expr, ...]
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class Assert:
    """Stop with the text unless the scalar holds."""

    condition: Expr
    text: str
    loc: Loc | None = _loc()


# Structured control flow. A carried value is a tile (Value) or a scalar (Var, with an Expr going in).


@dataclass(frozen=True, slots=True, eq=False)
class Carried:
    """A value that a loop hands from turn to turn.

    `inner` is its name inside, `init` what it is at first, `yielded` what the next turn gets, `result`
    its name after the loop.
    """

    result: Value | Var
    inner: Value | Var
    init: Value | Expr
    yielded: Value | Expr


@dataclass(frozen=True, slots=True, eq=False)
class For:
    """A sequential loop: `var` from start up to stop (exclusive) by step.

    `stages`, `unroll` and `split` are the options as asked, None where the compiler may choose.
    """

    var: Var
    start: Expr
    stop: Expr
    step: Expr
    body: tuple[Stmt, ...]
    carried: tuple[Carried, ...] = ()
    stages: int | None = None
    unroll: int | None = None
    split: int | None = None
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class While:
    """`before` computes the condition at the head of each turn and sees the carried values."""

    before: tuple[Stmt, ...]
    condition: Expr
    body: tuple[Stmt, ...]
    carried: tuple[Carried, ...] = ()
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class Joined:
    """A value that the two branches of an If give."""

    result: Value | Var
    then: Value | Expr
    otherwise: Value | Expr


@dataclass(frozen=True, slots=True, eq=False)
class If:
    """Two branches on a scalar condition."""

    condition: Expr
    then: tuple[Stmt, ...]
    otherwise: tuple[Stmt, ...] = ()
    joined: tuple[Joined, ...] = ()
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class Aside:
    """Warps of their own run the body, beside the turn's warps, which go on with what follows at once.

    It stands right in a kernel's body, once. The two sides meet at barriers with phases alone; a Sync
    after it is among the turn's own warps, and so are the arrivals of all warps together. `registers`
    are what each thread of the body needs: where warps can hand registers on, the others get the rest.
    """

    body: tuple[Stmt, ...]
    warps: int
    registers: int | None = None
    loc: Loc | None = _loc()


Instruction: TypeAlias = (
    Full
    | Undefined
    | Arange
    | Unary
    | Binary
    | Fma
    | Where
    | Cast
    | View
    | ConvertLayout
    | Reduce
    | Scan
    | Transpose
    | Reshape
    | Broadcast
    | Repeat
    | Concat
    | Extract
    | Dot
    | Alloc
    | Load
    | Store
    | AtomicAdd
    | Gather
    | Scatter
    | CopyAsync
    | CommitGroup
    | WaitGroup
    | WaitDots
    | Sync
    | InitBarriers
    | Arrive
    | AwaitPhase
    | SemaphoreWait
    | SemaphoreRelease
    | Let
    | Print
    | Assert
)
Stmt: TypeAlias = Instruction | For | While | If | Aside
