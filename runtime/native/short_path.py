"""The short way of calls over NumPy's arrays, in C (calls.c), where it was built.

It is made after a call that went the long way. Whatever that found out holds for all calls whose arrays
have the same shapes, strides and types: dims, requirements, turns and threads. What is left are the
places of arrays and the values of scalars, which C compares and fills in.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from dslc.compiler.artifact import Signature
from dslc.runtime.elements import storage_dtype
from dslc.runtime.expression import evaluate, names_of
from dslc.runtime.native.description import word_of
from dslc.runtime.native.host import HostLibrary, extension
from dslc.runtime.native.processor import Array, Code
from dslc.runtime.native.steps import Step, Values
from dslc.runtime.packing import Packed

Call: TypeAlias = Callable[[Sequence[object], object], bool]
"""With the arguments in order, and a stream: whether they fit, and the kernel has run."""

# Scalars that C reads as Python gives them; others are rounded, and have to be those of the first call.
_EXACT = {"i64": "i", "f32": "f", "f64": "f", "bool": "b"}
_MASK = (1 << 64) - 1


def short_call(
    code: Code,
    step: Step,
    args: Mapping[str, object],
    arrays: Mapping[str, Array],
    values: Values,
    turns: int,
    threads: int,
) -> Call | None:
    """The short way of a kernel, for calls like one with `args`, of which `arrays` were made.

    None where there is none: without the extension, for arrays that are not NumPy's or were converted,
    and where nothing is to be done.
    """
    module = extension()
    if module is None or not isinstance(code, HostLibrary) or not turns:
        return None
    if not all(_is_used(args[name], array) for name, array in arrays.items()):
        return None
    signature = step.artifact.signature
    fixed = _shaping(step)
    arguments: list[tuple[str, object]] = []
    free = set()
    for p in signature.params:
        if p.dims is not None:
            arguments.append(("a" if p.mode == "in" else "w", args[p.name]))
        elif p.dtype in _EXACT and p.name not in fixed:
            free.add(p.name)
            arguments.append((_EXACT[p.dtype], None))
        else:
            kind = {"f": "f", "b": "b"}.get(storage_dtype(p.dtype).kind, "i")
            arguments.append((kind, _plain(args[p.name])))
    order = {p.name: number for number, p in enumerate(signature.params)}
    words = tuple(_words(step, order, free, values))

    def failed(result: int) -> None:
        raise step.broken(result)

    kernel, scratch = code.address(step.artifact.entry), step.description.scratch
    try:
        made: Call = module.Short(kernel, turns, threads, scratch, tuple(arguments), words, failed)
    except ValueError:  # more arguments or axes than it has room for
        return None
    return made


def _is_used(given: object, array: Array) -> bool:
    """Whether a kernel gets the caller's own array as it was passed."""
    if not isinstance(given, np.ndarray) or type(given) not in (np.ndarray, Packed):
        return False
    return given.ctypes.data == array.ctypes.data


def _plain(value: object) -> object:
    item = getattr(value, "item", None)
    return value if item is None else item()


def _shaping(step: Step) -> set[str]:
    """The names of scalars from which anything but their own words follows."""
    signature = step.artifact.signature
    texts = [*step.description.grid, *_texts(signature)]
    texts += [a.text for a in step.description.arguments if a.kind == "value"]
    return {name for text in texts for name in names_of(text)}


def _texts(signature: Signature) -> Iterator[str]:
    for requirement in signature.requires:
        yield requirement.condition
    for p in signature.params:
        yield from p.dims or ()
        yield from p.strides or ()


def _words(
    step: Step, order: Mapping[str, int], free: Collection[str], values: Values
) -> Iterator[tuple[int, str, int]]:
    """Of each word the argument that it is of (-1 for none), how it is written, and what it is."""
    for argument in step.description.arguments:
        name = argument.text
        if argument.kind == "tensor":
            yield order[name], "i", 0
        elif argument.kind == "scalar" and name in free:
            yield order[name], {"f32": "f", "f64": "d"}.get(argument.type, "i"), 0
        elif argument.kind == "scalar":
            yield -1, "i", word_of(values[name], argument.type) & _MASK
        else:
            yield -1, "i", evaluate(name, values) & _MASK
