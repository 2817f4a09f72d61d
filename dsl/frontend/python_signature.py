"""The parameters of a decorated function, read from the syntax of their annotations."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeGuard

from dslc.compiler.diagnostics import DiagnosticError, Loc, error
from dslc.frontend import tree
from dslc.frontend.python_body import BodyReader

_FORMS = (
    "write `f16[M, K]`, `out[f16[M, K]]`, `strides(f16[M, K], sm, 1)` or a scalar as `i32`; for type "
    "checkers `tensor[f16, M, K]`, `out[f16, M, K]`, `tensor[f16, M, K, strides(sm, 1)]`"
)


@dataclass
class _Type:
    """What has been read of an annotation."""

    node: ast.expr  # dtype or dtype[dims]
    mode: str = "in"
    strides: list[ast.expr] | None = None
    packed: str | None = None


def param_types(node: ast.FunctionDef, at: dict[str, Loc]) -> dict[str, ast.expr]:
    """Each parameter's annotation, string annotations parsed; `at` has the parameters' places."""
    refused = node.args.vararg or node.args.kwarg or next(iter(node.args.kwonlyargs), None)
    if refused:
        message = f"`{refused.arg}`: a kernel's parameters are plain"
        raise error("DSL0122", message, at[refused.arg], hint="write each parameter out")
    if node.args.defaults:
        last = [*node.args.posonlyargs, *node.args.args][-1].arg
        raise error("DSL0122", "a kernel's parameters have no defaults", at[last])
    types: dict[str, ast.expr] = {}
    for arg in (*node.args.posonlyargs, *node.args.args):
        if arg.annotation is None:
            message = f"the parameter `{arg.arg}` has no type"
            raise error("DSL0122", message, at[arg.arg], hint=_FORMS)
        annotation: ast.expr = _Unquote(at[arg.arg]).visit(arg.annotation)
        match annotation:
            case ast.BinOp(left, ast.BitOr(), ast.Constant(None)):
                annotation.left = _nested(left)
                types[arg.arg] = annotation
            case _:
                types[arg.arg] = _nested(annotation)
    return types


def dim_names(annotation: ast.expr) -> Iterator[str]:
    """The names that stand alone as dims or strides: they are bound at the call, never captured."""
    for inner in ast.walk(annotation):
        if isinstance(inner, ast.Subscript):
            yield from (d.id for d in _items(inner.slice) if isinstance(d, ast.Name))
        elif isinstance(inner, ast.Call):
            yield from (d.id for d in inner.args[1:] if isinstance(d, ast.Name))


def read_param(name: str, annotation: ast.expr, loc: Loc, reader: BodyReader) -> tree.Param:
    """The parameter that an annotation describes; DSL0122 where it describes none."""
    optional = False
    match annotation:
        case ast.BinOp(left, ast.BitOr(), ast.Constant(None)):
            annotation, optional = left, True
    described = _read(annotation, reader)
    dims = None
    dtype = described.node
    if isinstance(dtype, ast.Subscript):
        dims = reader.exprs(_items(dtype.slice))
        dtype = dtype.value
    strides = None if described.strides is None else reader.exprs(described.strides)
    if dims is None and (described.strides is not None or described.packed is not None):
        raise _refused(annotation, reader, "a scalar has no storage")
    if dims is not None and strides is not None and len(strides) != len(dims):
        raise _refused(annotation, reader, f"{len(strides)} strides for {len(dims)} dims")
    expr = reader.expr(dtype)
    if not isinstance(expr, tree.Name):
        raise _refused(annotation, reader, "this is no type")
    storage = (strides, described.packed)
    return tree.Param(name, expr, dims, described.mode, *storage, optional, loc=loc)


def _read(node: ast.expr, reader: BodyReader) -> _Type:
    match node:
        case ast.Subscript(ast.Name(mode) | ast.Attribute(attr=mode), inner) if mode in _MODES:
            described = _read(inner, reader)
            if described.mode != "in":
                raise _refused(node, reader, f"`{mode}` around `{described.mode}`")
            described.mode = mode
            return described
        case ast.Call(ast.Name("strides") | ast.Attribute(attr="strides"), [inner, *strides], []):
            described = _read(inner, reader)
            described.strides = strides
            return described
        case ast.Call(ast.Name("packed") | ast.Attribute(attr="packed"), [inner, order], []):
            described = _read(inner, reader)
            word = {ast.Name: "id", ast.Constant: "value"}.get(type(order), "")
            described.packed = str(getattr(order, word, ""))
            if described.packed != "row":
                raise _refused(order, reader, 'the one fixed storage is `packed(..., "row")`')
            return described
        case ast.Subscript() | ast.Name() | ast.Attribute():
            return _Type(node)
        case _:
            raise _refused(node, reader, "this is no type")


_MODES = ("out", "inout")
_FLAT = ("tensor", *_MODES)


def _nested(node: ast.expr) -> ast.expr:
    """The form that type checkers take as the nested one; any other annotation as it is.

    `out[f16, M, K, strides(sm, 1)]` becomes `out[strides(f16[M, K], sm, 1)]`.
    """
    match node:
        case ast.Subscript(ast.Name(word) | ast.Attribute(attr=word), inner) if word in _FLAT:
            parts = _items(inner)
        case _:
            return node
    if len(parts) == 1:
        return parts[0] if word == "tensor" else node
    dtype, *rest = parts
    storage = [p for p in rest if _is_storage(p)]
    dims: list[ast.expr] = [p for p in rest if not _is_storage(p)]
    built: ast.expr = dtype
    if dims:
        index = ast.copy_location(ast.Tuple(dims, ast.Load()), inner)
        built = ast.copy_location(ast.Subscript(dtype, index, ast.Load()), inner)
    for call in storage:
        wrapped = ast.Call(call.func, [built, *call.args], call.keywords)
        built = ast.copy_location(wrapped, call)
    if word != "tensor":
        built = ast.copy_location(ast.Subscript(node.value, built, ast.Load()), node)
    return built


def _is_storage(node: ast.expr) -> TypeGuard[ast.Call]:
    """Whether a part of an annotation is `strides(...)` or `packed(...)` without a type."""
    match node:
        case ast.Call(ast.Name(word) | ast.Attribute(attr=word)):
            return word in ("strides", "packed")
        case _:
            return False


def _refused(node: ast.expr, reader: BodyReader, message: str) -> DiagnosticError:
    return error("DSL0122", message, reader.loc(node), hint=_FORMS)


def _items(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, ast.Tuple) else [node]


class _Unquote(ast.NodeTransformer):
    """Parses the strings in an annotation; what was in a string has the string's place."""

    def __init__(self, loc: Loc) -> None:
        self.param = loc

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        """The expression in a string."""
        if not isinstance(node.value, str):
            return node
        try:
            inner = ast.parse(node.value.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            message = f"{node.value[:60]!r} is no type"
            raise error("DSL0122", message, self.param, hint=_FORMS) from None
        for part in ast.walk(inner):
            ast.copy_location(part, node)
        return inner
