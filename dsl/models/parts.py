"""The weights of a model as its kernels take them, part by part: packed, normalised, joined.

Projections of the same input become one product where their codes are of one form. A part is made
when it is asked for, and nothing is kept: whoever reads a model in a row of parts holds one at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from dslc.models.configuration import ModelConfig
from dslc.models.linear import Factoring, Form, Product, Rounding, form_of, joined
from dslc.models.names import Weights
from dslc.quantize import Quantized, dequantize
from dslc.runtime.elements import Array, storage_dtype

TOGETHER = {"qkv": ("q", "k", "v"), "gate_up": ("gate", "up")}
"""Projections of one input, by the name of their common product."""


@dataclass(frozen=True, slots=True)
class Part:
    """A weight by the parameters of its kernel; `product` where it is that of a product."""

    name: str
    arrays: Mapping[str, Array]
    product: Product | None = None


class Parts(Protocol):
    """Where parts come from: a checkpoint, or what was imported from one."""

    @property
    def config(self) -> ModelConfig:
        """What the model is made of."""

    def layer(self, number: int) -> Iterator[Part]:
        """Those of a layer, called `3.qkv`, `3.input_norm`, ..."""

    def embedding(self) -> Part:
        """The table of the embedding."""

    def ends(self) -> Iterator[Part]:
        """The last norm and the head."""


@dataclass(frozen=True)
class CheckpointParts:
    """Parts of a checkpoint; `dtype` is that of activations.

    With `factoring` some floats become two factors, the parts `NAME.u` and `NAME.v`; with `rounding`
    floats become codes.
    """

    weights: Weights
    dtype: str
    rounding: Rounding | None = None
    factoring: Factoring | None = None

    @property
    def config(self) -> ModelConfig:
        """The model's."""
        return self.weights.config

    def layer(self, number: int) -> Iterator[Part]:
        """DSL0785 where the checkpoint lacks one."""
        c, w = self.config, self.weights
        products = {**TOGETHER, "o": ("o",), "down": ("down",)}
        if c.has_experts(number):
            del products["gate_up"], products["down"]
            yield from self._experts(number)
        for name, members in products.items():
            weights = [w.need(number, part) for part in members]
            biases = [w.layer(number, part, "bias") for part in members]
            yield from self._products(number, name, members, weights, biases)
        norms = ["input_norm", "inner_norm"]
        norms += ["q_norm", "k_norm"] if c.head_norms else []
        norms += ["post_attention_norm", "post_inner_norm"] if c.post_norms else []
        for part in norms:
            yield self._norm(f"{number}.{part}", w.need(number, part))

    def embedding(self) -> Part:
        """In the dtype that the checkpoint has; codes are floats again."""
        table = self.weights.need_top("embedding")
        if isinstance(table, Quantized):
            table = dequantize(table).T.astype(storage_dtype(self.dtype))
        return Part("embedding", {"table": np.ascontiguousarray(table)})

    def ends(self) -> Iterator[Part]:
        """A head that is not there is the embedding's table."""
        yield self._norm("norm", self.weights.need_top("norm"))
        head = self.weights.top("head")
        yield self._linear("head", self.weights.need_top("embedding") if head is None else head)

    def _experts(self, number: int) -> Iterator[Part]:
        """The router, and the matrices [K, N] of all experts under each other, as floats."""
        w, experts = self.weights, self.config.experts
        assert experts is not None
        yield self._linear(f"{number}.router", w.router(number), rounded=False)
        for name, members in {"experts_in": ("gate", "up"), "experts_out": ("down",)}.items():
            listed = []
            for expert in range(experts.count):
                matrices = [_dense(w.expert(number, expert, m)) for m in members]
                whole = np.concatenate(matrices, axis=0).T
                listed.append(whole.astype(storage_dtype(self.dtype)))
            yield Part(f"{number}.{name}", {"w": np.concatenate(listed, axis=0)})

    def _products(
        self,
        number: int,
        name: str,
        members: tuple[str, ...],
        weights: list[Array | Quantized],
        biases: list[Array | Quantized | None],
    ) -> Iterator[Part]:
        whole = joined(weights, biases)
        if whole is not None:
            yield from self._product(f"{number}.{name}", *whole)
        else:
            for part, weight, bias in zip(members, weights, biases, strict=True):
                yield from self._product(f"{number}.{part}", weight, bias)

    def _product(
        self, name: str, weight: Array | Quantized, bias: Array | Quantized | None
    ) -> Iterator[Part]:
        """Its weight, or the two that take its place."""
        factors = None
        if self.factoring is not None and not isinstance(weight, Quantized):
            factors = self.factoring(name, weight)
        if factors is None:
            yield self._linear(name, weight, bias)
        else:
            yield self._linear(f"{name}.u", factors[0])
            yield self._linear(f"{name}.v", factors[1], bias)

    def _linear(
        self,
        name: str,
        weight: Array | Quantized,
        bias: Array | Quantized | None = None,
        *,
        rounded: bool = True,
    ) -> Part:
        if rounded and self.rounding is not None and not isinstance(weight, Quantized):
            weight = self.rounding(name, weight, self.dtype)
        form: Form = form_of(weight, self.dtype)
        arrays = {"w": form.codes, **form.arrays}
        if bias is not None:
            assert not isinstance(bias, Quantized)
            arrays["bias"] = bias.astype(storage_dtype(self.dtype))
        if form.order is not None:
            arrays["order"] = form.order
        extras = tuple(n for n in ("bias", "order") if n in arrays)
        return Part(
            name, arrays, Product(form.kernel, form.rows, form.columns, form.constants, extras)
        )

    def _norm(self, name: str, gain: Array | Quantized) -> Part:
        assert not isinstance(gain, Quantized)
        whole = gain.astype(np.float32) + np.float32(self.config.norm_offset)
        return Part(name, {"g": whole.astype(storage_dtype(self.dtype))})


def _dense(weight: Array | Quantized) -> Array:
    """A weight [N, K] as floats."""
    return dequantize(weight).T if isinstance(weight, Quantized) else weight
