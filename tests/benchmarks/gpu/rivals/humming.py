"""humming-kernels: quantised products compiled at run time, the fastest public ones of this kind.

    pip install humming-kernels==0.1.19

An unsigned code c of n bits means c - 2^(n - 1) there; small floats are as here. Weights are [N, K].
The kernel is the one that the library's own heuristic chooses for the number of rows. N is padded to a
multiple of 64, which it requires.
"""

from __future__ import annotations

import functools
import importlib.metadata
import json
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from gpu import problems
from gpu.cases import GROUP, Case
from gpu.measure import Prepared, copies_beyond_cache, relative_error, timed
from humming.forward import humming_forward
from humming.kernel.humming import HummingKernel
from humming.layer import HummingLayer
from humming.ops import pack_weight
from humming.schema import HummingWeightSchema
from humming.transform import prepare_layer_config
from humming.tune import get_heuristics_config


def versions() -> dict[str, str]:
    return {"humming-kernels": importlib.metadata.version("humming-kernels")}


def humming_type(weight: str) -> str:
    """`uint4` for u4 and i4, `float6e3m2` for f6e3m2."""
    if weight[0] == "f":
        return f"float{weight[1:]}"
    return f"uint{weight[1:]}"


def values_of(weight: str) -> np.ndarray:
    """What a bit pattern of ours means there."""
    if weight[0] != "u":
        return problems.values_of(weight)
    half = 1 << (int(weight[1:]) - 1)
    return np.arange(2 * half, dtype=np.float64) - half


PAD_N = 64


def compile_all(cases: Sequence[Case]) -> None:
    """Compile on all cores what `prepare` asks for; an error is met again, and told, there."""
    specs = []
    for case in cases:
        schema = HummingWeightSchema(b_dtype=humming_type(case.name), weight_scale_group_size=GROUP)
        layer = prepare_layer_config(
            shape_n=case.dims["N"],
            shape_k=case.dims["K"],
            weight_schema=schema,
            pad_n_to_multiple=PAD_N,
            torch_dtype=problems.TORCH[case.dtype],
        )
        try:
            tuning = json.dumps(get_heuristics_config(layer, shape_m=case.dims["M"]))
            parts = HummingKernel._resolve_configs(layer.to_str(), None, tuning)
        except Exception:
            continue
        merged = {k: v for part in parts for k, v in part.items() if k != "num_sms"}
        specs.append((HummingKernel, merged))
    try:
        HummingKernel.compile_many(specs)
    except Exception as problem:
        print(f"humming, compiling ahead: {problem}", file=sys.stderr)


@functools.lru_cache(maxsize=1)
def layer_of(weight: str, k: int, n: int, dtype: str) -> HummingLayer:
    """A layer with the codes and scales of the problem, in its own storage."""
    made = problems.weights(weight, k, n, dtype)
    bits = int(weight[1])
    codes = made.codes.t().to(torch.int32).contiguous()
    if weight[0] == "i":
        codes ^= 1 << (bits - 1)
    layer = HummingLayer(
        shape_n=n,
        shape_k=k,
        weight_config={"dtype": humming_type(weight), "group_size": GROUP},
        pad_n_to_multiple=PAD_N,
        torch_dtype=problems.TORCH[dtype],
    ).cuda()
    packed = pack_weight(codes, bits)
    del codes
    layer.load_from_tensors({"weight": packed, "weight_scale": made.scales.t().contiguous()})
    layer.transform()
    return layer


def prepare(case: Case) -> Prepared:
    k, n, m = (case.dims[d] for d in "KNM")
    layer = layer_of(case.name, k, n, case.dtype)
    config: dict[str, Any] = get_heuristics_config(layer.humming_config, shape_m=m)
    size = layer.weight.nbytes + layer.weight_scale.nbytes
    copies = copies_beyond_cache(size)
    stored = [(layer.weight.data, layer.weight_scale.data)]
    stored += [(w.clone(), s.clone()) for w, s in stored * (copies - 1)]
    a = problems.activations(case)
    c = torch.full((m, n), torch.nan, dtype=a.dtype, device="cuda")

    def launch(i: int) -> None:
        weight, scale = stored[i]
        humming_forward(
            layer.humming_config,
            inputs=a,
            weight=weight,
            weight_scale=scale,
            outputs=c,
            locks=layer.locks,
            tuning_config=config,
        )

    def error() -> float:
        launch(0)
        made = problems.weights(case.name, k, n, case.dtype)
        return relative_error(c, problems.product(a, made, values_of(case.name)))

    return Prepared(launch, copies, error, {key: str(value) for key, value in config.items()})


def quantized(case: Case) -> dict[str, Any]:
    return timed(prepare(case))


def grid(case: Case) -> dict[str, Any] | None:
    """The error alone; the cases with zero points of the weights' own type are ours."""
    return None if "G" in case.dims else {"error": prepare(case).error()}


SECTIONS = {"quantized": quantized, "grid": grid}
