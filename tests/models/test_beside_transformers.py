"""Random small models of every family beside transformers, in f32: prompts, then 64 tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dslc.models import open_model

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

SIZES = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 160,
    "max_position_embeddings": 512,
}
LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 10000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32,
}
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("Llama", {"rope_parameters": LLAMA3}),
    "llama with biases": ("Llama", {"attention_bias": True, "tie_word_embeddings": True}),
    "mistral": ("Mistral", {"sliding_window": 8}),
    "qwen2": ("Qwen2", {}),
    "qwen3": ("Qwen3", {"head_dim": 32}),
    "gemma2": ("Gemma2", {"head_dim": 32, "sliding_window": 8, "query_pre_attn_scalar": 24}),
    "gemma3": ("Gemma3", {"head_dim": 32, "sliding_window": 8, "num_hidden_layers": 6}),
    "mixtral": ("Mixtral", {"num_local_experts": 4, "num_experts_per_tok": 2}),
    "qwen3 with experts": (
        "Qwen3Moe",
        {
            "head_dim": 32,
            "num_experts": 6,
            "num_experts_per_tok": 3,
            "moe_intermediate_size": 40,
            "norm_topk_prob": True,
            "mlp_only_layers": [1],
            "num_hidden_layers": 3,
        },
    ),
    "qwen3 with shares as they are": (
        "Qwen3Moe",
        {
            "num_experts": 5,
            "num_experts_per_tok": 2,
            "moe_intermediate_size": 32,
            "norm_topk_prob": False,
        },
    ),
}


def small_model(family: str, folder: Path) -> Any:
    """Weights at random, norms and biases too, saved as transformers does."""
    transformers = pytest.importorskip("transformers")
    name, changes = FAMILIES[family]
    text = "Text" if name == "Gemma3" else ""
    config = getattr(transformers, f"{name}{text}Config")(**{**SIZES, **changes})
    model = getattr(transformers, f"{name}ForCausalLM")(config).float().eval()
    torch.manual_seed(0)
    for p in model.parameters():
        torch.nn.init.normal_(p, 0.5 if p.ndim == 1 else 0.0, 0.3 if p.ndim == 1 else 0.15)
    model.save_pretrained(folder)
    return model


@pytest.mark.parametrize("family", FAMILIES)
def test_logits_agree_at_every_step(family: str, tmp_path: Path) -> None:
    theirs = small_model(family, tmp_path)
    ids = torch.randint(0, 160, (1, 84), generator=torch.Generator().manual_seed(4))
    with torch.no_grad():
        expected = theirs(ids).logits[0].numpy()
    ours = open_model(tmp_path, "interp", length=96)
    tokens = ids[0].tolist()
    found = [ours.logits(tokens[:n]) for n in (1, 7, 20)]
    steps = [0, 6, 19, *range(20, 84)]
    found += [ours.logits([tokens[i]], i) for i in range(20, 84)]
    for step, logits in zip(steps, found, strict=True):
        wanted = expected[step]
        assert logits.argmax() == wanted.argmax()
        assert set(np.argsort(logits)[-5:]) == set(np.argsort(wanted)[-5:])
        assert np.corrcoef(logits, wanted)[0, 1] > 0.9999
        np.testing.assert_allclose(logits, wanted, atol=1e-4 * np.abs(wanted).max())
    # The same sequence among others, over pages.
    batch = ours.batch(4)
    batch.add([5, 3], 40)
    member = batch.add(tokens[:20], 4)
    for _ in range(3):
        batch.step()
    whole = [*tokens[:20], *member.tokens[:3]]
    np.testing.assert_allclose(
        batch.tensor("logits:4").read()[1], ours.logits(whole), atol=1e-4 * np.abs(wanted).max()
    )
