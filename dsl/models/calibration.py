"""Weights rounded or factored so that results change least, by texts that go through them.

Layer by layer, as GPTQ's authors do it (dslc.quantize.calibrated has the paper): sequences of tokens
go through a layer's floats, the second moments of what each product takes say how its weights are
rounded, and what the rounded layer makes of the sequences is what the next one gets. In memory are
one layer and the rows of all sequences. It runs in f32 on a machine that is here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from dslc.compiler.diagnostics import error
from dslc.models.changes import Changes
from dslc.models.configuration import ModelConfig
from dslc.models.executor import Call, Executor
from dslc.models.linear import scale_dtype
from dslc.models.names import Weights
from dslc.models.parts import CheckpointParts, Part, Parts
from dslc.models.plan import PIECES, Plan, Step
from dslc.quantize import Quantized, quantize_calibrated
from dslc.runtime.elements import Array
from dslc.session import Session

_RUN = "f32"


def parts_of(weights: Weights, dtype: str, changes: Changes) -> Parts:
    """A checkpoint's parts for activations of `dtype`: floats as they are, or with their changes."""
    given = changes.calibration
    if given is None:
        return CheckpointParts(weights, dtype, changes.rounding, changes.factoring)
    return CalibratedParts(weights, dtype, changes, np.asarray(given))


@dataclass
class CalibratedParts:
    """Parts of a checkpoint for activations of `dtype`, changed for `sequences` of tokens [n, length].

    Layers are made in order; whoever asks for an earlier one again waits for all before it.
    """

    weights: Weights
    dtype: str
    changes: Changes
    sequences: Array
    session: Session = field(default_factory=Session)
    _states: list[Array] = field(default_factory=list)
    _next: int = 0

    def __post_init__(self) -> None:
        ids = np.asarray(self.sequences)
        if ids.ndim != 2 or not ids.size or ids.dtype.kind not in "iu":
            raise error("DSL0788", f"sequences of tokens are integers [n, length], not {ids.shape}")
        wrong = ids[(ids < 0) | (ids >= self.config.vocabulary)]
        if wrong.size:
            raise error("DSL0788", f"the model has no token {wrong[0]}")

    @property
    def config(self) -> ModelConfig:
        """The model's."""
        return self.weights.config

    def embedding(self) -> Part:
        """The table."""
        return CheckpointParts(self.weights, self.dtype, self.changes.rounding).embedding()

    def ends(self) -> Iterator[Part]:
        """The last norm and the head, which is rounded to nearest."""
        return CheckpointParts(self.weights, self.dtype, self.changes.rounding).ends()

    def layer(self, number: int) -> Iterator[Part]:
        """DSL0785 where the checkpoint lacks one."""
        if not self._states or number < self._next:
            self._states, self._next = self._embedded(), 0
        while self._next <= number:
            changed = self._changed(self._next)
            self._next += 1
        yield from changed.parts(self.weights, self.dtype).layer(number)

    def _embedded(self) -> list[Array]:
        table = CheckpointParts(self.weights, _RUN).embedding().arrays["table"]
        factor = np.float32(self.config.embedding_factor)
        return [table[row].astype(np.float32) * factor for row in self.sequences]

    def _changed(self, number: int) -> _ByMoments:
        """The weights of a layer; the sequences have gone through it then."""
        moments: dict[str, Array] = {}
        self._through(number, CheckpointParts(self.weights, _RUN), moments)
        changed = _ByMoments(self.changes, moments, scale_dtype(self.dtype))
        self._states = self._through(number, changed.parts(self.weights, _RUN), None)
        return changed

    def _through(
        self, number: int, parts: CheckpointParts, moments: dict[str, Array] | None
    ) -> list[Array]:
        """What a layer makes of the rows of each sequence; adds up X^T X of each product's inputs."""
        executor = Executor(self.session, _RUN)
        executor.hold_parts(parts.layer(number))
        length = self.sequences.shape[1]
        plan = Plan(self.config, executor.products, _RUN, length, _RUN)
        executor.hold_layer(plan, number)
        tensors = executor.tensors
        bound: dict[int, list[tuple[Step, Call]]] = {}
        results = []
        for state in self._states:
            made, at = np.empty_like(state), 0
            while at < length:
                rows = next(p for p in PIECES if p <= length - at)
                if rows not in bound:
                    steps = list(plan.layer(number, rows))
                    executor.make_room(plan)
                    bound[rows] = [(step, executor.bound(step)) for step in steps]
                tensors["start:1"].write(np.array([at], np.int32))
                tensors[f"x:{rows}"].write(state[at : at + rows])
                for step, call in bound[rows]:
                    if moments is not None and step.product is not None:
                        part = step.tensors["w"].removesuffix("/w")
                        taken = tensors[step.tensors["a"]].read()
                        moments[part] = moments.get(part, 0.0) + taken.T @ taken
                    call()
                made[at : at + rows] = tensors[f"x:{rows}"].read()
                at += rows
            results.append(made)
        return results


@dataclass
class _ByMoments:
    """Changes the products of one layer, each once; those without moments are rounded to nearest."""

    changes: Changes
    moments: dict[str, Array]
    scales: str
    _codes: dict[str, Quantized] = field(default_factory=dict)
    _factors: dict[str, tuple[Array, Array] | None] = field(default_factory=dict)

    def parts(self, weights: Weights, dtype: str) -> CheckpointParts:
        """The checkpoint's, for activations of `dtype`."""
        own = self.changes
        rounding = self._rounded if own.rounding else None
        return CheckpointParts(weights, dtype, rounding, self._factored if own.factoring else None)

    def _rounded(self, name: str, weight: Array, activations: str) -> Quantized:
        own = self.changes.rounding
        assert own is not None
        if name not in self.moments:
            return own(name, weight, activations)
        if name not in self._codes:
            taken, group = self.moments[name], own.group_of(weight)
            made = quantize_calibrated(weight.T, taken, own.dtype, group, self.scales)
            self._codes[name] = made
        return self._codes[name]

    def _factored(self, name: str, weight: Array) -> tuple[Array, Array] | None:
        assert self.changes.factoring is not None
        if name not in self._factors:
            moments = self.moments.get(name)
            found = self._factors[name] = self.changes.factoring(name, weight, moments)
            if found is not None and moments is not None:
                first, _ = found
                self.moments |= {f"{name}.u": moments, f"{name}.v": first @ moments @ first.T}
        return self._factors[name]
