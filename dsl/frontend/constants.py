"""Python values -> syntax tree: the constants that a decorated kernel uses."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from dslc.compiler.diagnostics import Loc
from dslc.compiler.dtypes import parse_dtype
from dslc.frontend import tree


def constant(value: object, loc: Loc) -> tree.Expr | None:
    """The expression for a number, a bool, a string, None, a dtype, a layout, or a list of these.

    None for any other value. A NumPy scalar counts as its Python number.
    """
    kind = type(value)
    if kind.__module__ == "numpy" and hasattr(value, "item") and not hasattr(value, "__len__"):
        value = value.item()
    if isinstance(value, tuple | list):
        items = [constant(v, loc) for v in value]
        kept = tuple(i for i in items if i is not None)
        return tree.Sequence(kept, loc=loc) if len(kept) == len(items) else None
    if value is None or isinstance(value, bool):
        return tree.Literal(value, loc=loc)
    if isinstance(value, str):
        return tree.Literal(str.__str__(value), loc=loc)  # of a subclass: an enum's value
    if isinstance(value, int | float):
        return _number(int(value) if isinstance(value, int) else float(value), loc)
    if kind.__module__.startswith("dslc."):
        if parse_dtype(str(value)) is not None:
            return tree.Name(str(value), loc=loc)
        if kind.__module__.startswith("dslc.compiler.layout"):
            from dslc.frontend.tile_parser import parse_expression

            return parse_expression(str(value), loc.file, at=loc)
    return None


def declaration(
    name: str, const: Mapping[str, object], tune: Mapping[str, Sequence[object]], loc: Loc
) -> tree.Const | tree.Tune | None:
    """What a decorator's keyword declares; None where its value, or a choice, is no constant."""
    if name in const:
        value = constant(const[name], loc)
        return None if value is None else tree.Const(name, value, loc=loc)
    choices = [constant(v, loc) for v in tune[name]]
    kept = tuple(c for c in choices if c is not None)
    return tree.Tune(name, kept, loc=loc) if len(kept) == len(choices) else None


def _number(value: int | float, loc: Loc) -> tree.Expr:
    if isinstance(value, float) and math.isnan(value):
        return tree.Name("nan", loc=loc)
    if value < 0 or (value == 0 and math.copysign(1, value) < 0):
        return tree.Unary("-", _magnitude(-value, loc), loc=loc)
    return _magnitude(value, loc)


def _magnitude(value: int | float, loc: Loc) -> tree.Expr:
    return tree.Name("inf", loc=loc) if value == math.inf else tree.Literal(value, loc=loc)
