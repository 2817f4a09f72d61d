"""A library as a stub file (PEP 484): each kernel a class whose call has its parameters and choices."""

from __future__ import annotations

import keyword
from collections.abc import Iterator, Mapping, Sequence

from dslc.calls.launch_options import OPTIONS
from dslc.calls.signature import Parameter, Signature
from dslc.compiler.dtypes import Kind

_HEAD = """\
# Written by `dslc stubs {name}`: write it anew where the kernels' parameters change.
from collections.abc import Callable
from typing import Any, Literal, Protocol, SupportsFloat, SupportsIndex

import dslc

class _Array(Protocol):
    @property
    def __dlpack__(self) -> Callable[..., Any]: ...
"""


def stub_text(name: str, class_name: str, signatures: Mapping[str, Signature]) -> str:
    """The text of a stub for the kernels of the file `name`, its library a class of that name."""
    shown = {n: s for n, s in signatures.items() if not keyword.iskeyword(n)}
    rows = [_HEAD.format(name=name)]
    for kernel, signature in shown.items():
        rows.append("\n".join([f"class _{kernel}(dslc.Kernel):", *_methods(signature)]) + "\n")
    members = [f"    {n}: _{n}" for n in shown]
    rows.append("\n".join([f"class {class_name}(dslc.Library):", *(members or ["    ..."])]) + "\n")
    return "\n".join(rows)


def _methods(signature: Signature) -> Iterator[str]:
    named = list(_named(signature))
    taken = {p.name for p in signature.parameters}
    this = next(n for n in ("self", "kernel", "this_kernel") if n not in taken)
    params = [f"{p.name}: {_type(p)}{_default(p, signature)}" for p in signature.parameters]
    yield from _method("__call__", [this, "/", *params], named, "None")
    result = "dslc.Specialization"
    yield from _method("specialize", [this, "plain: Any = ...", "/"], named, result)


def _method(name: str, params: Sequence[str], named: Sequence[str], result: str) -> Iterator[str]:
    yield f"    def {name}(  # type: ignore[override]"
    for word in (*params, *(["*"] if named else []), *named):
        yield f"        {word},"
    yield f"    ) -> {result}: ..."


def _named(signature: Signature) -> Iterator[str]:
    """What a call may give by name alone: choices, dims, launch options."""
    taken = {p.name for p in signature.parameters}
    for name, choices in signature.tunes.items():
        yield f"{name}: {_choices(choices)} = ..."
    yield from (f"{d}: int = ..." for d in signature.dims if d not in taken)
    known = {*taken, *signature.tunes, *signature.dims}
    yield from (f"{o}: int = ..." for o in OPTIONS if o not in known)


def _choices(choices: Sequence[object]) -> str:
    if all(isinstance(c, int | str) for c in choices):
        return f"Literal[{', '.join(map(repr, choices))}]"
    return "float" if all(isinstance(c, int | float) for c in choices) else "Any"


def _default(parameter: Parameter, signature: Signature) -> str:
    """What says that an argument may be None, or left out where no other has to follow."""
    if not parameter.optional:
        return ""
    behind = signature.parameters[signature.parameters.index(parameter) :]
    return " | None = ..." if all(p.optional for p in behind) else " | None"


def _type(parameter: Parameter) -> str:
    if parameter.dims is not None:
        return "_Array"
    if parameter.dtype.kind is Kind.BOOL:
        return "bool"
    return "SupportsIndex" if parameter.dtype.is_integer else "SupportsFloat"
