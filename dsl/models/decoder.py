"""A decoder-only model on one machine: its weights, its caches, and what it does with some tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from dslc.models.kernel_sources import CompiledKernels, Kernels, parts_for
from dslc.models.linear import Product
from dslc.models.parts import Part, Parts
from dslc.models.plan import PIECES, Plan, Step
from dslc.runtime.elements import Array, element_name
from dslc.runtime.memory import Buffer
from dslc.session import Session

Progress = Callable[[int, int], None]
Call = Callable[[], None]


class Decoder:
    """One sequence of up to `length` tokens.

    `dtype` is that of activations and caches. Without `kernels` those that are needed are compiled, and
    the weights packed for them; with them the parts are packed already.
    """

    def __init__(
        self,
        parts: Parts,
        session: Session,
        dtype: str = "f32",
        length: int = 2048,
        progress: Progress | None = None,
        kernels: Kernels | None = None,
    ) -> None:
        self.config, self.session, self.length = parts.config, session, length
        self._compiled = None if kernels else CompiledKernels(session.target)
        self._kernels = kernels or self._compiled
        self._dtype = dtype
        self._tensors: dict[str, Buffer] = {}
        self._products: dict[str, Product] = {}
        self._calls: dict[str, list[Call]] = {}
        c = self.config
        for done in range(c.layers):
            self._hold_all(parts.layer(done))
            if progress is not None:
                progress(done + 1, c.layers)
        table = parts.embedding()
        self._hold_all((table, *parts.ends()))
        stored = self._tensors["embedding/table"].dtype
        parts_of_keys = parts_for(session.target, c)
        self.plan = Plan(c, self._products, dtype, length, stored, parts_of_keys)
        self._hold("start", np.zeros(1, np.int32))
        for rotation in dict.fromkeys(c.rotations):
            self._hold(f"angles/{rotation.key}", rotation.table(length))
        for number in range(c.layers):
            for name in ("keys", "values"):
                self._tensors[f"{number}.{name}"] = session.memory.empty(self.plan.cache, dtype)

    def _hold_all(self, parts: Iterable[Part]) -> None:
        for part in parts:
            arrays: Mapping[str, Array] = part.arrays
            if part.product is not None:
                self._products[part.name] = part.product
                if self._compiled is not None:
                    arrays = self._compiled.pack(part.product, self._dtype, arrays)
            for name, array in arrays.items():
                self._hold(f"{part.name}/{name}", array)

    def _hold(self, name: str, array: Array) -> None:
        self._tensors[name] = self.session.memory.hold(array, element_name(array))

    def __call__(self, ids: Sequence[int], position: int) -> Buffer:
        """The logits [1, vocabulary] after these tokens, the first of which stands at `position`."""
        at = 0
        while at < len(ids):
            rows = next(p for p in PIECES if p <= len(ids) - at)
            calls = self._bound("rows", rows, self.plan.rows)
            self._tensors["start"].write(np.array([position + at], np.int32))
            self._tensors[f"ids:{rows}"].write(np.array(ids[at : at + rows], np.int32))
            for call in calls:
                call()
            at += rows
        for call in self._bound("logits", rows, self.plan.logits):
            call()
        return self._tensors["logits:1"]

    def _bound(self, what: str, rows: int, steps: Callable[[int], Iterable[Step]]) -> list[Call]:
        """The calls of a plan's steps, with all they need: made once, so that Python does little."""
        key = f"{what}:{rows}"
        if key not in self._calls:
            listed = list(steps(rows))
            for name, (shape, dtype) in self.plan.shapes.items():
                if name not in self._tensors:
                    self._tensors[name] = self.session.memory.empty(shape, dtype)
            if what == "logits":
                self._tensors[f"last:{rows}"] = self._tensors[f"x:{rows}"].rows(rows - 1, rows)
            self._calls[key] = [self._bind(step) for step in listed]
        return self._calls[key]

    def _bind(self, step: Step) -> Call:
        assert self._kernels is not None
        made = self._kernels.specialized(step)
        arguments = tuple(self._tensors[step.tensors[p.name]].argument for p in made.parameters)
        return lambda: made(*arguments)
