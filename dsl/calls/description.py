"""A kernel as Python describes functions: `inspect.signature`, `help`, and a table for notebooks."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from html import escape
from typing import Any

from dslc.calls.launch_options import OPTIONS
from dslc.calls.signature import Parameter, Signature

_MODES = {"in": "read", "out": "written", "inout": "read and written"}


class Text:
    """An annotation or a default that reads as its text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


class SignatureOfInstances:
    """`__signature__` of each kernel; the class keeps the signature of its constructor."""

    def __get__(self, kernel: Any, owner: type) -> inspect.Signature:
        if kernel is None:
            raise AttributeError("__signature__")
        return python_signature(kernel.origin.signature)


def python_signature(signature: Signature) -> inspect.Signature:
    """The signature of a call: parameters, then by name alone tunes, dims and launch options.

    The annotation of a tune lists its choices, and `...` stands for what a call may leave out.
    """
    kinds = inspect.Parameter
    parameters = [
        kinds(p.name, kinds.POSITIONAL_OR_KEYWORD, annotation=Text(str(p).partition(": ")[2]))
        for p in signature.parameters
    ]
    for name, annotation in _named(signature):
        parameters.append(
            kinds(name, kinds.KEYWORD_ONLY, default=Text("..."), annotation=Text(annotation))
        )
    return inspect.Signature(parameters, return_annotation=None)


def _named(signature: Signature) -> Iterator[tuple[str, str]]:
    taken = {p.name for p in signature.parameters}
    for name, choices in signature.tunes.items():
        yield name, " | ".join(map(str, choices))
    yield from ((d, "int") for d in signature.dims if d not in taken)
    known = {*taken, *signature.tunes, *signature.dims}
    yield from ((o, "int") for o in OPTIONS if o not in known)


def docstring(signature: Signature) -> str:
    """The kernel's docstring, then its parameters, choices and dims, a line each."""
    lines = [signature.doc or f"The kernel {signature.name}.", "", "Parameters:"]
    width = max((len(p.name) for p in signature.parameters), default=0)
    lines += [f"    {p.name:{width}}  {_described(p)}" for p in signature.parameters]
    if signature.tunes:
        lines += ["", "Choices, by name; the compiler takes what it predicts to be the fastest:"]
        lines += [f"    {n} = {' | '.join(map(str, c))}" for n, c in signature.tunes.items()]
    if signature.dims:
        dims = ", ".join(signature.dims)
        lines += ["", f"Dims, bound by the arguments' shapes: {dims}"]
    if signature.loc is not None:
        lines += ["", f"Defined at {signature.loc}"]
    return "\n".join(lines)


def _described(parameter: Parameter) -> str:
    words = str(parameter).partition(": ")[2]
    kind = "a number" if parameter.dims is None else _MODES[parameter.mode]
    return f"{words} ({kind})"


def html_table(signature: Signature, target: str, tile: str | None) -> str:
    """The kernel as a notebook shows it: a table of its parameters, its choices, its source."""
    rows = "".join(
        f"<tr><td><code>{escape(p.name)}</code></td>"
        f"<td><code>{escape(str(p).partition(': ')[2])}</code></td>"
        f"<td>{'number' if p.dims is None else _MODES[p.mode]}</td></tr>"
        for p in signature.parameters
    )
    rows += "".join(
        f"<tr><td><code>{escape(n)}</code></td>"
        f"<td><code>{escape(' | '.join(map(str, c)))}</code></td><td>choice</td></tr>"
        for n, c in signature.tunes.items()
    )
    doc = f"<p>{escape(signature.doc)}</p>" if signature.doc else ""
    source = ""
    if tile is not None:
        source = f"<details><summary>source</summary><pre>{escape(tile)}</pre></details>"
    head = f"<b>{escape(signature.name)}</b> for {escape(target)}"
    return f"<div>{head}{doc}<table>{rows}</table>{source}</div>"
