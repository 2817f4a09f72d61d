"""`quantization_config=DslcConfig("u4:128")` for models of transformers.

    import dslc.nn.transformers
    model = AutoModelForCausalLM.from_pretrained(
        "Llama-3.2-1B", quantization_config=dslc.nn.transformers.DslcConfig("u4:128")
    )

Every nn.Linear but the head becomes a `dslc.nn.Linear` when the model's floats are loaded. What
`save_pretrained` writes has the packed weights, and is loaded again without the floats, on a machine
of the same target.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from dslc.nn.linear import Linear, is_kept, swap_linears
from transformers.quantizers.auto import register_quantization_config, register_quantizer
from transformers.quantizers.base import HfQuantizer
from transformers.utils.quantization_config import QuantizationConfigMixin


@register_quantization_config("dslc")
class DslcConfig(QuantizationConfigMixin):
    """A dtype and a group (`weights`), the target, and the modules that stay as they are.

    What a model is saved with says that its weights are `packed`.
    """

    def __init__(
        self,
        weights: str = "u4:128",
        target: str = "",
        modules_to_not_convert: list[str] | None = None,
        packed: bool = False,
        **others: Any,
    ) -> None:
        self.quant_method = "dslc"
        self.packed = packed
        self.weights, self.target = weights, target
        self.modules_to_not_convert = modules_to_not_convert or ["lm_head"]


@register_quantizer("dslc")
class DslcQuantizer(HfQuantizer):
    """Swaps modules after floats were loaded, or before packed weights are."""

    requires_calibration = False

    def _keeps(self, name: str) -> bool:
        return is_kept(name, self.quantization_config.modules_to_not_convert)

    def _process_model_before_weight_loading(self, model: Any, **kwargs: Any) -> Any:
        if self.pre_quantized:
            config = self.quantization_config
            for name, module in list(model.named_modules()):
                if type(module) is not torch.nn.Linear or self._keeps(name):
                    continue
                # Not torch.zeros: modules are made on a device without memory here.
                zeros = torch.from_numpy(np.zeros(module.weight.shape, np.float32))
                zeros = zeros.to(module.weight.dtype)
                bias = None if module.bias is None else zeros[:, 0]
                linear = Linear.of(zeros, bias, quantize=config.weights, target=config.target)
                owner, _, last = name.rpartition(".")
                setattr(model.get_submodule(owner), last, linear)
        return model

    def _process_model_after_weight_loading(self, model: Any, **kwargs: Any) -> Any:
        if not self.pre_quantized:
            config = self.quantization_config
            swap_linears(model, quantize=config.weights, target=config.target, keep=self._keeps)
            config.packed = True
        return model

    def is_serializable(self, *args: Any, **kwargs: Any) -> bool:
        """Packed weights are buffers, which are saved."""
        return True

    @property
    def is_trainable(self) -> bool:
        """Codes have no gradient."""
        return False
