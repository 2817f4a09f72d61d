"""Weights rounded so that the results of their products change least, by texts that go through them.

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
from dslc.models.configuration import ModelConfig
from dslc.models.executor import Call, Executor
from dslc.models.linear import ToNearest, scale_dtype
from dslc.models.names import Weights
from dslc.models.parts import CheckpointParts, Part, Parts
from dslc.models.plan import PIECES, Plan, Step
from dslc.quantize import Quantized, quantize_calibrated
from dslc.runtime.elements import Array
from dslc.session import Session

_RUN = "f32"


def parts_of(weights: Weights, dtype: str, quantize: str, calibration: Array | None) -> Parts:
    """A checkpoint's parts for activations of `dtype`: floats as they are, or rounded.

    `quantize` is a dtype and a group (`u4:128`) or empty. DSL0790 for others, and for a calibration
    [n, length] of something that is not rounded.
    """
    rounding = ToNearest.parse(quantize) if quantize else None
    if calibration is None:
        return CheckpointParts(weights, dtype, rounding)
    if rounding is None:
        raise error(
            "DSL0790",
            "a calibration says how weights are rounded; none are",
            hint="quantize u4:128",
        )
    return CalibratedParts(weights, dtype, rounding, calibration)


@dataclass
class CalibratedParts:
    """Parts of a checkpoint for activations of `dtype`, rounded for `sequences` of tokens [n, length].

    Layers are made in order; whoever asks for an earlier one again waits for all before it.
    """

    weights: Weights
    dtype: str
    rounding: ToNearest
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
        return CheckpointParts(self.weights, self.dtype, self.rounding).embedding()

    def ends(self) -> Iterator[Part]:
        """The last norm and the head, which is rounded to nearest."""
        return CheckpointParts(self.weights, self.dtype, self.rounding).ends()

    def layer(self, number: int) -> Iterator[Part]:
        """DSL0785 where the checkpoint lacks one."""
        if not self._states or number < self._next:
            self._states, self._next = self._embedded(), 0
        while self._next <= number:
            rounded = self._rounded(self._next)
            self._next += 1
        yield from CheckpointParts(self.weights, self.dtype, rounded).layer(number)

    def _embedded(self) -> list[Array]:
        table = CheckpointParts(self.weights, _RUN).embedding().arrays["table"]
        factor = np.float32(self.config.embedding_factor)
        return [table[row].astype(np.float32) * factor for row in self.sequences]

    def _rounded(self, number: int) -> _ByMoments:
        """The codes of a layer; the sequences have gone through it then."""
        moments: dict[str, Array] = {}
        self._through(number, CheckpointParts(self.weights, _RUN), moments)
        rounding = _ByMoments(self.rounding, moments, scale_dtype(self.dtype))
        given = CheckpointParts(self.weights, _RUN, rounding)
        self._states = self._through(number, given, None)
        return rounding

    def _through(
        self, number: int, parts: CheckpointParts, moments: dict[str, Array] | None
    ) -> list[Array]:
        """What a layer makes of the rows of each sequence; adds up X^T X of each product's inputs."""
        executor = Executor(self.session, _RUN)
        executor.hold_parts(parts.layer(number))
        length = self.sequences.shape[1]
        plan = Plan(self.config, executor.products, _RUN, length, _RUN)
        executor.hold("start", np.zeros(1, np.int32))
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
                tensors["start"].write(np.array([at], np.int32))
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
    """Rounds the products of one layer, each once; those without moments to nearest."""

    rounding: ToNearest
    moments: dict[str, Array]
    scales: str
    _made: dict[str, Quantized] = field(default_factory=dict)

    def __call__(self, name: str, weight: Array, activations: str) -> Quantized:
        if name not in self.moments:
            return self.rounding(name, weight, activations)
        if name not in self._made:
            own, group = self.rounding, self.rounding.group_of(weight)
            taken = self.moments[name]
            self._made[name] = quantize_calibrated(weight.T, taken, own.dtype, group, self.scales)
        return self._made[name]
