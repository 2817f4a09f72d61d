"""The tree of emitted HIP: statements and expressions of the C that the generator writes."""

from __future__ import annotations

from dataclasses import dataclass

from dslc.codegen.flydsl.c_types import Type


@dataclass(frozen=True, slots=True)
class Number:
    """A literal as it is spelled."""

    text: str


@dataclass(frozen=True, slots=True)
class Name:
    """A variable or parameter."""

    name: str


@dataclass(frozen=True, slots=True)
class Call:
    """`name<given>(args)`; a type's name is a conversion."""

    name: str
    given: tuple[Expr | Type, ...]
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Index:
    """`base[at]`."""

    base: Expr
    at: Expr


@dataclass(frozen=True, slots=True)
class Unary:
    """`-x`, `~x`, `!x`, `&x` or `*x`."""

    op: str
    x: Expr


@dataclass(frozen=True, slots=True)
class Binary:
    """Arithmetic, comparison or logic."""

    op: str
    a: Expr
    b: Expr


@dataclass(frozen=True, slots=True)
class Choice:
    """`condition ? a : b`."""

    condition: Expr
    a: Expr
    b: Expr


@dataclass(frozen=True, slots=True)
class Cast:
    """`(type)x`."""

    type: Type
    x: Expr


Expr = Number | Name | Call | Index | Unary | Binary | Choice | Cast


@dataclass(frozen=True, slots=True)
class Declare:
    """A variable, None for its type where it is that of `init`, or an array, which may be zeros."""

    type: Type | None
    name: str
    count: int | None
    init: Expr | None
    zeros: bool
    line: int


@dataclass(frozen=True, slots=True)
class Assign:
    """`target op value`, with `op` of "=", "+=" and so on."""

    op: str
    target: Expr
    value: Expr
    line: int


@dataclass(frozen=True, slots=True)
class Run:
    """A call for what it does."""

    call: Expr
    line: int


@dataclass(frozen=True, slots=True)
class For:
    """A counted loop; `unroll` is 0 where all of it is unrolled, None where nothing is said."""

    type: Type
    var: str
    start: Expr
    compare: str
    stop: Expr
    step: Expr
    unroll: int | None
    body: tuple[Stmt, ...]
    line: int


@dataclass(frozen=True, slots=True)
class While:
    """`while (true)`, left by a `Leave` in its body."""

    body: tuple[Stmt, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Leave:
    """`if (condition) break;`."""

    condition: Expr
    line: int


@dataclass(frozen=True, slots=True)
class If:
    """Two branches."""

    condition: Expr
    then: tuple[Stmt, ...]
    otherwise: tuple[Stmt, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Block:
    """A scope."""

    body: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class Return:
    """A function's result."""

    value: Expr | None
    line: int


Stmt = Declare | Assign | Run | For | While | Leave | If | Block | Return


@dataclass(frozen=True, slots=True)
class Function:
    """A device function or a kernel; `given` are the numbers and types that its template takes."""

    name: str
    given: tuple[str, ...]
    types: tuple[str, ...]
    result: Type
    params: tuple[tuple[Type, str], ...]
    attributes: str
    body: tuple[Stmt, ...] | None
