"""The instructions of Tile IR: block-level, each over whole tiles.

An instruction that gives a tile has it in `out`. Operands of elementwise instructions have one shape
and one dtype: broadcasts, casts and splats of scalars are instructions of their own. Instructions
compare by identity. Here are scalars and control flow, and all instructions by their names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from dslc.compiler.diagnostics import Loc
from dslc.compiler.ir.expr import Expr, Var
from dslc.compiler.ir.located import loc_field as _loc
from dslc.compiler.ir.memory_instructions import (
    ATOMIC_OPS,
    Alloc,
    Arrive,
    AtomicRmw,
    AwaitLaunches,
    AwaitPartner,
    AwaitPhase,
    CommitGroup,
    CopyAsync,
    Gather,
    HandOver,
    InitBarriers,
    LaunchDependents,
    Load,
    MemoryBarrier,
    Prefetch,
    Scatter,
    SemaphoreRelease,
    SemaphoreWait,
    Store,
    Sync,
    WaitDots,
    WaitGroup,
)
from dslc.compiler.ir.tile_instructions import (
    FUSED_OPS,
    MOMENTS,
    Arange,
    Binary,
    Broadcast,
    Cast,
    ClusterReduce,
    Concat,
    ConvertLayout,
    Dot,
    Extract,
    Fma,
    Full,
    Fused,
    Reduce,
    Repeat,
    Reshape,
    Scan,
    Transpose,
    Unary,
    Undefined,
    View,
    Where,
)
from dslc.compiler.ir.values import Value

__all__ = [
    "ATOMIC_OPS",
    "ELEMENTWISE",
    "FUSED_OPS",
    "MOMENTS",
    "Alloc",
    "Arange",
    "Arrive",
    "Assert",
    "AtomicRmw",
    "AwaitLaunches",
    "AwaitPartner",
    "AwaitPhase",
    "Binary",
    "Broadcast",
    "Carried",
    "Cast",
    "ClusterReduce",
    "CommitGroup",
    "Concat",
    "ConvertLayout",
    "CopyAsync",
    "Dot",
    "Extract",
    "Fma",
    "For",
    "Full",
    "Fused",
    "Gather",
    "HandOver",
    "If",
    "InitBarriers",
    "Instruction",
    "Joined",
    "LaunchDependents",
    "Let",
    "Load",
    "MemoryBarrier",
    "Prefetch",
    "Print",
    "Reduce",
    "Repeat",
    "Reshape",
    "Scan",
    "Scatter",
    "SemaphoreRelease",
    "SemaphoreWait",
    "Stmt",
    "Store",
    "Sync",
    "Transpose",
    "Unary",
    "Undefined",
    "View",
    "WaitDots",
    "WaitGroup",
    "WarpSpecialize",
    "Where",
    "While",
]

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
    """A value that a loop hands from iteration to iteration.

    `inner` is its name inside, `init` what it is at first, `yielded` what the next iteration gets,
    `result` its name after the loop.
    """

    result: Value | Var
    inner: Value | Var
    init: Value | Expr
    yielded: Value | Expr


@dataclass(frozen=True, slots=True, eq=False)
class For:
    """A sequential loop: `var` from start up to stop (exclusive) by step.

    `stages`, `unroll` and `split` are the options as asked, None where the compiler may choose;
    `atomic` is 1 where the parts of a split loop may be added to the result in any order.
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
    atomic: int | None = None
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class While:
    """`before` computes the condition at the head of each iteration and sees the carried values."""

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
class WarpSpecialize:
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
    | Fused
    | Where
    | Cast
    | View
    | ConvertLayout
    | Reduce
    | ClusterReduce
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
    | AtomicRmw
    | Gather
    | Scatter
    | CopyAsync
    | CommitGroup
    | WaitGroup
    | WaitDots
    | AwaitPartner
    | HandOver
    | Sync
    | MemoryBarrier
    | InitBarriers
    | Arrive
    | AwaitPhase
    | SemaphoreWait
    | SemaphoreRelease
    | LaunchDependents
    | AwaitLaunches
    | Prefetch
    | Let
    | Print
    | Assert
)
Stmt: TypeAlias = Instruction | For | While | If | WarpSpecialize
ELEMENTWISE = (Unary, Binary, Fma, Where, Cast)
"""Of whose operands only the elements at one place tell the result's element there."""
