"""The vLLM plugin against what vLLM's sources say that they call."""

from __future__ import annotations

import importlib
import inspect
import json
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

from dslc.compiler.diagnostics import DiagnosticError  # noqa: E402

from nn import vllm_interface as vllm  # noqa: E402

PROJECT = Path(__file__).parents[2] / "pyproject.toml"


@pytest.fixture
def plugin(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The module of the entry point, registered twice as vLLM's processes may do."""
    for name, module in vllm.installed().items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(vllm, "QUANTIZATION_METHODS", ["awq", "gptq"])
    monkeypatch.setattr(vllm, "REGISTERED", {})
    entry = tomllib.loads(PROJECT.read_text())["project"]["entry-points"]["vllm.general_plugins"]
    module, _, function = entry["dslc"].partition(":")
    monkeypatch.delitem(sys.modules, module, raising=False)
    loaded = importlib.import_module(module)
    for _ in range(2):
        getattr(loaded, function)()
    yield loaded
    sys.modules.pop(module, None)


def test_it_is_registered_once_with_the_signatures_that_are_called(plugin: ModuleType) -> None:
    assert vllm.QUANTIZATION_METHODS == ["awq", "gptq", "dslc"]
    assert vllm.REGISTERED["dslc"] is plugin.DslcConfig
    pairs = [(plugin.DslcLinearMethod, vllm.LinearMethodBase)]
    pairs += [(plugin.DslcConfig, vllm.QuantizationConfig)]
    for ours, theirs in pairs:
        for name, function in inspect.getmembers(theirs, callable):
            if not name.startswith("_") and name in vars(ours):
                found = inspect.signature(getattr(ours, name)).parameters.values()
                expected = inspect.signature(function).parameters.values()
                assert [(p.name, p.kind) for p in found] == [(p.name, p.kind) for p in expected]
    config = plugin.DslcConfig()  # as for a model without a configuration
    assert config.get_name() == "dslc"
    assert config.get_config_filenames() == []
    assert torch.bfloat16 in config.get_supported_act_dtypes()
    assert config.get_min_capability() == 80


@pytest.mark.parametrize("bias", [False, True])
def test_layers_of_several_projections_multiply_by_rounded_weights(
    plugin: ModuleType, bias: bool
) -> None:
    torch.manual_seed(0)
    config = plugin.DslcConfig.from_config_dict_json(json.dumps({"weights": "u4:32"}))
    config.packed_modules_mapping = {"qkv_proj": ["q_proj", "k_proj", "v_proj"]}
    layer = vllm.LinearBase(64, [32, 16, 16], bias, torch.float32, config, "0.self_attn.qkv_proj")
    parts = [torch.randn(n, 64) for n in (32, 16, 16)]
    for shard, part in zip("qkv", parts, strict=True):
        layer.weight.weight_loader(layer.weight, part, shard)
    model = torch.nn.Sequential(layer)
    vllm.process_weights_after_loading(model)
    vllm.process_weights_after_loading(model)
    assert "weight" not in dict(layer.named_parameters())
    weight = layer.quant_method.dequantize_weight(layer)
    whole = torch.cat(parts)
    assert 0 < (weight - whole).abs().max() < 0.35
    x = torch.randn(2, 3, 64)
    y, _ = layer(x)
    torch.testing.assert_close(
        y, torch.nn.functional.linear(x, weight, layer.bias), atol=1e-4, rtol=1e-4
    )
    assert y.shape == (2, 3, 64)


def test_layers_that_stay_are_vllm_s_own(plugin: ModuleType) -> None:
    kept = {"weights": "u4:32", "modules_to_not_convert": ["lm_head", "0.k_proj"]}
    config = plugin.DslcConfig.from_config(kept)
    config.packed_modules_mapping = {"qkv_proj": ["q_proj", "k_proj", "v_proj"]}

    def method(prefix: str) -> object:
        layer = vllm.LinearBase(32, [8], False, torch.float32, plugin.DslcConfig(), "x")
        return config.get_quant_method(layer, prefix)

    assert isinstance(method("model.lm_head"), vllm.UnquantizedLinearMethod)
    assert isinstance(method("0.qkv_proj"), vllm.UnquantizedLinearMethod)
    assert isinstance(method("1.qkv_proj"), plugin.DslcLinearMethod)
    assert config.get_quant_method(torch.nn.Embedding(4, 4), "embed_tokens") is None


def test_what_cannot_be_is_refused(plugin: ModuleType) -> None:
    with pytest.raises(DiagnosticError, match="DSL0790"):
        plugin.DslcConfig("q4")
    with pytest.raises(DiagnosticError, match="DSL0786"):
        plugin.DslcConfig.from_config({"quant_method": "dslc", "weights": "u4:32", "packed": True})
