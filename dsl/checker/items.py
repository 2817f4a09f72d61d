"""What a name can stand for while a kernel is elaborated.

Numbers that are known (Python's int, float, bool, str) are weak: beside a tile they take its dtype.
Scalars known only at run time are expressions of Tile IR, tiles are its values, tensors and buffers
its memories.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from dslc.compiler.diagnostics import Loc
from dslc.compiler.dtypes import DType, Kind
from dslc.compiler.ir import Memory, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.layout import Layout
from dslc.frontend import tree

if TYPE_CHECKING:
    from dslc.checker.module import Scope, Template


@dataclass(frozen=True, slots=True)
class UserFunction:
    """A `def` with the module that it sees."""

    function: tree.Function
    scope: Scope


@dataclass(frozen=True, slots=True)
class Builtin:
    """A function of the language."""

    name: str


@dataclass(frozen=True, slots=True)
class KernelName:
    """A kernel, as a program calls it."""

    template: Template


@dataclass(frozen=True, slots=True)
class Lost:
    """A name that has no single value here; reading it is an error that says why.

    `reason` is empty where an error was already reported.
    """

    reason: str
    loc: Loc | None = None


@dataclass(frozen=True, slots=True)
class Guess(ex.Var):
    """A float that a loop carries from a plain number: weak until the body says what it becomes.

    It never reaches the IR: once its dtype is known, the body is elaborated again.
    """


@dataclass(frozen=True, slots=True)
class Absent:
    """An optional parameter that is None in this kernel."""

    name: str


Number: TypeAlias = int | float | bool
Item: TypeAlias = (
    Number
    | str
    | tuple["Item", ...]
    | ex.Expr
    | Value
    | Memory
    | DType
    | Layout
    | UserFunction
    | Builtin
    | KernelName
    | Lost
    | Absent
    | None
)
EXPRESSIONS = (ex.Const, ex.Var, ex.Unary, ex.Binary, ex.Select, ex.Convert, ex.Read)


def is_number(item: Item) -> bool:
    """Whether an item is a known number."""
    return isinstance(item, bool | int | float)


def is_scalar(item: Item) -> bool:
    """Whether an item is a scalar, known or not."""
    return is_number(item) or isinstance(item, EXPRESSIONS)


def is_weak(item: Item) -> bool:
    """Whether an item takes the dtype of what it meets: a known number, an index or a guess."""
    if isinstance(item, EXPRESSIONS):
        return item.dtype.kind is Kind.INDEX or isinstance(item, Guess)
    return is_number(item)


def shape_text(shape: tuple[int, ...]) -> str:
    """A shape as the user writes it."""
    return "[" + ", ".join(map(str, shape)) + "]"


def describe(item: Item) -> str:
    """An item in the user's words, for messages."""
    match item:
        case bool():
            return f"the constant {item}"
        case int() | float():
            return f"the number {item}"
        case str():
            return "a string"
        case tuple():
            return f"a list of {len(item)}"
        case Value():
            return f"a tile {item.type.dtype}{shape_text(item.type.shape)}"
        case Memory():
            return f"the tensor {item.name}" if item.role.value != "buffer" else "a buffer"
        case DType():
            return f"the dtype {item}"
        case Layout():
            return "a layout"
        case UserFunction():
            return f"the function {item.function.name}"
        case Builtin():
            return f"the function {item.name}"
        case KernelName():
            return f"the kernel {item.template.name}"
        case None:
            return "None"
        case Absent(name):
            return f"{name}, which is None here"
        case Lost():
            return "a name without a value"
        case _:
            return f"a scalar of dtype {item.dtype}"
