"""A decorated Python function -> syntax tree, the same as of the `.tile` text with that body."""

from __future__ import annotations

import ast
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from dslc.compiler.diagnostics import Diagnostic, DiagnosticError, Loc, error
from dslc.frontend import tree
from dslc.frontend.captures import Captures, Decorated, Scope, assigned_names, decorated
from dslc.frontend.constants import declaration
from dslc.frontend.python_body import BodyReader
from dslc.frontend.python_signature import dim_names, param_types, read_param
from dslc.frontend.python_source import Source, find_definition
from dslc.frontend.rules import check_module
from dslc.frontend.tokens import KEYWORDS


def parse_function(
    fn: object,
    *,
    const: Mapping[str, object] | None = None,
    tune: Mapping[str, Sequence[object]] | None = None,
) -> tree.Module:
    """The tree of a function under `@dslc.kernel`: its kernel last, before it what it captured.

    `const` and `tune` are the decorator's keywords; they become the first declarations of the body.
    DiagnosticError with every error that was found.
    """
    return _Reader(Decorated("kernel", fn, const or {}, tune or {})).module()


def parse_program_function(
    fn: object,
    *,
    const: Mapping[str, object] | None = None,
    tune: Mapping[str, Sequence[object]] | None = None,
) -> tree.Module:
    """The tree of a function under `@dslc.program`: its program last, before it what it captured.

    A kernel that it calls is known by `__dslc_definition__` (see captures.decorated).
    """
    return _Reader(Decorated("program", fn, const or {}, tune or {})).module()


@dataclass(frozen=True)
class _Definition:
    """A decorated function with its syntax; `bound` are the names that it never captures."""

    held: Decorated
    fn: types.FunctionType
    node: ast.FunctionDef
    source: Source
    annotations: Mapping[str, ast.expr]
    bound: set[str]

    @staticmethod
    def of(held: Decorated) -> _Definition:
        """The definition behind a decorator."""
        fn = held.function
        node, source = find_definition(fn)
        assert isinstance(fn, types.FunctionType)
        by_param = param_types(node, _places(node, source))
        dims = {name for annotation in by_param.values() for name in dim_names(annotation)}
        bound = {*assigned_names(node), *dims, *held.const, *held.tune}
        return _Definition(held, fn, node, source, by_param, bound)

    def callees(self) -> Iterator[Decorated]:
        """The decorated kernels that a program names."""
        scope = Scope(self.fn, self.bound)
        for node in ast.walk(self.node):
            if isinstance(node, ast.Name | ast.Attribute) and (
                held := decorated(scope.value(node))
            ):
                yield held


class _Reader:
    """Reads a decorated function and everything that it captures."""

    def __init__(self, held: Decorated) -> None:
        self.held = held
        self.found: list[Diagnostic] = []

    def module(self) -> tree.Module:
        """The module of the function; DiagnosticError where anything was found."""
        main = _Definition.of(self.held)
        self.captures = Captures(self, {main.node.name, *_all_bound(main)})
        parsed = None
        try:
            item = self.read_decorated(self.held, main.node.name)
            parsed = tree.Module(
                (*self.captures.items.values(), item), loc=main.source.loc(main.node)
            )
            if not self.found:
                check_module(parsed, self.found.append)
        except DiagnosticError as failure:
            self.found.extend(failure.diagnostics)
        if self.found or parsed is None:
            raise DiagnosticError(self.found)
        return parsed

    def read_decorated(self, held: Decorated, name: str) -> tree.Kernel | tree.Program:
        """A kernel or a program, its declarations from the decorator first."""
        one = _Definition.of(held)
        places = _places(one.node, one.source)
        _check_names([(one.node.name, one.source.loc(one.node)), *places.items()])
        reader = self._body_reader(one.fn, one.bound, one.source)
        declared = self._declared(one)
        params = tuple(read_param(n, a, places[n], reader) for n, a in one.annotations.items())
        doc, body = reader.body(one.node.body)
        make = tree.Kernel if held.kind == "kernel" else tree.Program
        return make(name, params, (*declared, *body), doc, loc=one.source.loc(one.node))

    def read_function(self, fn: types.FunctionType, name: str) -> tree.Function:
        """A plain function, to be inlined."""
        node, source = find_definition(fn)
        args = node.args
        refused = args.vararg or args.kwarg or next(iter(args.kwonlyargs), None)
        if refused:
            message = f"`{refused.arg}`: a function's parameters are plain names"
            raise error("DSL0122", message, source.loc(refused), hint="write each parameter out")
        places = _places(node, source)
        _check_names(list(places.items()))
        defaults = self._body_reader(fn, set(), source).exprs(args.defaults)
        doc, body = self._body_reader(fn, set(assigned_names(node)), source).body(node.body)
        return tree.Function(name, tuple(places), defaults, body, doc, loc=source.loc(node))

    def _declared(self, one: _Definition) -> list[tree.Const | tree.Tune]:
        """The decorator's keywords as declarations, in their order."""
        keywords = [
            k for d in one.node.decorator_list if isinstance(d, ast.Call) for k in d.keywords
        ]
        places = {k.arg: one.source.loc(k) for k in keywords}
        declarations = []
        for name in (*one.held.const, *one.held.tune):
            loc = places.get(name, one.source.loc(one.node))
            _check_names([(name, loc)])
            declared = declaration(name, one.held.const, one.held.tune, loc)
            if declared is None:
                message = f"the value of `{name}` is no constant of the language"
                hint = (
                    "numbers, strings, dtypes and layouts are; a list of them is a choice to tune"
                )
                self.found.append(Diagnostic("DSL0125", message, loc, hint))
            else:
                declarations.append(declared)
        return declarations

    def _body_reader(self, fn: types.FunctionType, bound: set[str], source: Source) -> BodyReader:
        resolve = partial(Scope(fn, bound).resolve, self.captures)
        return BodyReader(source, resolve, self.found.append)


def _all_bound(main: _Definition) -> set[str]:
    """The bound names of a definition and of all that it calls: no constant may have them."""
    seen: dict[object, _Definition] = {}
    waiting = [main]
    while waiting:
        one = waiting.pop()
        if one.fn not in seen:
            seen[one.fn] = one
            waiting += [_Definition.of(held) for held in one.callees()]
    return {name for one in seen.values() for name in one.bound}


def _places(node: ast.FunctionDef, source: Source) -> dict[str, Loc]:
    args = node.args
    every = (*args.posonlyargs, *args.args, args.vararg, *args.kwonlyargs, args.kwarg)
    return {a.arg: source.loc(a) for a in every if a}


def _check_names(names: list[tuple[str, Loc]]) -> None:
    for name, loc in names:
        if name in KEYWORDS or not name.isidentifier():
            hint = "choose another name"
            raise error("DSL0104", f"`{name}` is a keyword and cannot be a name", loc, hint=hint)
