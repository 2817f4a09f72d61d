"""A small model of random weights, for whoever needs no more than one."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from models.test_generation import CONFIG

    where = tmp_path_factory.mktemp("model")
    rng = np.random.default_rng(1)

    def matrix(n: int, k: int) -> np.ndarray:
        return (rng.standard_normal((n, k)) / k**0.5).astype(np.float32)

    tensors = {
        "model.embed_tokens.weight": matrix(50, 32) * 6,
        "model.norm.weight": np.ones(32, "f4"),
    }
    for i in range(2):
        layer = f"model.layers.{i}."
        for name, shape in {"q": (64, 32), "k": (32, 32), "v": (32, 32), "o": (32, 64)}.items():
            tensors[f"{layer}self_attn.{name}_proj.weight"] = matrix(*shape)
        for name, shape in {"gate": (48, 32), "up": (48, 32), "down": (32, 48)}.items():
            tensors[f"{layer}mlp.{name}_proj.weight"] = matrix(*shape)
        for name in ("input_layernorm", "post_attention_layernorm"):
            tensors[f"{layer}{name}.weight"] = rng.uniform(0.5, 1.5, 32).astype("f4")
        for name in ("q_norm", "k_norm"):
            tensors[f"{layer}self_attn.{name}.weight"] = rng.uniform(0.5, 1.5, 16).astype("f4")
    save_file(tensors, where / "model.safetensors")
    (where / "config.json").write_text(json.dumps(CONFIG))
    return where
