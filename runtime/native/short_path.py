"""The short way of calls over NumPy's arrays, and tensors with DLPack's exchange in C, in C (calls.c).

It is made after a call that went the long way. Whatever that found out holds for all calls whose arrays
have the same shapes, strides and types: dims, requirements, turns and threads, the memory of buffers
and workspaces. What is left are the places of arrays and the values of scalars, which C compares and
fills in.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from dslc.compiler.artifact import Artifact, Signature
from dslc.runtime.buffers import import_array
from dslc.runtime.elements import storage_dtype
from dslc.runtime.expression import evaluate, names_of
from dslc.runtime.native.description import word_of
from dslc.runtime.native.host import HostLibrary, extension
from dslc.runtime.native.processor import Array, Code
from dslc.runtime.native.steps import Step, Values
from dslc.runtime.packing import Packed

Call: TypeAlias = Callable[[Sequence[object], object], bool]
"""With the arguments in order, and a stream: whether they fit, and the kernel has run."""
Word: TypeAlias = tuple[int, str, int]
"""The argument whose value is added to a word (-1 for none), how it is written, and the word."""

# Scalars that C reads as Python gives them; others are rounded, and have to be those of the first call.
_EXACT = {"i64": "i", "f32": "f", "f64": "f", "bool": "b"}
_FORMS = {"f32": "f", "f64": "d"}
_WRITEABLE = frozenset({"torch"})  # libraries none of whose tensors is read-only
_MASK = (1 << 64) - 1
_ALIGN = 64


def short_call(
    code: Code,
    artifact: Artifact,
    steps: Sequence[tuple[Step, int, int]],
    args: Mapping[str, object],
    arrays: Mapping[str, Array],
    values: Values,
    views: Mapping[str, tuple[str, int]],
) -> Call | None:
    """The short way of an artifact, for calls like one with `args`, of which `arrays` were made.

    `steps` come with their turns and threads; what `arrays` has beyond parameters are buffers between
    them, and `views`, each with what it is of and how many bytes after it. None where there is no
    short way: without the extension, for arrays of other libraries or converted ones, and where
    nothing is to be done.
    """
    module = extension()
    params = artifact.signature.params
    given = {p.name: arrays[p.name] for p in params if p.dims is not None}
    if module is None or not isinstance(code, HostLibrary) or not any(t for _, t, _ in steps):
        return None
    written = {p.name for p in params if p.mode != "in"}
    if not all(_is_used(args[name], array, name in written) for name, array in given.items()):
        return None
    fixed = _shaping(artifact, steps[0][0])
    arguments: list[tuple[str, object]] = []
    free = set()
    for p in params:
        if p.dims is not None:
            arguments.append(("a" if p.mode == "in" else "w", args[p.name]))
        elif p.dtype in _EXACT and fixed is not None and p.name not in fixed:
            free.add(p.name)
            arguments.append((_EXACT[p.dtype], None))
        else:
            kind = {"f": "f", "b": "b"}.get(storage_dtype(p.dtype).kind, "i")
            arguments.append((kind, _plain(args[p.name])))
    words = _Words({p.name: number for number, p in enumerate(params)}, free)
    for name, array in arrays.items():
        if name not in given and name not in views:
            words.place(name, array.nbytes)
    for name, (of, offset) in views.items():
        if of in given and not hasattr(module, "ADDS"):
            return None
        words.view(name, of, offset)
    described = tuple(
        (
            code.address(step.artifact.entry),
            turns,
            threads,
            step.description.scratch,
            tuple(words.of(step, step.local(values))),
        )
        for step, turns, threads in steps
    )

    def failed(number: int, result: int) -> None:
        raise steps[number][0].broken(result)

    try:
        call: Call = module.Short(
            tuple(arguments), described, words.memory, tuple(words.zeroed), failed
        )
    except ValueError:  # more arguments, steps or axes than it has room for
        return None
    return call


class _Words:
    """The words of all steps, and where buffers and workspaces lie in the memory of a call."""

    def __init__(self, order: Mapping[str, int], free: Collection[str]) -> None:
        self._order, self._free = order, free
        self.places: dict[str, int] = {}
        self._views: dict[str, tuple[int, int]] = {}
        self.memory = 0
        self.zeroed: list[tuple[int, int]] = []

    def place(self, name: str, size: int) -> int:
        """Give a buffer its offset."""
        self.places[name] = offset = self.memory
        self.memory += max(1, -(-size // _ALIGN)) * _ALIGN
        return offset

    def view(self, name: str, of: str, offset: int) -> None:
        """A view begins so many bytes after an array or a buffer."""
        if of in self.places:
            self.places[name] = self.places[of] + offset
        else:
            self._views[name] = self._order[of], offset

    def of(self, step: Step, values: Values) -> Iterator[Word]:
        """The words of a step."""
        sizes = {w.name: w.bytes for w in step.artifact.workspaces}
        for argument in step.description.arguments:
            name = argument.text
            if argument.kind == "workspace":
                size = evaluate(sizes[name], values)
                self.zeroed.append((offset := self.place("", size), size))
                yield -1, "m", offset
            elif argument.kind == "tensor":
                tensor = step.tensors[name]
                if tensor in self.places:
                    yield -1, "m", self.places[tensor]
                else:
                    number, offset = self._views.get(tensor) or (self._order[tensor], 0)
                    yield number, "i", offset
            elif argument.kind == "scalar" and name in self._free:
                yield self._order[name], _FORMS.get(argument.type, "i"), 0
            elif argument.kind == "scalar":
                yield -1, "i", word_of(values[name], argument.type) & _MASK
            else:
                yield -1, "i", evaluate(name, values) & _MASK


def _is_used(given: object, array: Array, is_written: bool) -> bool:
    """Whether a kernel gets the caller's own array as it was passed.

    A view by DLPack's exchange in C does not say whether it may be written.
    """
    kind = type(given)
    if hasattr(kind, "__dlpack_c_exchange_api__"):
        if is_written and kind.__module__.partition(".")[0] not in _WRITEABLE:
            return False
        given = import_array(given, param="")
    elif kind not in (np.ndarray, Packed):
        return False
    return isinstance(given, np.ndarray) and given.ctypes.data == array.ctypes.data


def _plain(value: object) -> object:
    item = getattr(value, "item", None)
    return value if item is None else item()


def _shaping(artifact: Artifact, step: Step) -> set[str] | None:
    """The names of scalars from which anything but their own words follows; None: all may be such.

    The calls of a program have dims and scalars by expressions over the program's.
    """
    if artifact.kind == "program":
        return None
    texts = [*step.description.grid, *_texts(artifact.signature)]
    texts += [a.text for a in step.description.arguments if a.kind == "value"]
    texts += [w.bytes for w in artifact.workspaces]
    return {name for text in texts for name in names_of(text)}


def _texts(signature: Signature) -> Iterator[str]:
    for requirement in signature.requires:
        yield requirement.condition
    for p in signature.params:
        yield from p.dims or ()
        yield from p.strides or ()
