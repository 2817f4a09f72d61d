"""The arguments of a layout function, by the types that it says of them."""

from __future__ import annotations

import functools
import inspect
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dslc.compiler.layout import Layout


def misfit(
    build: Callable[..., Layout], args: Sequence[Any], keywords: Mapping[str, Any]
) -> str | None:
    """What is wrong with the arguments of a call: their number, names or kinds; None if nothing."""
    try:
        bound = inspect.signature(build).bind(*args, **keywords)
    except TypeError as e:
        return str(e)
    hints = _hints(build)
    for name, value in bound.arguments.items():
        several = bound.signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL
        for each in value if several else (value,):
            if not _fits(each, hints[name]):
                return f"{name} is {_described(hints[name])}, not {_shown(each)}"
    return None


@functools.cache
def _hints(build: Callable[..., Layout]) -> dict[str, Any]:
    return typing.get_type_hints(build)


def _fits(value: object, kind: Any) -> bool:
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, k) for k in typing.get_args(kind))
    if origin is not None:  # a sequence of equal kinds
        inner = typing.get_args(kind)[0]
        return isinstance(value, tuple) and all(_fits(v, inner) for v in value)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, kind)


def _described(kind: Any, plural: bool = False) -> str:
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        return _described(typing.get_args(kind)[0], plural)
    if origin is not None:
        inner = _described(typing.get_args(kind)[0], True)
        return f"lists of {inner}" if plural else f"a list of {inner}"
    one, many = {
        int: ("an integer", "integers"),
        bool: ("True or False", "truth values"),
        Layout: ("a layout", "layouts"),
    }[kind]
    return many if plural else one


def _shown(value: object) -> str:
    return f"the layout {value}" if isinstance(value, Layout) else repr(value)
