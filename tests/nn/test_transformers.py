"""A model of transformers by `quantization_config`, saved and loaded again."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.torch

import dslc.nn  # noqa: E402
from dslc.nn.transformers import DslcConfig  # noqa: E402


def test_a_llama_in_four_bits(tmp_path: Path) -> None:
    config = transformers.LlamaConfig(
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        vocab_size=100,
        max_position_embeddings=64,
    )
    torch.manual_seed(0)
    plain = transformers.LlamaForCausalLM(config).float().eval()
    plain.save_pretrained(tmp_path / "plain")
    load = transformers.AutoModelForCausalLM.from_pretrained
    given = DslcConfig("u4:32")
    model = load(tmp_path / "plain", quantization_config=given, dtype=torch.float32).eval()
    swapped = [n for n, m in model.named_modules() if isinstance(m, dslc.nn.Linear)]
    assert len(swapped) == 14
    assert type(model.lm_head) is torch.nn.Linear

    rounded = copy.deepcopy(plain)
    for name in swapped:
        rounded.get_submodule(name).weight.data = model.get_submodule(name).dequantized()
    ids = torch.randint(0, 100, (2, 12))
    with torch.no_grad():
        found, expected = model(ids).logits, rounded(ids).logits
        torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-3)
        assert not torch.allclose(found, plain(ids).logits, atol=1e-3)
        steps = model.generate(ids, max_new_tokens=4, do_sample=False)
        assert torch.equal(steps, rounded.generate(ids, max_new_tokens=4, do_sample=False))

    model.save_pretrained(tmp_path / "rounded")
    again = load(tmp_path / "rounded", dtype=torch.float32).eval()
    assert again.config.quantization_config.packed
    assert isinstance(again.get_submodule(swapped[0]), dslc.nn.Linear)
    with torch.no_grad():
        assert torch.equal(again(ids).logits, found)
