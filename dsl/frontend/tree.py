"""The syntax tree: what both front-ends give and the checker takes.

Every node carries the place it came from; places do not take part in comparison, so the trees of a
`.tile` file and of the same body under the decorator are equal.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from dslc.compiler.diagnostics import Loc


def _loc() -> Loc:
    return field(compare=False, kw_only=True, repr=False)  # type: ignore[no-any-return]


# Expressions


@dataclass(frozen=True, slots=True)
class Name:
    """A name."""

    id: str
    loc: Loc = _loc()


@dataclass(frozen=True, slots=True)
class Literal:
    """A number, a string, True, False or None.

    `1` and `1.0` and `True` differ: the type of the value takes part in comparison.
    """

    value: int | float | bool | str | None
    kind: str = field(init=False)
    loc: Loc = _loc()

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", type(self.value).__name__)


@dataclass(frozen=True, slots=True)
class Sequence:
    """`[a, b]` or `(a, b)`: the two mean the same."""

    items: tuple[Expr, ...]
    loc: Loc = _loc()


@dataclass(frozen=True, slots=True)
class Unary:
    """`-x`, `+x`, `~x`, `not x`: `op` is the operator as written."""

    op: str
    operand: Expr
    loc: Loc = _loc()


@dataclass(frozen=True, slots=True)
class Binary:
    """An arithmetic, bitwise or logical operation, `op` as written; `a and b and c` nests left."""

    op: str
    left: Expr
    right: Expr
    loc: Loc = _loc()


@dataclass(frozen=True, slots=True)
class Compare:
    """`a < b` or a chain `a <= b < c`: one operator fewer than operands."""

    operands: tuple[Expr, ...]
    ops: tuple[str, ...]
    loc: Loc = _loc()


@dataclass(frozen=True, slots=True)
class Conditional:
    """`then if condition else otherwise`, on scalars."""

    condition: Expr
    then: Expr
    otherwise: Expr
    loc: Loc = _loc()


@dataclass(frozen=True, slots=True)
class Keyword:
    """`name=value` in a call."""

    name: str
    value: Expr
    loc: Loc = _loc()


@dataclass(frozen=True, slots=True)
class Call:
    """`function(args, name=value)`."""

    function: Expr
    args: tuple[Expr, ...]
    keywords: tuple[Keyword, ...]
    loc: Loc = _loc()


@dataclass(frozen=True, slots=True)
class Attribute:
    """`value.name`: composition of layouts, nothing else."""

    value: Expr
    name: str
    loc: Loc = _loc()


@dataclass(frozen=True, slots=True)
class Slice:
    """`start : stop : step` inside a subscript; a part that was not written is None."""

    start: Expr | None
    stop: Expr | None
    step: Expr | None
    loc: Loc = _loc()


@dataclass(frozen=True, slots=True)
class Subscript:
    """`value[a, b : c]`: an item is an expression, a Slice, or Literal(None) for a new axis."""

    value: Expr
    items: tuple[Expr | Slice, ...]
    loc: Loc = _loc()


Expr: TypeAlias = (
    Name
    | Literal
    | Sequence
    | Unary
    | Binary
    | Compare
    | Conditional
    | Call
    | Attribute
    | Subscript
)

# Declarations


@dataclass(frozen=True, slots=True)
class Const:
    """`const NAME = value`."""

    name: str
    value: Expr
    loc: Loc = _loc()


@dataclass(frozen=True, slots=True)
class Tune:
    """`tune NAME = a | b | c`; without choices they are left to the machine."""

    name: str
    choices: tuple[Expr, ...]
    loc: Loc = _loc()


@dataclass(frozen=True, slots=True)
class Require:
    """`require condition`, with the text of the condition for its message."""

    condition: Expr
    text: str = field(compare=False)
    loc: Loc = _loc()


# Statements


@dataclass(frozen=True, slots=True)
class Assign:
    """`target = value`: a Name, a Subscript, or a Sequence of names."""

    target: Expr
    value: Expr
    loc: Loc = _loc()


@dataclass(frozen=True, slots=True)
class AugAssign:
    """`target op= value`: `op` is the operator without the equals sign."""

    target: Expr
    op: str
    value: Expr
    loc: Loc = _loc()


@dataclass(frozen=True, slots=True)
class For:
    """`for a, b in iterator:`: the iterator is a call of `range` or `parallel`."""

    targets: tuple[Name, ...]
    iterator: Expr
    body: tuple[Statement, ...]
    loc: Loc = _loc()


@dataclass(frozen=True, slots=True)
class While:
    """`while condition:`."""

    condition: Expr
    body: tuple[Statement, ...]
    loc: Loc = _loc()


@dataclass(frozen=True, slots=True)
class If:
    """`if condition: ... else: ...`; an `elif` is an If alone in `otherwise`."""

    condition: Expr
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...]
    loc: Loc = _loc()


@dataclass(frozen=True, slots=True)
class ExprStatement:
    """A call for its effect."""

    value: Expr
    loc: Loc = _loc()


@dataclass(frozen=True, slots=True)
class Assert:
    """`assert condition, "text"`."""

    condition: Expr
    text: Expr | None
    loc: Loc = _loc()


@dataclass(frozen=True, slots=True)
class Return:
    """`return value`, last in a function."""

    value: Expr
    loc: Loc = _loc()


@dataclass(frozen=True, slots=True)
class Pass:
    """`pass`."""

    loc: Loc = _loc()


Statement: TypeAlias = (
    Const
    | Tune
    | Require
    | Assign
    | AugAssign
    | For
    | While
    | If
    | ExprStatement
    | Assert
    | Return
    | Pass
)

# Top level


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter of a kernel or a program.

    `x: out f16[M, K] strides (sm, 1)` has mode `out`, dtype `f16`, dims `(M, K)` and strides; a
    scalar has dims None. `packed` is `row` where the storage of a low-bit tensor is fixed. The dtype
    is an expression, since a `const` may name it (`const W = u4`). An `optional` one may be None.
    """

    name: str
    dtype: Expr
    dims: tuple[Expr, ...] | None
    mode: str = "in"  # in, out, inout
    strides: tuple[Expr, ...] | None = None
    packed: str | None = None
    optional: bool = False
    loc: Loc = _loc()


@dataclass(frozen=True, slots=True)
class Kernel:
    """`kernel name(params): body`; the declarations come first in the body."""

    name: str
    params: tuple[Param, ...]
    body: tuple[Statement, ...]
    doc: str | None = None
    loc: Loc = _loc()


@dataclass(frozen=True, slots=True)
class Program:
    """`program name(params): body`: several kernels, one dispatch."""

    name: str
    params: tuple[Param, ...]
    body: tuple[Statement, ...]
    doc: str | None = None
    loc: Loc = _loc()


@dataclass(frozen=True, slots=True)
class Function:
    """`def name(params): ...`, inlined where it is called; defaults may follow the last names."""

    name: str
    params: tuple[str, ...]
    defaults: tuple[Expr, ...]
    body: tuple[Statement, ...]
    doc: str | None = None
    loc: Loc = _loc()


@dataclass(frozen=True, slots=True)
class Import:
    """`from path import a, b`: another `.tile` file (`path` has dots as written)."""

    path: str
    names: tuple[str, ...]
    loc: Loc = _loc()


TopLevel: TypeAlias = Import | Const | Function | Kernel | Program


@dataclass(frozen=True, slots=True)
class Module:
    """A whole source: the file's name is in `loc`."""

    items: tuple[TopLevel, ...]
    doc: str | None = None
    loc: Loc = _loc()
