"""The tensors of a plan in one machine's memory, and its steps as calls over them."""

from __future__ import annotations

import functools
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext

from dslc.calls.settings import options
from dslc.models.kernel_sources import CompiledKernels, Kernels
from dslc.models.linear import Product
from dslc.models.parts import Part
from dslc.models.plan import Plan, Step
from dslc.runtime.elements import Array, element_name
from dslc.runtime.memory import Buffer
from dslc.session import Session

Call = Callable[[], None]


class Executor:
    """Holds parts and activations by the names that a plan's steps have for them.

    Without `kernels` those that are needed are compiled, and the weights packed for them; with them
    the parts are packed already. `dtype` is that of activations and caches.
    """

    def __init__(self, session: Session, dtype: str, kernels: Kernels | None = None) -> None:
        self.session, self.dtype = session, dtype
        self.weights: dict[str, Buffer] = {}
        self.tensors = ChainMap[str, Buffer]({}, self.weights)
        self.products: dict[str, Product] = {}
        self._compiled = None if kernels else CompiledKernels(session.target)
        self._kernels = kernels or self._compiled

    def beside(self) -> Executor:
        """Another with the same weights, and activations and caches of its own."""
        other = Executor(self.session, self.dtype, self._kernels)
        other.weights, other.products = self.weights, self.products
        other.tensors = ChainMap({}, self.weights)
        return other

    def hold(self, name: str, array: Array) -> None:
        """An array that no step writes."""
        self.weights[name] = self.session.memory.hold(array, element_name(array))

    def hold_parts(self, parts: Iterable[Part]) -> None:
        """The arrays of parts, and what is said of their products."""
        for part in parts:
            arrays: Mapping[str, Array] = part.arrays
            if part.product is not None:
                self.products[part.name] = part.product
                if self._compiled is not None:
                    arrays = self._compiled.pack(part.product, self.dtype, arrays)
            for name, array in arrays.items():
                self.hold(f"{part.name}/{name}", array)

    def hold_layer(self, plan: Plan, number: int) -> None:
        """What a layer takes beside its parts: the angles of its rotation, and its caches."""
        rotation = plan.config.rotations[number]
        if f"angles/{rotation.key}" not in self.tensors:
            self.hold(f"angles/{rotation.key}", rotation.table(plan.length))
        for name in ("keys", "values"):
            if f"{number}.{name}" not in self.tensors:
                made = self.session.memory.empty(plan.cache, self.dtype)
                self.tensors[f"{number}.{name}"] = made

    def make_room(self, plan: Plan) -> None:
        """Buffers for what the steps that were listed so far read and write."""
        for name, (shape, dtype) in plan.shapes.items():
            if name not in self.tensors:
                self.tensors[name] = self.session.memory.empty(shape, dtype)

    def bound(self, step: Step) -> Call:
        """A step with its kernel and tensors, so that little is left to do when it is called."""
        assert self._kernels is not None
        made = self._kernels.specialized(step)
        arguments = tuple(self.tensors[step.tensors[p.name]].argument for p in made.parameters)
        return lambda: made(*arguments)

    def recorded(self, plan: Plan, steps: Iterable[Step]) -> Call:
        """Steps of a plan with all that they need: made once, so that Python does little."""
        listed = list(steps)
        self.make_room(plan)
        calls = [self.bound(step) for step in listed]
        return self.session.memory.recorded(functools.partial(_run, calls))


def _run(calls: Sequence[Call], stream: object) -> None:
    with nullcontext() if stream is None else options(stream=stream):
        for call in calls:
            call()
