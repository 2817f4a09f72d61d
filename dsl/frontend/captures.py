"""The names that a decorated function takes from around itself.

Numbers, strings, dtypes and layouts become constants of the tree's module, plain functions become its
inlined functions, decorated kernels are taken over with what they captured themselves.
"""

from __future__ import annotations

import ast
import builtins
import types
from collections.abc import Callable, Iterator
from typing import Protocol, runtime_checkable

from dslc.compiler.diagnostics import Diagnostic, Label, Loc, error
from dslc.frontend import tree
from dslc.frontend.constants import constant
from dslc.frontend.lexer import OWN_KEYWORDS

_MISSING = object()


@runtime_checkable
class HasTree(Protocol):
    """A decorated kernel: a program that calls it takes its tree over."""

    def __dslc_tree__(self) -> tree.Module:
        """The module of the kernel, which is its last item."""


class Captures:
    """What the functions of one module have captured so far.

    `read` converts a captured function; a name that is taken already gets a number behind it.
    """

    def __init__(
        self,
        report: Callable[[Diagnostic], None],
        read: Callable[[types.FunctionType, str, Captures], tree.Function],
        taken: set[str],
    ) -> None:
        self.report = report
        self.items: dict[str, tree.TopLevel] = {}
        self._read = read
        self._taken = taken
        self._functions: dict[types.FunctionType, str] = {}
        self._open: list[tuple[types.FunctionType, Loc]] = []

    def expr(self, name: str, value: object, loc: Loc) -> tree.Expr | None:
        """What stands for a captured value in the tree; None to leave the name as it is."""
        if isinstance(value, HasTree):
            return tree.Name(self._kernel(value, loc), loc=loc)
        if isinstance(value, types.FunctionType) and not _is_own(value.__module__):
            return tree.Name(self._function(value, loc), loc=loc)
        made = constant(value, loc)
        if made is not None:
            if isinstance(made, tree.Name) and made.id == name:
                return made
            return tree.Name(self._add(name, tree.Const(name, made, loc=loc)), loc=loc)
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

    def _function(self, fn: types.FunctionType, loc: Loc) -> str:
        if fn in self._functions:
            return self._functions[fn]
        calls = [f for f, _ in self._open]
        if fn in calls:
            chain = self._open[calls.index(fn) :]
            names = " -> ".join(f"`{f.__name__}`" for f, _ in chain)
            labels = tuple(Label(at, f"`{f.__name__}` is called here") for f, at in chain)
            raise error(
                "DSL0123",
                f"a function that is inlined cannot call itself: {names} -> `{fn.__name__}`",
                loc,
                hint="write a loop",
                labels=labels,
            )
        self._open.append((fn, loc))
        function = self._read(fn, self._free(fn.__name__, None), self)
        self._open.pop()
        self._functions[fn] = self._add(function.name, function)
        return function.name

    def _kernel(self, kernel: HasTree, loc: Loc) -> str:
        items = kernel.__dslc_tree__().items
        for item in items:
            name = getattr(item, "name", "")
            if self.items.setdefault(name, item) != item:
                label = Label(self.items[name].loc, "the first is here")
                message = f"two different things named `{name}` meet in this program"
                raise error("DSL0124", message, loc, hint="rename one of them", labels=(label,))
            self._taken.add(name)
        last = items[-1]
        assert isinstance(last, tree.Kernel | tree.Program)
        return last.name

    def _add(self, name: str, item: tree.Const | tree.Function) -> str:
        name = self._free(name, item)
        if isinstance(item, tree.Const):
            item = tree.Const(name, item.value, loc=item.loc)
        self.items[name] = item
        self._taken.add(name)
        return name

    def _free(self, name: str, item: tree.TopLevel | None) -> str:
        """A name that is not taken, or is taken by an equal item."""
        free, number = name, 1
        while free in self._taken and not self._is_same(free, item):
            number += 1
            free = f"{name}_{number}"
        return free

    def _is_same(self, name: str, item: tree.TopLevel | None) -> bool:
        held = self.items.get(name)
        if isinstance(held, tree.Const) and isinstance(item, tree.Const):
            return held.value == item.value
        return False


class Scope:
    """The names around one Python function, as Python looks them up."""

    def __init__(self, fn: types.FunctionType, bound: set[str], captures: Captures) -> None:
        self._bound = bound
        self._globals = fn.__globals__
        self._captures = captures
        self._cells = dict(zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True))

    def resolve(self, node: ast.expr, loc: Loc) -> tree.Expr | None:
        """What stands for a free name, or for an attribute of a module; None for anything else."""
        match node:
            case ast.Name(name) if isinstance(node.ctx, ast.Load):
                value = self._lookup(name)
                if value is _MISSING or name in OWN_KEYWORDS:
                    return None
                return self._captures.expr(name, value, loc)
            case ast.Attribute(_, name):
                base = self._module(node.value)
                if base is None:
                    return None
                value = getattr(base, name, _MISSING)
                if value is _MISSING:
                    raise error("DSL0124", f"the module `{base.__name__}` has no `{name}`", loc)
                return self._captures.expr(name, value, loc)
            case _:
                return None

    def _module(self, node: ast.expr) -> types.ModuleType | None:
        match node:
            case ast.Name(name):
                value = self._lookup(name)
            case ast.Attribute(value=inner, attr=name):
                outer = self._module(inner)
                value = getattr(outer, name, _MISSING) if outer else _MISSING
            case _:
                return None
        return value if isinstance(value, types.ModuleType) else None

    def _lookup(self, name: str) -> object:
        if name in self._bound:
            return _MISSING
        if name in self._cells:
            try:
                return self._cells[name].cell_contents
            except ValueError:  # not assigned yet
                return _MISSING
        return self._globals.get(name, getattr(builtins, name, _MISSING))


def assigned_names(node: ast.FunctionDef) -> Iterator[str]:
    """The names that a function binds: its parameters and whatever its body assigns."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.arg):
            yield inner.arg
        elif isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
            yield inner.id


def _is_own(module: str | None) -> bool:
    return module == "dslc" or (module or "").startswith("dslc.")
