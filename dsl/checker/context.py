"""What the elaboration of one kernel knows: names, the block being built, findings so far."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from dslc.checker.emit import Emitter
from dslc.checker.failure import Poisoned, fail, needs_dims
from dslc.checker.items import Builtin, Item, Lost, describe
from dslc.compiler.diagnostics import Diagnostic, DiagnosticError, Label, Loc, did_you_mean
from dslc.compiler.dtypes import INDEX, DType, all_dtypes, parse_dtype
from dslc.compiler.ir import Kernel, Memory, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir.arithmetic.affine import constant as constant_of
from dslc.compiler.layout import LAYOUT_FUNCTIONS
from dslc.frontend import tree
from dslc.frontend.imports import STANDARD

if TYPE_CHECKING:
    from dslc.checker.programs.views import Views
    from dslc.compiler.targets import Target

MAX_ITEMS = 4096  # of a list, and of a loop at compile time
MAX_INLINED = 10_000  # calls and statements of functions in a kernel
CONSTANTS = {"inf": math.inf, "nan": math.nan}

# What other languages call these.
_MEANT = {"true": "True", "false": "False", "null": "None", "nil": "None", "float32": "f32"}


ELSEWHERE = {  # of other languages -> what to write here
    "program_id": "parallel's counters say which turn it is; grid(...) has block_index()",
    "rand": "the library has it: from std.random import uniform, ahead of the kernels",
    "randn": "the library has it: from std.random import normal, ahead of the kernels",
    "max_contiguous": "write x as it is: what the compiler knows of sizes it takes from `require`",
    "multiple_of": "say it of the sizes: require N % 8 == 0",
    "static_range": "write static(range(n))",
    "make_block_ptr": "slices are enough: t[i : i + BM, k : k + BK]",
}


@functools.cache
def _library() -> dict[str, str]:
    """The functions of the library and their modules."""
    found: dict[str, str] = {}
    for path in sorted((STANDARD / "std").glob("*.tile")):
        for name in re.findall(r"^def (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE):
            found.setdefault(name, path.stem)
    return found


def library_module(name: str) -> str | None:
    """The module of the library that has a function of that name."""
    return _library().get(name)


@dataclass(frozen=True, slots=True)
class Elaborators:
    """What elaborates the trees within a tree: a call has expressions, and a function has statements.

    The modules of calls and loops reach those above them through it.
    """

    expression: Callable[[Context, tree.Expr, bool], Item]  # True for a subscript or a range
    statements: Callable[[Context, tuple[tree.Statement, ...]], None]
    function: Callable[[Context, tree.Function], Item]  # its body, the parameters being bound


class Observer(Protocol):
    """What is told of an elaboration."""

    def name(self, loc: Loc, item: Item) -> None:
        """The item of a name, at each place where it is bound or read."""

    def kernel(self, kernel: Kernel) -> None:
        """A kernel that came out of it."""


_observer: ContextVar[Observer | None] = ContextVar("observer", default=None)


@contextmanager
def observed(observer: Observer) -> Iterator[None]:
    """Tell an observer of what is elaborated meanwhile."""
    token = _observer.set(observer)
    try:
        yield
    finally:
        _observer.reset(token)


@dataclass(slots=True)
class Context:
    """The state of an elaboration.

    `names` are the local names, `outer` those of the module; `dims` the free dims by name.
    `block_index` are the variables of `grid(...)`; `calls` are the functions being inlined. Before
    the parallel nest scalars are repeated where they are read (`inline_scalars`), since its ranges
    may use them. `totals` are sums `acc += p` of a product p that has a name of its own.
    Programs have `views`.
    """

    outer: dict[str, Item]
    elaborators: Elaborators
    emit: Emitter = field(default_factory=Emitter)
    names: dict[str, Item] = field(default_factory=dict)
    dims: dict[str, ex.Var] = field(default_factory=dict)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    needed: set[str] = field(default_factory=set)
    calls: tuple[str, ...] = ()
    depth: int = 0
    block_index: tuple[ex.Var, ...] = ()
    inline_scalars: bool = False
    known_functions: frozenset[str] = frozenset()
    machine: Target | None = None
    totals: set[Value] = field(default_factory=set)
    inlined: int = 0
    observer: Observer | None = field(default_factory=_observer.get)
    views: Views | None = None

    def evaluate(self, node: tree.Expr, *, index: bool = False) -> Item:
        """The item that an expression stands for; `index` as in `expressions.evaluate`."""
        return self.elaborators.expression(self, node, index)

    def evaluate_index(self, node: tree.Expr) -> Item:
        """The same for the bounds of slices."""
        return self.elaborators.expression(self, node, True)

    def inline(self, loc: Loc) -> None:
        """Count a call or a statement of a function: what calls double is more than a source shows."""
        self.inlined += 1
        if self.inlined > MAX_INLINED:
            fail(
                "DSL0232",
                f"functions and static loops come to more than {MAX_INLINED} statements here",
                loc,
                hint="a call is replaced by its function's body: keep its value in a name, "
                "or repeat it in a loop",
            )

    def lookup(self, name: tree.Name) -> Item:
        """What a name stands for; an error with the nearest name if nothing."""
        for scope in (self.names, self.outer):
            if name.id in scope:
                if self.observer is not None:
                    self.observer.name(name.loc, scope[name.id])
                return self._present(name, scope[name.id])
        if name.id in CONSTANTS:
            return CONSTANTS[name.id]
        dtype = parse_dtype(name.id)
        if dtype is not None and name.id != "index":
            return dtype
        if name.id in self.known_functions or name.id in LAYOUT_FUNCTIONS:
            return Builtin(name.id)
        fail("DSL0201", f"the name {name.id} is not known here", name.loc, hint=self._near(name.id))

    def _near(self, name: str) -> str | None:
        if name == "index":
            return "loops, dims and subscripts are of dtype index; a value to keep is i32 or i64"
        if re.fullmatch(r"[iu][0-9]+", name):
            return "integers have 1 to 8, 16, 32 or 64 bits: u4, i8, u16"
        if name.lower() in _MEANT:
            return f"write {_MEANT[name.lower()]}"
        if name in ELSEWHERE:
            return ELSEWHERE[name]
        if (module := library_module(name)) is not None:
            return f"the library has it: from std.{module} import {name}, ahead of the kernels"
        functions = {*self.known_functions, *LAYOUT_FUNCTIONS}
        candidates = {*self.names, *self.outer, *functions, *CONSTANTS}
        dtypes = [d.name for d in all_dtypes() if ("e" in d.name) == ("e" in name)]
        return did_you_mean(name, candidates) or did_you_mean(name, dtypes)

    def _present(self, name: tree.Name, item: Item) -> Item:
        if not isinstance(item, Lost):
            return item
        if not item.reason:
            raise Poisoned
        labels = (Label(item.loc, "here"),) if item.loc else ()
        fail(
            "DSL0209",
            f"{name.id} {item.reason}",
            name.loc,
            labels=labels,
            hint=f"give {name.id} a value before",
        )

    def integer(self, item: Item, loc: Loc, what: str) -> int:
        """A compile-time integer; an error that says what it is needed for otherwise."""
        if isinstance(item, bool | float | str):
            fail(
                "DSL0206",
                f"{what} must be an integer, not {item!r}",
                loc,
                hint="use // to divide integers" if isinstance(item, float) else None,
            )
        if isinstance(item, int):
            return item
        value = self.known(item)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        self.not_constant(item, loc, what)
        raise AssertionError

    def known(self, item: Item) -> int | float | bool | None:
        """The value of a scalar expression that simplifies to a constant."""
        if isinstance(item, bool | int | float):
            return item
        if isinstance(item, ex.Const | ex.Var | ex.Unary | ex.Binary | ex.Select | ex.Convert):
            return constant_of(item)
        return None

    def not_constant(self, item: Item, loc: Loc, what: str) -> None:
        """Fail because something is not known at compile time, naming the dims to fix."""
        hint = None
        if isinstance(item, ex.Var | ex.Unary | ex.Binary | ex.Select | ex.Convert):
            free = ex.free_vars(item)
            if free and free <= set(self.dims.values()):
                names = sorted(v.name for v in free)
                needs_dims(f"{what} depends on {', '.join(names)}", loc, names)
            if any(v.dtype == INDEX for v in free):
                hint = "a loop counts when the kernel runs, even where its ends are constants"
        text = f"{what} must be known at compile time, not {describe(item)}"
        fail("DSL0206", text, loc, hint=hint)

    @contextmanager
    def recover(self, assigned: tuple[str, ...]) -> Iterator[None]:
        """Note a statement's errors and go on; names that it assigns are lost."""
        try:
            yield
        except Poisoned:
            pass
        except DiagnosticError as e:
            self.needed.update(getattr(e, "dims", ()))
            self.diagnostics.extend(e.diagnostics)
        else:
            return
        for name in assigned:
            self.names[name] = Lost("")


def expect_dtype(item: Item, loc: Loc) -> DType:
    """An item that must be a dtype."""
    if isinstance(item, DType):
        return item
    fail("DSL0206", f"a dtype is needed here, not {describe(item)}", loc, hint="such as f16 or u4")


def expect_memory(item: Item, loc: Loc) -> Memory:
    """An item that must be a tensor or a buffer."""
    if isinstance(item, Memory):
        return item
    fail("DSL0212", f"a tensor or a buffer is needed here, not {describe(item)}", loc)
