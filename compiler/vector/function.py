"""Functions of Vector IR, and the statements that hold others.

A register is visible from its definition to the end of the block that it is defined in. What leaves a
block are the operands that it yields.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from dslc.compiler.diagnostics import Loc
from dslc.compiler.ir.located import loc_field as _loc
from dslc.compiler.vector import instructions as ins
from dslc.compiler.vector import matrix_instructions as mat
from dslc.compiler.vector import memory_instructions as mem
from dslc.compiler.vector.values import Operand, Register


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Statements in order, and the operands that it hands on.

    A block that ends with Return yields nothing.
    """

    body: tuple[Stmt, ...]
    yields: tuple[Operand, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class For:
    """A counted loop: `var` from begin up to end (exclusive) by step, scalars of dtype index.

    `step` is a constant other than 0; a negative one counts down to end (exclusive). `carried`
    registers hold `starts` in the first iteration and what the block yields in each later one; `outs`
    hold the last of them, or the starts where there is no iteration. `unroll` says how many iterations
    the machine's loop should do between its branches; it changes no result.
    """

    outs: tuple[Register, ...]
    var: Register
    begin: Operand
    end: Operand
    step: int
    carried: tuple[Register, ...]
    starts: tuple[Operand, ...]
    block: Block
    unroll: int = 1
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class While:
    """A loop: `test` yields one bool; while it is true, `block` runs and yields the next `carried`.

    Both blocks see the carried registers, and `block` sees those of `test`. `outs` hold the carried
    values with which the test failed.
    """

    outs: tuple[Register, ...]
    carried: tuple[Register, ...]
    starts: tuple[Operand, ...]
    test: Block
    block: Block
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class If:
    """One of two blocks, by a scalar bool; `outs` hold what it yields.

    `rare` says that `then` is hardly ever taken: what it costs does not matter, the rest does.
    """

    outs: tuple[Register, ...]
    condition: Operand
    then: Block
    otherwise: Block = Block(())
    rare: bool = False
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class Return:
    """The function ends here, from within any loop, with an i32 that its caller sees.

    The last statement of its block.
    """

    status: Operand
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """out = the status of another function of the module, called with these arguments."""

    out: Register
    function: str
    args: tuple[Operand, ...] = ()
    loc: Loc | None = _loc()


Instruction: TypeAlias = (
    ins.Unary
    | ins.Binary
    | ins.Fma
    | ins.Select
    | ins.Convert
    | ins.Nearest
    | ins.Bitcast
    | ins.Broadcast
    | ins.Shuffle
    | ins.Permute
    | ins.Extract
    | ins.Insert
    | ins.Reduce
    | ins.Dot
    | mem.Advance
    | mem.Allocate
    | mem.Table
    | mem.Load
    | mem.LoadStrided
    | mem.Gather
    | mem.LoadPacked
    | mem.Store
    | mem.StoreStrided
    | mem.Scatter
    | mem.StorePacked
    | mem.Prefetch
    | mem.AtomicUpdate
    | mem.CompareExchange
    | mem.AtomicLoad
    | mem.AtomicStore
    | mem.Fence
    | mem.Pause
    | mat.TileConfigure
    | mat.TileRelease
    | mat.TileZero
    | mat.TileLoad
    | mat.TileStore
    | mat.TileDot
    | Return
    | Call
)
Control: TypeAlias = For | While | If
Stmt: TypeAlias = Instruction | Control


@dataclass(frozen=True, slots=True, eq=False)
class Parameter:
    """An argument: a scalar or a pointer.

    `align` is a number of bytes that a pointer is a multiple of. Memory that is reached through a
    `noalias` pointer is reached through no other one while the function runs, unless nobody writes it.
    """

    register: Register
    align: int = 1
    noalias: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """Code with parameters, which ends with a status: an i32, 0 at the end of its body.

    Callers from outside see those that are `exported`, as C's int32_t name(...): pointers, and scalars
    of 8 bits or more as the C type of their size (index as int64_t, f16 and bf16 as uint16_t).
    """

    name: str
    params: tuple[Parameter, ...]
    body: tuple[Stmt, ...]
    exported: bool = True
    loc: Loc | None = _loc()


@dataclass(frozen=True, slots=True, eq=False)
class Module:
    """Functions that may call each other, callees before callers; there is no recursion."""

    functions: tuple[Function, ...]
