"""What vLLM 0.33.0 asks of a quantisation method, and how its layers use one: names and signatures.

A stand-in for the package, whose wheel is for GPUs and wants gigabytes. Facts are those of
vllm/plugins/__init__.py, vllm/model_executor/layers/quantization/{__init__,base_config}.py,
vllm/model_executor/layers/linear.py and vllm/model_executor/model_loader/utils.py of that version.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch

QUANTIZATION_METHODS = ["awq", "gptq", "fp8"]
REGISTERED: dict[str, type[QuantizationConfig]] = {}


class QuantizeMethodBase(ABC):
    """As base_config.py has it."""

    requires_device_loading = True
    uses_meta_device = False
    supports_pre_processed_weights = False

    @abstractmethod
    def create_weights(self, layer: torch.nn.Module, *weight_args: Any, **extra: Any) -> None: ...

    @abstractmethod
    def apply(self, layer: torch.nn.Module, *args: Any, **kwargs: Any) -> torch.Tensor: ...

    def process_weights_after_loading(self, layer: torch.nn.Module) -> None:
        return

    def dequantize_weight(self, layer: torch.nn.Module) -> torch.Tensor:
        raise NotImplementedError


class QuantizationConfig(ABC):
    """As base_config.py has it."""

    def __init__(self) -> None:
        super().__init__()
        self.packed_modules_mapping: dict[str, list[str]] = {}
        self.online_quantization_config: object | None = None

    @abstractmethod
    def get_name(self) -> str: ...

    @abstractmethod
    def get_supported_act_dtypes(self) -> list[torch.dtype]: ...

    @classmethod
    @abstractmethod
    def get_min_capability(cls) -> int: ...

    @staticmethod
    @abstractmethod
    def get_config_filenames() -> list[str]: ...

    @classmethod
    @abstractmethod
    def from_config(cls, config: dict[str, Any]) -> QuantizationConfig: ...

    @abstractmethod
    def get_quant_method(
        self, layer: torch.nn.Module, prefix: str
    ) -> QuantizeMethodBase | None: ...


class LinearMethodBase(QuantizeMethodBase):
    """As linear.py has it."""

    @abstractmethod
    def create_weights(  # type: ignore[override]
        self,
        layer: torch.nn.Module,
        input_size_per_partition: int,
        output_partition_sizes: list[int],
        input_size: int,
        output_size: int,
        params_dtype: torch.dtype,
        **extra_weight_attrs: Any,
    ) -> None: ...

    @abstractmethod
    def apply(  # type: ignore[override]
        self, layer: torch.nn.Module, x: torch.Tensor, bias: torch.Tensor | None = None
    ) -> torch.Tensor: ...


class UnquantizedLinearMethod(LinearMethodBase):
    """Floats: a parameter `weight` with its loader, which has to be given."""

    def create_weights(  # type: ignore[override]
        self,
        layer: torch.nn.Module,
        input_size_per_partition: int,
        output_partition_sizes: list[int],
        input_size: int,
        output_size: int,
        params_dtype: torch.dtype,
        **extra_weight_attrs: Any,
    ) -> None:
        loader = extra_weight_attrs.pop("weight_loader")
        shape = sum(output_partition_sizes), input_size_per_partition
        weight = torch.nn.Parameter(torch.empty(shape, dtype=params_dtype), requires_grad=False)
        weight.weight_loader = loader  # type: ignore[attr-defined]
        layer.register_parameter("weight", weight)

    def apply(  # type: ignore[override]
        self, layer: torch.nn.Module, x: torch.Tensor, bias: torch.Tensor | None = None
    ) -> torch.Tensor:
        return torch.nn.functional.linear(x, layer.weight, bias)


class LinearBase(torch.nn.Module):
    """Asks its configuration for a method when it is made; one of its own part of the columns."""

    def __init__(
        self,
        input_size: int,
        output_sizes: list[int],
        bias: bool,
        params_dtype: torch.dtype,
        quant_config: QuantizationConfig,
        prefix: str,
    ) -> None:
        super().__init__()
        method = quant_config.get_quant_method(self, prefix=prefix)
        if method is None:
            raise ValueError("All linear layers should support quant method.")
        self.quant_method, self.loaded = method, 0
        method.create_weights(
            layer=self,
            input_size_per_partition=input_size,
            output_partition_sizes=output_sizes,
            input_size=input_size,
            output_size=2 * sum(output_sizes),
            params_dtype=params_dtype,
            weight_loader=self.weight_loader,
        )
        drawn = torch.randn(sum(output_sizes), dtype=params_dtype) if bias else None
        self.register_parameter("bias", None if drawn is None else torch.nn.Parameter(drawn, False))

    def weight_loader(
        self, param: torch.nn.Parameter, loaded_weight: torch.Tensor, shard_id: object = None
    ) -> None:
        rows = slice(self.loaded, self.loaded + loaded_weight.shape[0])
        param.data[rows].copy_(loaded_weight)
        self.loaded += loaded_weight.shape[0]

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, None]:
        return self.quant_method.apply(self, x, self.bias), None


def register_quantization_config(quantization: str) -> Callable[[type], type]:
    """Appends the name, once, and takes subclasses alone."""

    def wrapper(quant_config_cls: type) -> type:
        if quantization not in QUANTIZATION_METHODS:
            QUANTIZATION_METHODS.append(quantization)
        if not issubclass(quant_config_cls, QuantizationConfig):
            raise ValueError("The quantization config must be a subclass of `QuantizationConfig`.")
        REGISTERED[quantization] = quant_config_cls
        return quant_config_cls

    return wrapper


def process_weights_after_loading(model: torch.nn.Module) -> None:
    """As the loader does when all weights are there."""
    for _, module in model.named_modules():
        method = getattr(module, "quant_method", None)
        if isinstance(method, QuantizeMethodBase):
            method.process_weights_after_loading(module)


def installed() -> dict[str, ModuleType]:
    """The modules by the names that vLLM's have, for sys.modules."""
    here = sys.modules[__name__]
    layers = "vllm.model_executor.layers"
    packages = ("vllm", "vllm.model_executor", layers)
    names = ("linear", "quantization", "quantization.base_config")
    return {
        **{name: ModuleType(name) for name in packages},
        **{f"{layers}.{name}": here for name in names},
    }
