"""`vllm serve MODEL --quantization dslc`: the products of vLLM's linear layers in dslc's kernels.

    vllm serve Llama-3.2-1B --quantization dslc

vLLM calls `register` in each of its processes, by the entry point of the group `vllm.general_plugins`.
A layer has float weights while the checkpoint is loaded, its own part of them where several GPUs share
the model; then they are rounded and packed, a layer at a time. Names and signatures are those of vLLM
0.33.0 (vllm/model_executor/layers/linear.py and quantization/base_config.py).
"""

from __future__ import annotations

import json
from typing import Any

import torch
from dslc.compiler.diagnostics import error
from dslc.models.linear import ToNearest
from dslc.nn.linear import Linear, is_kept
from torch import Tensor
from vllm.model_executor.layers.linear import (
    LinearBase,
    LinearMethodBase,
    UnquantizedLinearMethod,
)
from vllm.model_executor.layers.quantization import (
    QUANTIZATION_METHODS,
    register_quantization_config,
)
from vllm.model_executor.layers.quantization.base_config import (
    QuantizationConfig,
    QuantizeMethodBase,
)

NAME = "dslc"


class DslcConfig(QuantizationConfig):
    """A dtype and a group (`weights`), the target, and the layers that stay as they are.

    The target is by default that of the layer's device. DSL0790 for other weights.
    """

    def __init__(
        self,
        weights: str = "u4:128",
        target: str = "",
        modules_to_not_convert: list[str] | None = None,
    ) -> None:
        super().__init__()
        ToNearest.parse(weights)
        self.weights, self.target = weights, target
        self.modules_to_not_convert = modules_to_not_convert or ["lm_head"]

    def get_name(self) -> str:
        """The method's."""
        return NAME

    def get_supported_act_dtypes(self) -> list[torch.dtype]:
        """Those of activations."""
        return [torch.float16, torch.bfloat16, torch.float32]

    @classmethod
    def get_min_capability(cls) -> int:
        """Of an NVIDIA GPU: sm_80."""
        return 80

    @staticmethod
    def get_config_filenames() -> list[str]:
        """None: without a configuration it is that of `DslcConfig()`."""
        return []

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> DslcConfig:
        """Of a model's `quantization_config`; DSL0786 for weights that transformers has packed."""
        if config.get("packed"):
            raise error(
                "DSL0786",
                "the checkpoint has weights that transformers packed, each projection by itself",
                hint="vLLM takes the model's floats: --quantization dslc",
            )
        fields = ("weights", "target", "modules_to_not_convert")
        return cls(**{name: config[name] for name in fields if name in config})

    @classmethod
    def from_config_dict_json(cls, text: str) -> DslcConfig:
        """Of `quantization_config_dict_json` of `hf_overrides`, for a model that has none itself."""
        return cls.from_config(json.loads(text))

    def get_quant_method(self, layer: torch.nn.Module, prefix: str) -> QuantizeMethodBase | None:
        """That of a linear layer; None for others, which stay as they are."""
        if not isinstance(layer, LinearBase):
            return None
        owner, _, last = prefix.rpartition(".")
        members = self.packed_modules_mapping.get(last, [last])
        names = [prefix, *(f"{owner}.{m}" if owner else m for m in members)]
        if any(is_kept(name, self.modules_to_not_convert) for name in names):
            return UnquantizedLinearMethod()
        return DslcLinearMethod(self)


class DslcLinearMethod(LinearMethodBase):
    """Loads a layer's floats as vLLM does, and multiplies by what they are rounded to."""

    def __init__(self, config: DslcConfig) -> None:
        self.config = config

    def create_weights(
        self,
        layer: torch.nn.Module,
        input_size_per_partition: int,
        output_partition_sizes: list[int],
        input_size: int,
        output_size: int,
        params_dtype: torch.dtype,
        **extra_weight_attrs: Any,
    ) -> None:
        """A weight [out, in] of floats, which the layer's own loader fills."""
        UnquantizedLinearMethod().create_weights(
            layer,
            input_size_per_partition,
            output_partition_sizes,
            input_size,
            output_size,
            params_dtype,
            **extra_weight_attrs,
        )

    def process_weights_after_loading(self, layer: torch.nn.Module) -> None:
        """The floats go; what is packed lies in the buffers of `layer.packed`."""
        if hasattr(layer, "packed"):
            return
        weight = layer.weight.data
        del layer.weight
        layer.packed = Linear.of(weight, quantize=self.config.weights, target=self.config.target)

    def apply(self, layer: torch.nn.Module, x: Tensor, bias: Tensor | None = None) -> Tensor:
        """x of [..., in] to [..., out]."""
        y: Tensor = layer.packed(x)
        return y if bias is None else y + bias

    def dequantize_weight(self, layer: torch.nn.Module) -> Tensor:
        """The weight [out, in] that is multiplied by."""
        return layer.packed.dequantized()


def register() -> None:
    """Make the method known to vLLM; each of its processes may call it more than once."""
    if NAME not in QUANTIZATION_METHODS:
        register_quantization_config(NAME)(DslcConfig)
