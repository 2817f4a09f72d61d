"""Kernels and programs of Tile IR."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from dslc.compiler.diagnostics import Loc
from dslc.compiler.dtypes import DType
from dslc.compiler.ir.expr import Expr, Var
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.values import Memory

if TYPE_CHECKING:
    from dslc.compiler.low_bit_format import PackedStorage

Param: TypeAlias = Memory | Var


@dataclass(frozen=True, slots=True)
class GridAxis:
    """One axis of the parallel nest: `var` from start up to stop (exclusive) by step.

    A `reversed` one is numbered from its end. No order is promised.
    """

    var: Var
    start: Expr
    stop: Expr
    step: Expr
    reversed: bool = False


@dataclass(frozen=True, slots=True)
class Requirement:
    """A condition over dims and scalars, checked at the call; passes may rely on it."""

    condition: Expr
    text: str
    loc: Loc | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class PackedParam:
    """What a parameter is to the caller where it is stored as packed bytes: dtype, shape, storage."""

    name: str
    dtype: DType
    shape: tuple[Expr, ...]
    storage: PackedStorage


@dataclass(frozen=True, slots=True, eq=False)
class Kernel:
    """One kernel, its dims bound by the shapes of its arguments.

    `params` are in the caller's order. `dims` are the free dims (index variables); those that were
    fixed are constants in the shapes, kept in `fixed`. `config` is the choice of every `tune`. A turn
    of the grid runs `body`; no axis means one turn. `workspaces` are given by the runtime. `packed` are
    the low-bit parameters whose memory in `params` is bytes by now. `threads` is how many threads run a
    turn together, once tiles have layouts over them. With `rasterization` the turns of the last two
    axes are numbered in groups of so many of the first of them (an index over dims), down each group
    before along it: turns that run at once share more of what they read. No order is promised. With a
    `cluster` so many turns that follow each other run at once, and reach each other's shared memory: a
    turn's number modulo that is its rank, and the number of all turns is a multiple.
    """

    name: str
    params: tuple[Param, ...]
    dims: tuple[Var, ...]
    grid: tuple[GridAxis, ...]
    body: tuple[Stmt, ...]
    requires: tuple[Requirement, ...] = ()
    workspaces: tuple[Memory, ...] = ()
    fixed: tuple[tuple[str, int], ...] = ()
    config: tuple[tuple[str, int], ...] = ()
    doc: str | None = None
    loc: Loc | None = None
    packed: tuple[PackedParam, ...] = ()
    threads: int | None = None
    rasterization: Expr | None = None
    cluster: int | None = None

    @property
    def tensors(self) -> tuple[Memory, ...]:
        """The parameters that are tensors."""
        return tuple(p for p in self.params if isinstance(p, Memory))


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """A kernel over the program's memories and scalars, in the order of the kernel's parameters.

    With `when` it is called where that condition over the program's dims and scalars holds.
    """

    kernel: Kernel
    args: tuple[Memory | Expr, ...]
    loc: Loc | None = None
    when: Expr | None = None


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """A memory whose elements are some of those of another, from `offset` of them after its first.

    `memory` always says its strides; `base` is a parameter or a buffer of the program.
    """

    memory: Memory
    base: Memory
    offset: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """Several kernels, one dispatch: calls in order, buffers that only pass between them.

    `requires` are conditions over its dims beyond those of its kernels. Calls take `views` of
    parameters and buffers as they take these.
    """

    name: str
    params: tuple[Param, ...]
    dims: tuple[Var, ...]
    buffers: tuple[Memory, ...]
    calls: tuple[Call, ...]
    fixed: tuple[tuple[str, int], ...] = ()
    doc: str | None = None
    loc: Loc | None = None
    packed: tuple[PackedParam, ...] = ()
    requires: tuple[Requirement, ...] = ()
    views: tuple[View, ...] = ()

    def base(self, memory: Memory) -> Memory:
        """The parameter or buffer that a memory of the program is, or that it is a view of."""
        return next((v.base for v in self.views if v.memory is memory), memory)


TileProgram: TypeAlias = Kernel | Program
