"""A model's file compressed: what changes, what stays, what is reported; and a real transformer."""

from __future__ import annotations

import importlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dslc.cli.main import run
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compress import Plan, compress_model
from dslc.runtime.safetensors import read_safetensors
from dslc.runtime.safetensors_writing import write_safetensors

RNG = np.random.default_rng(3)
Array = np.ndarray[Any, np.dtype[Any]]
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def normal(*shape: int) -> Array:
    return RNG.standard_normal(shape, dtype=np.float32)


def model() -> dict[str, Array]:
    return {
        "layers.0.mlp.up_proj.weight": normal(512, 256),
        "layers.0.mlp.down_proj.weight": normal(256, 512),
        "layers.0.mlp.gate_proj.weight": normal(40, 256),
        "layers.0.mlp.up_proj.bias": normal(512),
        "layers.0.attention.q_proj.weight": normal(256, 256),
    }


def test_the_named_weights_become_factors_and_the_rest_stays() -> None:
    tensors, seen = model(), []
    made, layers = compress_model(tensors, Plan(0.3, 32), progress=lambda *step: seen.append(step))
    assert seen == [(1, 3), (2, 3), (3, 3)]
    up, down, gate = layers
    assert (up.k, up.n, up.rank) == (256, 512, 128)
    assert (down.k, down.n, down.rank) == (512, 256, 128)
    assert up.ratio == pytest.approx(1 - 128 * 768 / (256 * 512))
    assert made["layers.0.mlp.up_proj.u"].shape == (256, 128)
    assert made["layers.0.mlp.up_proj.v"].shape == (128, 512)
    assert up.after == made["layers.0.mlp.up_proj.u"].nbytes + made["layers.0.mlp.up_proj.v"].nbytes
    assert gate.rank == 32 or gate.before == gate.after
    for name in ("layers.0.mlp.up_proj.bias", "layers.0.attention.q_proj.weight"):
        assert made[name] is tensors[name]
    x = normal(7, 256)
    w = tensors["layers.0.mlp.up_proj.weight"].T
    y = x @ made["layers.0.mlp.up_proj.u"] @ made["layers.0.mlp.up_proj.v"]
    assert np.linalg.norm(y - x @ w) / np.linalg.norm(x @ w) == pytest.approx(up.error, rel=0.1)


def test_a_weight_that_factors_would_not_make_smaller_is_kept() -> None:
    tensors = {"mlp.up_proj.weight": normal(130, 130)}
    made, (layer,) = compress_model(tensors, Plan(0.2, 128))
    assert made == tensors
    assert layer.rank == 0


def test_calibrations_for_all_or_by_name() -> None:
    tensors, x = model(), normal(300, 256)
    plan = Plan(0.3, 32)
    _, layers = compress_model(tensors, plan, x)
    assert [layer.calibrated for layer in layers][:2] == [True, False]
    _, named = compress_model(tensors, plan, {"layers.0.mlp.up_proj": x})
    assert named[0] == layers[0]
    for wrong in (normal(300, 77), {"layers.0.mlp.up_proj": normal(4, 77)}, {"no_such": x}):
        with pytest.raises(DiagnosticError, match="DSL0798"):
            compress_model(tensors, plan, wrong)
    with pytest.raises(DiagnosticError, match="DSL0797"):
        compress_model(tensors, Plan(0.2, layers="nothing"))


def test_a_file_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    import ml_dtypes

    tensors = {
        "odd": np.arange(3, dtype=np.uint8),
        "half": normal(2, 3).astype(ml_dtypes.bfloat16),
        "wide": normal(4, 5).T,
        "empty": np.zeros((0, 4), np.float32),
    }
    path = tmp_path / "m.safetensors"
    write_safetensors(path, tensors, {"made": "here"})
    found = read_safetensors(path)
    assert found.metadata == {"made": "here"}
    assert {n: t.dtype for n, t in found.items()} == {n: t.dtype for n, t in tensors.items()}
    assert all(np.array_equal(found[n], t) for n, t in tensors.items())
    with pytest.raises(DiagnosticError, match="DSL0783"):
        write_safetensors(path, {"text": np.array(["a"])})
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.safetensors"]


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, inputs = tmp_path / "m.safetensors", tmp_path / "x.npy"
    write_safetensors(path, model())
    np.save(inputs, normal(300, 256))
    options = ["--ratio", "0.3", "--block", "32", "--calibration", str(inputs)]
    assert run(["compress", str(path), *options]) == 0
    told = capsys.readouterr().out
    assert "layers.0.mlp.up_proj.weight" in told
    assert "256 x 512" in told
    made = read_safetensors(tmp_path / "m-compressed.safetensors")
    assert json.loads(made.metadata["dslc.compress"])["ratio"] == 0.3
    assert made["layers.0.mlp.up_proj.u"].shape == (256, 128)
    assert run(["compress", str(path), "--ratio", "0.3", "--calibration", str(path)]) != 0
    assert "DSL0798" in capsys.readouterr().err


@pytest.mark.deep
@pytest.mark.network
def test_a_published_encoder_keeps_its_meaning(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """MiniLM at a ratio of 0.2 and blocks of 128, calibrated on the readme: embeddings nearly stay."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    minilm = importlib.import_module("minilm.model")
    try:
        encoder = minilm.published(Path(os.environ.get("DSLC_DEMO_DIR", tmp_path)))
    except minilm.NoModel as missing:
        pytest.skip(str(missing))
    rows: dict[str, list[Array]] = {}

    def record(layer: int, x: Array) -> Array:
        half = encoder.feed_forward(layer)
        rows.setdefault(f"encoder.layer.{layer}.intermediate.dense", []).append(x)
        hidden = minilm.gelu(x @ half.up + half.up_bias)
        rows.setdefault(f"encoder.layer.{layer}.output.dense", []).append(hidden)
        return hidden @ half.down + half.down_bias

    texts = (EXAMPLES / "README.md").read_text(encoding="utf-8").split("\n")
    for text in [t for t in texts if 20 < len(t) < 400][:40]:
        encoder.run(text, record)
    calibration = {name: np.concatenate(found) for name, found in rows.items()}
    made, layers = compress_model(encoder._tensors, Plan(0.2), calibration)
    plain_made, plain = compress_model(encoder._tensors, Plan(0.2))
    assert len(layers) == 12
    assert {layer.rank for layer in layers} == {256}
    assert all(layer.calibrated for layer in layers)
    assert max(layer.error for layer in layers) < 0.1
    assert sum(a.error for a in layers) < 0.5 * sum(b.error for b in plain)

    def embedding(tensors: dict[str, Array]) -> Array:
        def compressed(layer: int, x: Array) -> Array:
            half = encoder.feed_forward(layer)
            up, down = (f"encoder.layer.{layer}.{n}.dense" for n in ("intermediate", "output"))
            hidden = minilm.gelu(x @ tensors[f"{up}.u"] @ tensors[f"{up}.v"] + half.up_bias)
            return np.asarray(hidden @ tensors[f"{down}.u"] @ tensors[f"{down}.v"] + half.down_bias)

        return np.asarray(encoder.run(minilm.SENTENCE, compressed)[0])

    exact, _ = encoder.run(minilm.SENTENCE, lambda i, x: encoder.feed_forward(i)(x))
    near = float(exact @ embedding(made))
    assert near > 0.9
    assert near > float(exact @ embedding(plain_made))
