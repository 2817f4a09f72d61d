"""Which checks watch which memories of a kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from dslc.compiler.interpreter.arena import byte_spans
from dslc.compiler.interpreter.hazards.barriers import Barriers
from dslc.compiler.interpreter.hazards.flights import Flights
from dslc.compiler.interpreter.hazards.initialised import Initialised
from dslc.compiler.interpreter.hazards.observers import Observer
from dslc.compiler.interpreter.hazards.order import Order
from dslc.compiler.interpreter.hazards.races import Races
from dslc.compiler.interpreter.scope import Scope
from dslc.compiler.interpreter.tensors import Tensor
from dslc.compiler.interpreter.turn import Turn
from dslc.compiler.ir import Memory, Place


def freeze(scope: Scope, tensors: Mapping[Memory, Tensor]) -> None:
    """Tiles may share the arrays that nothing writes in a launch."""
    written = [t for m, t in tensors.items() if m in scope.uses.written]
    for tensor in tensors.values():
        shared = (t is tensor or np.may_share_memory(t.codes, tensor.codes) for t in written)
        tensor.frozen = not any(shared)


def watch_tensors(
    scope: Scope, tensors: Mapping[Memory, Tensor], turns: int, title: Callable[[int], str]
) -> None:
    """Attach a launch's checks of global memory; `title` names a turn by its number.

    Parameters that were given one array are one memory here; arrays that overlap in part are not
    compared.
    """
    written = {_place(t) for m, t in tensors.items() if m in scope.uses.written}
    races: dict[Any, Races] = {}
    for memory, tensor in tensors.items():
        place = _place(tensor)
        more: list[Observer] = []
        if turns > 1 and place in written:
            if place not in races:
                races[place] = Races.of(tensor.memory, tensor.shape, turns, scope, title)
            if all(o is not races[place] for o in tensor.observers):
                more.append(races[place])
        if memory in scope.uses.written and scope.threads > 1:
            more.append(Order(tensor.memory, tensor.shape, scope.sites))
        if memory in scope.uses.written and memory in scope.uses.copied:
            more.append(Flights(tensor.memory, tensor.shape))
        tensor.observers = (*more, *tensor.observers)


def watch_buffer(scope: Scope, tensor: Tensor, turn: Turn) -> None:
    """Attach the checks of an on-chip buffer that begins to live beside those of its contents.

    A buffer that begins anew in a loop has the same bytes again: what its last life read and wrote
    since the last barrier still counts. So does what other buffers did that had its bytes.
    """
    memory, uses = tensor.memory, scope.uses
    more: list[Observer] = []
    if memory in uses.copied:
        more.append(Flights(memory, tensor.shape))
    # Phases order what fills and reads a paced ring: reads that go on are seen as flights.
    if memory.place is Place.SHARED and uses.explicit and memory not in uses.paced:
        watched = turn.hazards.get(memory)
        if watched is None or watched.shape != tensor.shape:
            watched = turn.hazards[memory] = Barriers.fresh(memory, tensor.shape, scope.sites)
        if memory.offset is not None:
            spans = byte_spans(memory, tensor.shape)
            for other, there in turn.hazards.items():
                if other is not memory and other.offset is not None:
                    watched.follow(there, turn, spans, byte_spans(other, there.shape))
        more.append(watched)
    tensor.observers = (*more, *tensor.observers)


def watch_undefined(tensors: Iterable[Tensor]) -> None:
    """Reads of these tensors' elements are errors until they are written."""
    for tensor in tensors:
        tensor.observers = (Initialised.nowhere(tensor.memory, tensor.shape),)


def _place(tensor: Tensor) -> Any:
    codes = tensor.codes
    return codes.__array_interface__["data"][0], codes.shape, codes.strides, codes.itemsize
