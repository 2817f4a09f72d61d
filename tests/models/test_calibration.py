"""Weights changed by what goes through them: logits are nearer to the floats' than by weights alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.models import open_model
from dslc.models.changes import ToRank
from safetensors.numpy import save_file

LENGTH = 16  # one piece
CONFIG = {
    "model_type": "qwen2",
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "vocab_size": 40,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model whose embedding has few directions, as those that are trained have."""
    where = tmp_path_factory.mktemp("model")
    rng = np.random.default_rng(1)
    drawn = {"model.embed_tokens.weight": rng.normal(size=(40, 6)) @ rng.normal(size=(6, 32))}
    drawn["model.norm.weight"] = np.ones(32)
    for i in range(2):
        at = f"model.layers.{i}"
        shapes = {"self_attn.q_proj": (32, 32), "self_attn.o_proj": (32, 32)}
        shapes |= {f"self_attn.{p}_proj": (16, 32) for p in "kv"}
        shapes |= {f"mlp.{p}_proj": (64, 32) for p in ("gate", "up")}
        shapes |= {"mlp.down_proj": (32, 64)}
        for name, (n, k) in shapes.items():
            drawn[f"{at}.{name}.weight"] = rng.normal(size=(n, k)) * k**-0.5
        for part, n in (("q", 32), ("k", 16), ("v", 16)):
            drawn[f"{at}.self_attn.{part}_proj.bias"] = rng.normal(size=n)
        for part in ("input", "post_attention"):
            drawn[f"{at}.{part}_layernorm.weight"] = np.ones(32)
    save_file({n: a.astype(np.float32) for n, a in drawn.items()}, where / "model.safetensors")
    (where / "config.json").write_text(json.dumps(CONFIG))
    return where


@pytest.fixture(scope="module")
def sequences() -> np.ndarray:
    return np.random.default_rng(2).integers(0, 40, (12, LENGTH))


@pytest.mark.parametrize("quantize", ["u4:32", "i3:16"])
def test_logits_are_nearer_to_those_of_floats(
    folder: Path, sequences: np.ndarray, quantize: str
) -> None:
    """On sequences that calibrated, and on others."""
    others = np.random.default_rng(3).integers(0, 40, (6, LENGTH))
    exact = open_model(folder, "interp", length=LENGTH)
    nearest = open_model(folder, "interp", length=LENGTH, quantize=quantize)
    fitted = open_model(folder, "interp", length=LENGTH, quantize=quantize, calibration=sequences)
    for given in (sequences[:6], others):
        expected = np.stack([exact.logits(ids) for ids in given.tolist()])
        apart = [
            np.linalg.norm(np.stack([m.logits(ids) for ids in given.tolist()]) - expected)
            for m in (nearest, fitted)
        ]
        assert apart[1] < 0.8 * apart[0]


@pytest.mark.parametrize("quantize", ["", "u4:16"])
def test_factors_are_two_products(
    folder: Path, sequences: np.ndarray, quantize: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Calibrated ones are nearer as well; those of all of a matrix's rank are the matrix."""
    monkeypatch.setattr("dslc.models.changes.BLOCK", 8)
    ids = sequences[0].tolist()

    def logits(**changes: Any) -> np.ndarray:
        model = open_model(folder, "interp", length=LENGTH, quantize=quantize, **changes)
        names = model.decoder.plan.products
        assert ("0.gate_up.u" in names) == ("compress" in changes)
        return np.stack([model.logits(ids[:n]) for n in (1, LENGTH)])

    exact = logits()
    fitted = np.linalg.norm(logits(compress=0.4, calibration=sequences) - exact)
    assert fitted < 0.9 * np.linalg.norm(logits(compress=0.4) - exact)


def test_factors_of_the_whole_rank_give_the_same(folder: Path) -> None:
    rng = np.random.default_rng(4)
    weight = (rng.normal(size=(384, 16)) @ rng.normal(size=(16, 256))).astype(np.float32)
    found = ToRank(0.1)("3.down", weight)
    assert found is not None
    assert [f.shape for f in found] == [(128, 256), (384, 128)]
    np.testing.assert_allclose(found[1] @ found[0], weight, atol=1e-4 * np.abs(weight).max())
    assert ToRank(0.1)("3.o", weight) is None
    assert ToRank(0.1)("3.down", weight[:100]) is None
    for share in (1.0, -0.5):
        with pytest.raises(DiagnosticError, match="DSL0797"):
            ToRank(share)


def test_what_calibrates_nothing_is_refused(folder: Path, sequences: np.ndarray) -> None:
    for given, quantize, match in (
        (sequences, "", "DSL0790.*none are"),
        (sequences[0], "u4:32", "DSL0788.*sequences"),
        (sequences + 40, "u4:32", "DSL0788.*no token"),
    ):
        with pytest.raises(DiagnosticError, match=match):
            open_model(folder, "interp", quantize=quantize, calibration=given)
