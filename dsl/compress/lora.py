"""What a fine-tuning by LoRA trained, added to the weights (NeuronMM, Eq. 9).

Adapters are those of the PEFT library: of a linear layer NAME with a weight [out, in] there are
NAME.lora_A.weight [l, in] and NAME.lora_B.weight [out, l], and the layer computes with W + scale B A. A
factor of a compressed weight is such a layer too: NAME.u takes k inputs and gives r, NAME.v takes r and
gives n. In this order the paper's B_u A_u is the transposed of the file's product.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

import numpy as np
from dslc.compiler.diagnostics import error
from dslc.compress.factors import Factors

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

_TENSOR = re.compile(r"(?:base_model\.model\.)?(.+)\.lora_([AB])(?:\.default)?\.weight")


@dataclass(frozen=True, slots=True)
class Adapter:
    """scale `b` `a` with a [l, in] and b [out, l], for the weight or factor of a layer's name."""

    name: str
    a: Array
    b: Array
    scale: float


@dataclass(frozen=True, slots=True)
class Merged:
    """A tensor that an adapter of rank `rank` changed by |scale b a| / |tensor| (Frobenius)."""

    name: str
    shape: tuple[int, ...]
    rank: int
    change: float


def merge(
    factors: Factors,
    u: tuple[Array, Array] | None = None,
    v: tuple[Array, Array] | None = None,
) -> tuple[Array, Array]:
    """The factors with what LoRA trained: u + B_u A_u and v + B_v A_v (Eq. 9).

    `u` is (B_u [k, l], A_u [l, r]), `v` is (B_v [r, l], A_v [l, n]); sums in float64, given in the
    factors' dtype. DSL0797 for shapes that do not fit.
    """
    return (
        factors.u if u is None else _sum(factors.u, _product(*u, "u"), "u"),
        factors.v if v is None else _sum(factors.v, _product(*v, "v"), "v"),
    )


def _product(b: Array, a: Array, name: str) -> Array:
    if b.ndim != 2 or a.ndim != 2 or b.shape[1] != len(a):
        raise error("DSL0797", f"{name} has no product of B {b.shape} and A {a.shape}")
    product: Array = b.astype(np.float64) @ a.astype(np.float64)
    return product


def _sum(weight: Array, product: Array, name: str) -> Array:
    if product.shape != weight.shape:
        raise error(
            "DSL0797",
            f"{name} has the shape {weight.shape}, its adapter {product.shape}: they differ",
        )
    return (weight.astype(np.float64) + product).astype(weight.dtype)


def read_adapters(
    tensors: Mapping[str, Array], config: Mapping[str, Any] | None, scale: float | None = None
) -> list[Adapter]:
    """The adapters among the tensors of a PEFT file, with their scales.

    A scale is `scale` where it is given, else what the file's adapter_config.json says: lora_alpha / l,
    or lora_alpha / sqrt(l) with use_rslora, alpha_pattern by layer. DSL0799 where neither tells it, for
    a tensor that is no part of an adapter, half an adapter, or a kind of LoRA that is no sum.
    """
    pairs: dict[str, dict[str, Array]] = {}
    for name, tensor in tensors.items():
        match = _TENSOR.fullmatch(name)
        if match is None:
            _refuse(f"{name} is no matrix of an adapter", "NAME.lora_A.weight, NAME.lora_B.weight")
        if tensor.ndim != 2 or not _holds_floats(tensor):
            _refuse(f"{name} is no matrix of floats: {tensor.dtype} {tensor.shape}")
        pairs.setdefault(match[1], {})[match[2]] = tensor
    if not pairs:
        _refuse("the adapters' file has no tensors")
    adapters = []
    for name, pair in pairs.items():
        if len(pair) < 2:
            _refuse(f"{name} has lora_{next(iter(pair))} alone")
        factor = _scale(name, len(pair["A"]), config) if scale is None else scale
        adapters.append(Adapter(name, pair["A"], pair["B"], factor))
    return adapters


def _scale(name: str, rank: int, config: Mapping[str, Any] | None) -> float:
    if config is None:
        _refuse(
            "there is no adapter_config.json, which says how adapters are scaled",
            "--lora-scale lora_alpha/r, or 1 for B A as it is",
        )
    if config.get("peft_type", "LORA") != "LORA" or config.get("use_dora"):
        _refuse("the adapters are no plain LoRA: adapter_config.json says so")
    alpha = config.get("lora_alpha")
    for pattern, of_layer in (config.get("alpha_pattern") or {}).items():
        try:
            fits = re.fullmatch(rf"(.*\.)?({pattern})", name)
        except re.error as problem:
            _refuse(f"alpha_pattern of adapter_config.json: {pattern!r}: {problem}")
        if fits:
            alpha = of_layer
            break
    if not isinstance(alpha, int | float) or rank < 1:
        _refuse(f"adapter_config.json has no lora_alpha for {name}", "--lora-scale says the scale")
    return alpha / (rank**0.5 if config.get("use_rslora") else rank)


def merge_adapters(
    tensors: Mapping[str, Array],
    adapters: list[Adapter],
    in_first: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[dict[str, Array], list[Merged]]:
    """The tensors with each adapter added to the factor or weight of its layer, and what changed.

    NAME.u and NAME.v are stored [in, out], NAME.weight is [out, in] unless `in_first`. Sums in float64,
    given in the tensors' dtypes. `progress` is called with the adapters done and in all. DSL0797 for
    shapes that do not fit, DSL0799 where a layer has no such tensor.
    """
    merged = dict(tensors)
    changes = []
    for count, adapter in enumerate(adapters):
        name = _merged_into(adapter.name, tensors)
        before = tensors[name]
        product = adapter.scale * _product(adapter.b, adapter.a, adapter.name)
        product = product.T if name == adapter.name or in_first else product
        merged[name] = _sum(before, product, name)
        size = float(np.linalg.norm(before.astype(np.float64)))
        change = float(np.linalg.norm(product)) / size if size else float("inf")
        changes.append(Merged(name, before.shape, len(adapter.a), change))
        if progress is not None:
            progress(count + 1, len(adapters))
    return merged, changes


def _merged_into(layer: str, tensors: Mapping[str, Array]) -> str:
    """The tensor of a layer: a factor has the layer's own name."""
    if f"{layer}.u" in tensors and f"{layer}.v" in tensors:
        _refuse(
            f"{layer} is compressed: its adapter is one of the weight before",
            f"merge it into that model, then compress; or train {layer}.u and {layer}.v",
        )
    weight = layer if layer in tensors else f"{layer}.weight"
    if weight not in tensors:
        if f"{layer.rpartition('.')[0]}.weight" in tensors:
            _refuse(f"the model has no {layer}", "take the compressed model that was fine-tuned")
        near = difflib.get_close_matches(layer, [n.removesuffix(".weight") for n in tensors], 1)
        _refuse(f"the model has no layer {layer}", f"did you mean {near[0]}?" if near else None)
    if not _holds_floats(tensors[weight]):
        _refuse(f"{weight} is of {tensors[weight].dtype}: nothing is added to codes")
    return weight


def _holds_floats(tensor: Array) -> bool:
    return tensor.dtype.kind in "fV"  # V: bf16 and the small floats of ml_dtypes


def _refuse(what: str, hint: str | None = None) -> NoReturn:
    raise error("DSL0799", what, hint=hint)
