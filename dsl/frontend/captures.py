"""The names that a decorated function takes from around itself.

Numbers, strings, dtypes and layouts become constants of the tree's module, plain functions become its
inlined functions, decorated kernels are taken over with what they captured themselves.
"""

from __future__ import annotations

import ast
import builtins
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count
from typing import NamedTuple, Protocol

from dslc.compiler.diagnostics import DiagnosticError, Label, Loc, did_you_mean, error
from dslc.frontend import tree
from dslc.frontend.constants import constant
from dslc.frontend.tokens import OWN_KEYWORDS

MISSING = object()  # where a name has no value


class Decorated(NamedTuple):
    """What a decorator holds: `const` and `tune` are its keywords."""

    kind: str  # kernel or program
    function: object
    const: Mapping[str, object]
    tune: Mapping[str, Sequence[object]]


def decorated(value: object) -> Decorated | None:
    """What stands behind a decorated kernel or program, by its method `__dslc_definition__`.

    The method gives the four fields of a Decorated.
    """
    define = getattr(type(value), "__dslc_definition__", None)
    return Decorated(*define(value)) if define else None


class Reads(Protocol):
    """Converts what is captured, under a name that is free."""

    def read_function(self, fn: types.FunctionType, name: str) -> tree.Function:
        """A plain function."""

    def read_decorated(self, held: Decorated, name: str) -> tree.Kernel | tree.Program:
        """A decorated kernel or program."""


class Captures:
    """What the functions of one module have captured so far, by the names they have in it.

    Python's modules each have their own names, a tree's module has one set: a name that is `taken`
    for another thing gets a number behind it.
    """

    def __init__(self, reads: Reads, taken: set[str]) -> None:
        self.items: dict[str, tree.TopLevel] = {}
        self._reads = reads
        self._taken = taken
        self._names: dict[object, str] = {}  # of functions and decorated kernels
        self._open: list[tuple[object, str, Loc]] = []

    def expr(self, name: str, value: object, loc: Loc) -> tree.Expr | None:
        """What stands for a captured value in the tree; None to leave the name as it is."""
        if held := decorated(value):
            read = partial(self._reads.read_decorated, held)
            real = getattr(held.function, "__name__", name)
            return tree.Name(self._callable(held.function, real, read, loc), loc=loc)
        if isinstance(value, types.FunctionType) and not _is_own(value.__module__):
            read_function = partial(self._reads.read_function, value)
            return tree.Name(self._callable(value, value.__name__, read_function, loc), loc=loc)
        known = constant(value, loc)
        if isinstance(known, tree.Name) and known.id == name:
            return known
        if known is not None:
            return tree.Name(self._constant(name, known, loc), loc=loc)
        module = getattr(value, "__module__", None) or type(value).__module__
        if _is_own(module) or (module == "builtins" and callable(value)):
            real = getattr(value, "__name__", name)
            return tree.Name(real, loc=loc) if isinstance(real, str) else None
        raise error(
            "DSL0124",
            f"`{name}` is a {type(value).__name__}, which a kernel cannot hold",
            loc,
            hint="pass it as a parameter; numbers, strings, dtypes, layouts and functions are captured",
        )

    def _callable(
        self, key: object, name: str, read: Callable[[str], tree.TopLevel], loc: Loc
    ) -> str:
        if key in self._names:
            return self._names[key]
        keys = [k for k, _, _ in self._open]
        if key in keys:
            chain = self._open[keys.index(key) :]
            raise _cycle([n for _, n, _ in chain], [at for _, _, at in chain], loc)
        name = self._free(name)
        self._taken.add(name)
        self._open.append((key, name, loc))
        self.items[name] = read(name)
        self._open.pop()
        self._names[key] = name
        return name

    def _constant(self, name: str, value: tree.Expr, loc: Loc) -> str:
        number = 1
        free = name
        while free in self._taken:
            held = self.items.get(free)
            if isinstance(held, tree.Const) and held.value == value:
                return free
            number += 1
            free = f"{name}_{number}"
        self._taken.add(free)
        self.items[free] = tree.Const(free, value, loc=loc)
        return free

    def _free(self, name: str) -> str:
        if name not in self._taken:
            return name
        return next(f for n in count(2) if (f := f"{name}_{n}") not in self._taken)


def _cycle(names: list[str], places: list[Loc], loc: Loc) -> DiagnosticError:
    chain = " -> ".join(f"`{n}`" for n in (*names, names[0]))
    labels = tuple(Label(p, f"`{n}` is called here") for n, p in zip(names, places, strict=True))
    message = f"a function that is inlined cannot call itself: {chain}"
    return error("DSL0123", message, loc, hint="write a loop", labels=labels)


class Scope:
    """The names around one Python function, as Python looks them up."""

    def __init__(self, fn: types.FunctionType, bound: set[str]) -> None:
        self._bound = bound
        self._globals = fn.__globals__
        self._cells = dict(zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True))

    def resolve(self, captures: Captures, node: ast.expr, loc: Loc) -> tree.Expr | None:
        """What stands for a free name, or for an attribute of a module; None for anything else."""
        match node:
            case ast.Name(name) | ast.Attribute(attr=name) if isinstance(node.ctx, ast.Load):
                value = self.value(node)
                if value is MISSING:
                    self._check_attribute(node, loc)
                    return None
                if isinstance(value, types.ModuleType) or name in OWN_KEYWORDS:
                    return None
                return captures.expr(name, value, loc)
            case _:
                return None

    def _check_attribute(self, node: ast.expr, loc: Loc) -> None:
        base = self.value(node.value) if isinstance(node, ast.Attribute) else None
        if isinstance(node, ast.Attribute) and isinstance(base, types.ModuleType):
            hint = did_you_mean(node.attr, dir(base))
            message = f"the module `{base.__name__}` has no `{node.attr}`"
            raise error("DSL0124", message, loc, hint=hint)

    def value(self, node: ast.expr) -> object:
        """The value of a free name or of a module's attribute; MISSING for any other expression."""
        match node:
            case ast.Name(name):
                return self._lookup(name)
            case ast.Attribute(inner, name):
                outer = self.value(inner)
                is_module = isinstance(outer, types.ModuleType)
                return getattr(outer, name, MISSING) if is_module else MISSING
            case _:
                return MISSING

    def _lookup(self, name: str) -> object:
        if name in self._bound:
            return MISSING
        if name in self._cells:
            try:
                return self._cells[name].cell_contents
            except ValueError:  # not assigned yet
                return MISSING
        return self._globals.get(name, getattr(builtins, name, MISSING))


def assigned_names(node: ast.FunctionDef) -> Iterator[str]:
    """The names that a function binds: its parameters and whatever its body assigns."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.arg):
            yield inner.arg
        elif isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
            yield inner.id


def _is_own(module: str | None) -> bool:
    return module == "dslc" or (module or "").startswith("dslc.")
