"""What Tile IR says to an artifact: its signature, grid and workspaces, as texts of the closed grammar.

A code generator adds its files and what its launcher reads. `dslc.runtime.expression` evaluates the
texts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from dslc.compiler.artifact import Json, Param, Requirement, Signature, Workspace
from dslc.compiler.diagnostics import DiagnosticError, error
from dslc.compiler.dtypes import BOOL, DType, Kind
from dslc.compiler.ir import Kernel, Memory, PackedParam, TileProgram
from dslc.compiler.ir import expr as ex

_SIGNS = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "floordiv": "//", "mod": "%", "shl": "<<",
    "shr": ">>", "and": "&", "or": "|", "xor": "^",
    "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
}  # fmt: skip
_LOGIC = {"and": "and", "or": "or"}
_PREFIXES = {"neg": "-", "invert": "~", "not": "not "}
_FLOATS = ("f16", "f32", "f64")


def signature_of(
    program: TileProgram,
    config: Mapping[str, object],
) -> Signature:
    """The caller's side of a program with these tune choices.

    A low-bit parameter that passes have stored as bytes is described as the caller knows it, with its
    storage. DSL0804 where a shape or a requirement says more than the grammar can.
    """
    stored = {p.name: p for p in program.packed}
    return Signature(
        params=tuple(_param(p, stored.get(p.name)) for p in program.params),
        dims=tuple(d.name for d in program.dims),
        fixed=dict(program.fixed),
        config={name: plain_choice(value) for name, value in config.items()},
        requires=tuple(Requirement(expression_text(r.condition), r.text) for r in program.requires),
        doc=program.doc,
    )


def plain_choice(value: object) -> int | str:
    """A tune's choice as a manifest holds it: an integer, or the text of anything else."""
    return int(value) if isinstance(value, int) else str(value)


def grid_of(kernel: Kernel) -> tuple[str, ...]:
    """The number of turns along each axis of the grid."""
    texts = []
    for axis in kernel.grid:
        start, stop, step = (_text(e, inner=True) for e in (axis.start, axis.stop, axis.step))
        span = stop if start == "0" else f"{stop} - {start}"
        texts.append(f"max(0, {span if step == '1' else f'cdiv({span}, {step})'})")
    return tuple(texts)


def workspaces_of(kernel: Kernel) -> tuple[Workspace, ...]:
    """The workspaces with their sizes in bytes."""
    return tuple(
        Workspace(m.name, m.dtype.name, _bytes(m.dtype, _texts(m.shape))) for m in kernel.workspaces
    )


def expression_text(expr: ex.Expr) -> str:
    """A scalar expression as text; DSL0804 for what shapes and conditions have no words for."""
    return _text(expr, inner=False)


def _param(param: Memory | ex.Var, stored: PackedParam | None) -> Param:
    if not isinstance(param, Memory):
        return Param(param.name, param.dtype.name, "in")
    if stored is not None:
        shape = _texts(stored.shape)
        return Param(stored.name, stored.dtype.name, "in", shape, None, stored.storage.to_data())
    packed: dict[str, Json] | None = None
    if param.packed == "row":
        signed = param.dtype.kind is Kind.INT
        packed = {"scheme": "row", "bits": param.dtype.bits, "signed": signed}
    return Param(
        param.name,
        param.dtype.name,
        param.role.value,  # type: ignore[arg-type]  # parameters are in, out or inout
        _texts(param.shape),
        None if param.strides is None else _texts(param.strides),
        packed,
    )


def _texts(exprs: Sequence[ex.Expr]) -> tuple[str, ...]:
    return tuple(expression_text(e) for e in exprs)


def _bytes(dtype: DType, extents: Sequence[str]) -> str:
    factors = [f"({e})" for e in extents] + [str(max(1, dtype.bits // 8))]
    return " * ".join(factors)


def _text(expr: ex.Expr, inner: bool) -> str:
    match expr:
        case ex.Const(value=value):
            return _number(value)
        case ex.Var(name=name):
            return name
        case ex.Select(condition=c, x=x, y=y):
            return _call("select", c, x, y)
        case ex.Convert(x=x, saturate=False):
            return _converted(x, expr.dtype, inner)
        case ex.Unary(op="abs", x=x):
            return _settled(_call("abs", x), expr.dtype, inner=False)
        case ex.Unary(op=op, x=x) if op in _PREFIXES and (op != "invert" or x.dtype.is_integer):
            return _settled(f"{_PREFIXES[op]}{_text(x, inner=True)}", expr.dtype, inner)
        case ex.Binary(op="min" | "max" as op, x=x, y=y):
            return _call(op, x, y)
        case ex.Binary(op=op, x=x, y=y) if op in _SIGNS:
            signs = _LOGIC if x.dtype == BOOL and op in _LOGIC else _SIGNS
            text = f"{_text(x, inner=True)} {signs[op]} {_text(y, inner=True)}"
            return _settled(text, expr.dtype, inner)
        case _:
            raise _no_words(type(expr).__name__ if not hasattr(expr, "op") else expr.op)


def _call(name: str, *args: ex.Expr) -> str:
    return f"{name}({', '.join(expression_text(a) for a in args)})"


def _number(value: int | float | bool) -> str:
    if isinstance(value, bool):
        return str(int(value))
    if math.isnan(value):
        raise _no_words("NaN")
    text = "1e999" if math.isinf(value) else repr(abs(value))
    return f"(-{text})" if value < 0 else text


def _settled(text: str, dtype: DType, inner: bool) -> str:
    """The text of an operation rounded or wrapped to its dtype, where that is not exact anyway."""
    if dtype.kind in (Kind.INDEX, Kind.BOOL):
        return f"({text})" if inner else text
    if dtype.is_integer or dtype.name in _FLOATS:
        return f"{dtype}({text})"
    raise _no_words(f"arithmetic in {dtype}")


def _converted(x: ex.Expr, dtype: DType, inner: bool) -> str:
    if dtype.kind is Kind.INDEX and x.dtype.is_integer:
        return _text(x, inner)
    if dtype.name in _FLOATS or (dtype.is_integer and x.dtype.is_integer):
        return f"{dtype}({expression_text(x)})"
    raise _no_words(f"a cast from {x.dtype} to {dtype}")


def _no_words(what: str) -> DiagnosticError:
    return error(
        "DSL0804",
        f"{what} cannot stand in a shape, a grid or a requirement of an artifact",
        hint="compute it in the kernel's body",
    )
