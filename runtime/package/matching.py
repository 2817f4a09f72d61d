"""A call's arguments against a packaged kernel's signature."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dslc.compiler.diagnostics import DiagnosticError, did_you_mean, error
from dslc.runtime.package.index import IndexedKernel

# Of a launch, which calls choose as they choose tunes.
OPTIONS = ("warps", "stages", "cluster", "producers")


@dataclass(frozen=True, slots=True)
class Call:
    """Arguments by parameter, and the choices and dims that the caller states."""

    arguments: dict[str, Any]
    config: dict[str, int | str]
    dims: dict[str, int]


def match(kernel: IndexedKernel, args: Sequence[Any], named: Mapping[str, Any]) -> Call:
    """DSL0741 for an argument given twice, DSL0755 for names that do not fit."""
    names = [p.name for p in kernel.parameters]
    if len(args) > len(names):
        text = f"{kernel.name} takes {len(names)} arguments, got {len(args)}"
        raise error("DSL0755", text, hint=f"they are {', '.join(names)}")
    call = Call(dict(zip(names, args, strict=False)), {}, {})
    options = {n: v for n, v in named.items() if n not in names}
    for name in named.keys() - options.keys():
        if name in call.arguments:
            raise error("DSL0741", f"{kernel.name} got the argument {name} twice")
        call.arguments[name] = named[name]
    config, dims = choices(kernel, options)
    missing = [n for n in names if n not in call.arguments]
    if missing:
        raise error("DSL0755", f"{kernel.name} needs an argument for {', '.join(missing)}")
    return Call(call.arguments, config, dims)


def choices(
    kernel: IndexedKernel, options: Mapping[str, Any]
) -> tuple[dict[str, int | str], dict[str, int]]:
    """Keywords divided into choices and dims; DSL0755 for others, DSL0758 for what is no size."""
    config: dict[str, int | str] = {}
    dims: dict[str, int] = {}
    for name, value in options.items():
        if name in kernel.dims:
            dims[name] = _size(name, value)
        elif name in kernel.tunes or name in OPTIONS:
            config[name] = int(value) if isinstance(value, int) else str(value)
        else:
            raise _unknown(kernel, name)
    return config, dims


def shape_dims(kernel: IndexedKernel, shapes: Mapping[str, Sequence[int]]) -> dict[str, int]:
    """The dims that are an axis of their own in some tensor of these shapes.

    Shapes of another rank tell nothing: they are packed bytes, or refused later.
    """
    known: dict[str, int] = {}
    for p in kernel.parameters:
        shape = shapes.get(p.name)
        if p.dims is not None and shape is not None and len(shape) == len(p.dims):
            for text, size in zip(p.dims, shape, strict=True):
                if text in kernel.dims:
                    known.setdefault(text, int(size))
    return known


def _size(name: str, value: Any) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__") or value.__index__() < 0:
        raise error("DSL0758", f"the dim {name} is a whole number of at least 0, not {value!r}")
    return int(value.__index__())


def _unknown(kernel: IndexedKernel, name: str) -> DiagnosticError:
    known: Iterable[str] = [*(p.name for p in kernel.parameters), *kernel.tunes, *kernel.dims]
    hint = did_you_mean(name, known) or f"there are {', '.join(known)}"
    return error("DSL0755", f"{kernel.name} has no parameter, tune or dim {name}", hint=hint)
