"""Runs without numbers know integers all the same, since loops and slices go by them.

An instruction computes where it knows every tensor that it is given. What it writes otherwise nobody
knows from then on: such a tensor has no elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from dslc.runtime.nki_simulator.engines.indirect import IndirectTensor
from dslc.runtime.nki_simulator.neuroncore import Core
from dslc.runtime.nki_simulator.tensors import Tensor

_WRITTEN = ("dst", "dst_idx", "reduce_res")


def by_whole_numbers(function: Callable[..., None]) -> Callable[..., None]:
    """An instruction for cores that compute nothing else."""

    def run(core: Core, *args: Any, **kwargs: Any) -> None:
        core.values = all(is_known(t) for t in _tensors((*args, *kwargs.values())))
        function(core, *args, **kwargs)
        if not core.values:
            for written in (*args[:1], *(kwargs.get(name) for name in _WRITTEN)):
                if isinstance(written, Tensor):
                    written.storage.data = written.storage.marks = None

    return run


def is_known(tensor: Tensor) -> bool:
    """Whether a tensor has elements."""
    rows = tensor.rows if isinstance(tensor, IndirectTensor) else tensor
    return tensor.storage.data is not None and rows.storage.data is not None


def _tensors(values: Any) -> Iterator[Tensor]:
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(value)
