"""A decorated Python function -> syntax tree, the same as of the `.tile` text with that body."""

from __future__ import annotations

import ast
import types
from collections.abc import Mapping, Sequence
from typing import TypeVar

from dslc.compiler.diagnostics import Diagnostic, DiagnosticError, Loc, error
from dslc.frontend import tree
from dslc.frontend.captures import Captures, Scope, assigned_names
from dslc.frontend.constants import declarations
from dslc.frontend.lexer import KEYWORDS
from dslc.frontend.python_body import BodyReader
from dslc.frontend.python_signature import dim_names, param_types, read_param
from dslc.frontend.python_source import Source, find_definition
from dslc.frontend.rules import check_module

_Definition = TypeVar("_Definition", tree.Kernel, tree.Program)


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
    return _Reader(fn).module(tree.Kernel, const or {}, tune or {})


def parse_program_function(fn: object) -> tree.Module:
    """The tree of a function under `@dslc.program`: its program last, before it what it captured.

    A decorated kernel that it calls is known by its method `__dslc_tree__`.
    """
    return _Reader(fn).module(tree.Program, {}, {})


class _Reader:
    """Reads one decorated function."""

    def __init__(self, fn: object) -> None:
        self.fn = fn
        self.found: list[Diagnostic] = []

    def module(
        self,
        kind: type[_Definition],
        const: Mapping[str, object],
        tune: Mapping[str, Sequence[object]],
    ) -> tree.Module:
        """The module of the function; DiagnosticError where anything was found."""
        node, source = find_definition(self.fn)
        assert isinstance(self.fn, types.FunctionType)
        try:
            types_of = param_types(node, _places(node, source))
            dims = {name for a in types_of.values() for name in dim_names(a)}
            bound = {*assigned_names(node), *dims, *const, *tune}
            captures = Captures(self.found.append, _read_function, bound | {node.name})
            reader = _body_reader(self.fn, bound, captures, source, self.found)
            declared = self._declared(const, tune, node, source)
            places = _places(node, source)
            params = [read_param(n, a, places[n], reader) for n, a in types_of.items()]
            _check_names([(node.name, source.loc(node)), *places.items()])
            doc, body = reader.body(node.body)
            item = kind(node.name, tuple(params), (*declared, *body), doc, loc=source.loc(node))
            made = tree.Module((*captures.items.values(), item), loc=source.loc(node))
            if not self.found:
                check_module(made, self.found.append)
        except DiagnosticError as failure:
            self.found.extend(failure.diagnostics)
        if self.found:
            raise DiagnosticError(self.found)
        return made

    def _declared(
        self,
        const: Mapping[str, object],
        tune: Mapping[str, Sequence[object]],
        node: ast.FunctionDef,
        source: Source,
    ) -> list[tree.Const | tree.Tune]:
        places = {
            keyword.arg: source.loc(keyword)
            for decorator in node.decorator_list
            if isinstance(decorator, ast.Call)
            for keyword in decorator.keywords
        }
        here = source.loc(node)
        _check_names([(name, places.get(name, here)) for name in (*const, *tune)])
        made = []
        for name in (*const, *tune):
            one_const = {name: const[name]} if name in const else {}
            one_tune = {} if name in const else {name: list(tune[name])}
            done, strange = declarations(one_const, one_tune, places.get(name, here))
            made += done
            if strange:
                message = f"the value of `{name}` is no constant of the language"
                hint = (
                    "numbers, strings, dtypes and layouts are; a list of them is a choice to tune"
                )
                self.found.append(Diagnostic("DSL0125", message, places.get(name, here), hint))
        return made


def _read_function(fn: types.FunctionType, name: str, captures: Captures) -> tree.Function:
    """A captured function, to be inlined under `name`."""
    node, source = find_definition(fn)
    args = node.args
    refused = args.vararg or args.kwarg or next(iter(args.kwonlyargs), None)
    if refused:
        message = f"`{refused.arg}`: a function's parameters are plain names"
        raise error("DSL0122", message, source.loc(refused), hint="write each parameter out")
    params = [a.arg for a in (*args.posonlyargs, *args.args)]
    _check_names([(p, source.loc(node)) for p in params])
    found: list[Diagnostic] = []
    reader = _body_reader(fn, set(assigned_names(node)), captures, source, found)
    outside = _body_reader(fn, set(), captures, source, found)
    defaults = outside.exprs(args.defaults)
    doc, body = reader.body(node.body)
    if found:
        raise DiagnosticError(found)
    loc = source.loc(node)
    return tree.Function(name, tuple(params), defaults, body, doc, loc=loc)


def _body_reader(
    fn: types.FunctionType,
    bound: set[str],
    captures: Captures,
    source: Source,
    found: list[Diagnostic],
) -> BodyReader:
    scope = Scope(fn, bound, captures)
    return BodyReader(source, scope.resolve, found.append)


def _places(node: ast.FunctionDef, source: Source) -> dict[str, Loc]:
    args = node.args
    every = (*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg)
    return {a.arg: source.loc(a) for a in every if a}


def _check_names(names: list[tuple[str, Loc]]) -> None:
    for name, loc in names:
        if name in KEYWORDS or not name.isidentifier():
            hint = "choose another name"
            raise error("DSL0104", f"`{name}` is a keyword and cannot be a name", loc, hint=hint)
