"""Every matching weight of a model file as factors, the rest as it was."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from dslc.compiler.diagnostics import error
from dslc.compress.factors import factorize
from dslc.compress.rank import aligned_rank, compression_ratio
from dslc.compress.whitening import whitening

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

# The matrices of feed-forward halves by the names of LLaMA, Qwen, OPT, GPT and BERT: most parameters
# are there, and attention loses more by it (NeuronMM, section 4.3).
MLP = (
    r"(up_proj|gate_proj|down_proj|\bfc1|\bfc2|\bc_fc|\bw[123]|intermediate\.dense"
    r"|layer\.\d+\.output\.dense)\.weight$"
)


@dataclass(frozen=True, slots=True)
class Plan:
    """How a model is compressed.

    `layers` is a regular expression for names; `in_first` says that weights are stored [in, out], not
    [out, in] as torch does it.
    """

    ratio: float
    block: int = 128
    alpha: float = 0.5
    layers: str = MLP
    in_first: bool = False


@dataclass(frozen=True, slots=True)
class Layer:
    """What became of one weight [k, n]: its rank, 0 where it stays because factors would be larger.

    `error` is relative, over the calibration's inputs where `calibrated`. Sizes are in bytes.
    """

    name: str
    k: int
    n: int
    rank: int
    error: float
    calibrated: bool
    before: int
    after: int

    @property
    def ratio(self) -> float:
        """The share of the parameters that is saved."""
        return compression_ratio(self.k, self.n, self.rank) if self.rank else 0.0


def compress_model(
    tensors: Mapping[str, Array],
    plan: Plan,
    calibration: Mapping[str, Array] | Array | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[dict[str, Array], list[Layer]]:
    """The tensors of the compressed model, and a report of each weight that the plan names.

    NAME.weight becomes NAME.u [k, r] and NAME.v [r, n], the factors of y = x u v; other tensors are
    passed on. `calibration` is an array [..., k] for all weights of k inputs, or one for each NAME.
    `progress` is called with the weights done and in all. DSL0797 where no weight matches, DSL0798 for
    a calibration that no weight takes.
    """
    names = [n for n, t in tensors.items() if re.search(plan.layers, n) and t.ndim == 2]
    if not names:
        raise error(
            "DSL0797",
            f"no matrix has a name that matches {plan.layers!r}",
            hint=f"the names are like {', '.join(list(tensors)[:3])}",
        )
    scalings = _Scalings(calibration)
    kept: dict[str, Array] = {n: t for n, t in tensors.items() if n not in set(names)}
    layers = []
    for count, name in enumerate(names):
        layer, parts = _compress(name, tensors[name], plan, scalings)
        layers.append(layer)
        kept.update(parts)
        if progress is not None:
            progress(count + 1, len(names))
    scalings.check_used()
    return kept, layers


def _compress(
    name: str, stored: Array, plan: Plan, scalings: _Scalings
) -> tuple[Layer, dict[str, Array]]:
    w = stored if plan.in_first else stored.T
    k, n = w.shape
    rank = aligned_rank(k, n, plan.ratio, plan.block, plan.alpha) if min(k, n) >= plan.block else 0
    if compression_ratio(k, n, rank) <= 0 or not rank:
        return Layer(name, k, n, 0, 0.0, False, w.nbytes, w.nbytes), {name: stored}
    scaling = scalings.of(name.removesuffix(".weight"), k)
    factors = factorize(w, rank, scaling)
    after = factors.u.nbytes + factors.v.nbytes
    layer = Layer(name, k, n, rank, factors.error, scaling is not None, w.nbytes, after)
    base = name.removesuffix(".weight")
    return layer, {f"{base}.u": factors.u, f"{base}.v": factors.v}


class _Scalings:
    """The whitening matrix of each weight, made once for weights that share their inputs."""

    def __init__(self, calibration: Mapping[str, Array] | Array | None) -> None:
        self._by_name = dict(calibration) if isinstance(calibration, Mapping) else {}
        self._shared = None if isinstance(calibration, Mapping) else calibration
        self._made: dict[str, Array] = {}

    def of(self, name: str, k: int) -> Array | None:
        """S of a weight of k inputs; None where the calibration says nothing of it."""
        if self._shared is not None:
            return self._whitened("", self._shared) if self._shared.shape[-1] == k else None
        inputs = self._by_name.get(name)
        if inputs is None:
            return None
        if inputs.shape[-1] != k:
            raise error(
                "DSL0798", f"{name} takes {k} inputs, its calibration has {inputs.shape[-1]}"
            )
        return self._whitened(name, inputs)

    def _whitened(self, key: str, inputs: Array) -> Array:
        if key not in self._made:
            self._made[key] = whitening(inputs)
        return self._made[key]

    def check_used(self) -> None:
        """A calibration that nothing took is a mistake."""
        if self._shared is not None and not self._made:
            width = self._shared.shape[-1] if self._shared.ndim else 0
            raise error("DSL0798", f"no weight takes the {width} inputs of the calibration")
        unknown = sorted(set(self._by_name) - set(self._made))
        if unknown:
            raise error(
                "DSL0798", f"no weight {unknown[0]} takes part, which the calibration names"
            )
