"""Bounds of a language model's speed on a machine: what it computes and moves, by its shapes.

A decoder has, for a token, the products with its weights, attention over the context so far, and what
passes over the activations. Each part takes at least its operations at the peak of the unit that does
them, and its bytes at the bandwidth of memory; parts follow one another.

The model is that of Wang et al., "Blazingly Fast LLM Inference Framework on Arm Devices" (section V.B),
whose tables it reproduces, with three corrections: their G is 2^30 where that of the peaks is 10^9, the
softmax has a row of scores for each head, and the time of decoding takes the traffic of the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias

Unit: TypeAlias = Literal["matrix", "vector"]

_ACTIVATION = 2  # bytes: f16
_SCALE = 2  # bytes of the factor of an output channel, or of a group
_SOFTMAX = 22  # operations a score
_COPY = 2  # times that the operands of attention are moved where they are rearranged first
_SCORE_BYTES = 24  # of a score that goes to memory between the products and the softmax


@dataclass(frozen=True, slots=True)
class Decoder:
    """The shapes of a decoder with gated feed-forward layers.

    `kv_heads` are fewer than `heads` where several share keys and values. Weights have `weight_bits`,
    and a factor for each output channel or, with `group`, for so many weights. `elementwise` are the
    bytes that norms, activations and residuals move for an element of a hidden state in a layer.
    """

    layers: int
    hidden: int
    intermediate: int
    vocabulary: int
    heads: int
    kv_heads: int
    weight_bits: float = 4
    group: int | None = None
    elementwise: float = 400

    @property
    def kv_width(self) -> int:
        """Elements of a token's keys in a layer."""
        return self.hidden // self.heads * self.kv_heads

    @property
    def linears(self) -> tuple[tuple[str, int, int], ...]:
        """Name, inputs and outputs of the products with weights of a layer."""
        h, i = self.hidden, self.intermediate
        return (
            ("attention in", h, h + 2 * self.kv_width),
            ("attention out", h, h),
            ("gate", h, i),
            ("up", h, i),
            ("down", i, h),
        )


QWEN_1_8B = Decoder(24, 2048, 5504, 151936, 16, 16)

MODELS: Mapping[str, Decoder] = MappingProxyType({"qwen-1.8b": QWEN_1_8B})
"""Decoders by name."""


@dataclass(frozen=True, slots=True)
class Peaks:
    """What a machine reaches: operations a second of a unit (a multiply-add is two), bytes a second."""

    matrix: float
    vector: float
    bandwidth: float


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a pass over the model: operations, bytes of activations and of weights."""

    name: str
    unit: Unit
    operations: float
    activations: float
    weights: float = 0.0

    @property
    def bytes(self) -> float:
        """All that it moves."""
        return self.activations + self.weights

    @property
    def intensity(self) -> float:
        """Operations a byte."""
        return self.operations / self.bytes

    def seconds(self, peaks: Peaks) -> float:
        """The time that it takes at least."""
        rate = peaks.matrix if self.unit == "matrix" else peaks.vector
        return max(self.operations / rate, self.bytes / peaks.bandwidth)

    def limit(self, peaks: Peaks) -> str:
        """What bounds it: its unit, or memory."""
        rate = peaks.matrix if self.unit == "matrix" else peaks.vector
        return self.unit if self.operations / rate >= self.bytes / peaks.bandwidth else "memory"


def forward(
    model: Decoder, tokens: int, context: int, *, logits: int = 1, fused: bool = True
) -> tuple[Part, ...]:
    """The parts of one pass over `tokens` that attend to `context` positions, their own among them.

    The logits of the last `logits` tokens are computed. `fused` attention keeps scores in registers and
    caches; else they go to memory between its products, and operands are rearranged first.
    """
    return (
        *(_linear(model, name, tokens, k, n, model.layers) for name, k, n in model.linears),
        _linear(model, "logits", logits, model.hidden, model.vocabulary, 1),
        _attention(model, tokens, context, fused),
        Part(
            "elementwise", "vector", 0.0, model.elementwise * tokens * model.hidden * model.layers
        ),
    )


def prefill(
    model: Decoder, tokens: int, *, logits: int = 1, fused: bool = True
) -> tuple[Part, ...]:
    """The pass over a prompt."""
    return forward(model, tokens, tokens, logits=logits, fused=fused)


def decode(model: Decoder, context: int, *, fused: bool = True) -> tuple[Part, ...]:
    """The pass over one token with so many positions to attend to."""
    return forward(model, 1, context, fused=fused)


def seconds(parts: tuple[Part, ...], peaks: Peaks) -> float:
    """The time of a pass at least."""
    return sum(part.seconds(peaks) for part in parts)


def total(parts: tuple[Part, ...], name: str) -> Part:
    """Parts of one unit as one."""
    units = {p.unit for p in parts}
    assert len(units) == 1, f"{name}: parts of several units"
    return Part(
        name,
        units.pop(),
        sum(p.operations for p in parts),
        sum(p.activations for p in parts),
        sum(p.weights for p in parts),
    )


def linears(parts: tuple[Part, ...]) -> Part:
    """All products with weights."""
    return total(tuple(p for p in parts if p.unit == "matrix"), "linear")


def _linear(model: Decoder, name: str, tokens: int, k: int, n: int, times: int) -> Part:
    factors = n if model.group is None else n * k / model.group
    weights = n * k * model.weight_bits / 8 + _SCALE * factors
    moved = _ACTIVATION * tokens * (k + n)
    return Part(name, "matrix", 2.0 * tokens * k * n * times, moved * times, weights * times)


def _attention(model: Decoder, tokens: int, context: int, fused: bool) -> Part:
    scores = tokens * context * model.heads
    operations = 4.0 * tokens * context * model.hidden + _SOFTMAX * scores
    queries, keys = (
        2 * tokens * model.hidden,
        2 * context * model.kv_width,
    )  # and results, and values
    moved = float(_ACTIVATION * (queries + keys))
    if not fused:
        moved = _COPY * moved + _SCORE_BYTES * scores
    return Part("attention", "vector", operations * model.layers, moved * model.layers)
