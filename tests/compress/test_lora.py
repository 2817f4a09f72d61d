"""Adapters of LoRA become part of factors and weights: the merged model computes what was trained."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from dslc.cli.main import run
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compress import factorize, merge, merge_adapters, read_adapters
from dslc.runtime.safetensors import read_safetensors
from dslc.runtime.safetensors_writing import write_safetensors

RNG = np.random.default_rng(5)
Array = np.ndarray[Any, np.dtype[Any]]
UP, QUERY = "model.layers.0.mlp.up_proj", "model.layers.0.self_attn.q_proj"
K, R, N, L = 48, 32, 32, 4  # r = n: shapes alone do not tell the orientation of v


def normal(*shape: int) -> Array:
    return RNG.standard_normal(shape, dtype=np.float32)


def model() -> dict[str, Array]:
    return {
        f"{UP}.u": normal(K, R),
        f"{UP}.v": normal(R, N),
        f"{QUERY}.weight": normal(24, K),
        "norm.weight": normal(K),
    }


def trained() -> dict[str, Array]:
    """A file of PEFT for the layers of `model`."""
    sizes = {f"{UP}.u": (K, R), f"{UP}.v": (R, N), QUERY: (K, 24)}
    made = {}
    for name, (inputs, outputs) in sizes.items():
        made[f"base_model.model.{name}.lora_A.weight"] = normal(L, inputs)
        made[f"base_model.model.{name}.lora_B.weight"] = normal(outputs, L)
    return made


def layer(x: Array, w: Array, adapters: dict[str, Array], name: str, scale: float) -> Array:
    """What a linear layer with an adapter computes while it is trained; w is [in, out]."""
    a = adapters[f"base_model.model.{name}.lora_A.weight"]
    b = adapters[f"base_model.model.{name}.lora_B.weight"]
    return np.asarray(x @ w + scale * ((x @ a.T) @ b.T))


def test_the_factors_of_one_weight_are_merged() -> None:
    found = factorize(normal(96, 160), 32)
    b_u, a_u = normal(96, 4), normal(4, 32)
    b_v, a_v = normal(32, 4), normal(4, 160)
    u, v = merge(found, u=(b_u, a_u), v=(b_v, a_v))
    np.testing.assert_allclose(u, found.u + b_u @ a_u, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(v, found.v + b_v @ a_v, rtol=1e-5, atol=1e-5)
    assert merge(found) == (found.u, found.v)
    for wrong in ((a_u, b_u), (b_u, a_v), (b_u, normal(5, 32))):
        with pytest.raises(DiagnosticError, match="DSL0797"):
            merge(found, u=wrong)


@pytest.mark.parametrize(
    ("config", "scale"),
    [
        ({"peft_type": "LORA", "lora_alpha": 16, "r": L}, 4),
        ({"lora_alpha": 16, "use_rslora": True}, 8),
        ({"lora_alpha": 16, "alpha_pattern": {"mlp.up_proj.[uv]": 2, "q_proj": 2, "proj": 9}}, 0.5),
    ],
)
def test_the_merged_model_computes_what_was_trained(config: dict[str, Any], scale: float) -> None:
    tensors, adapters, seen = model(), trained(), []
    made, found = merge_adapters(
        tensors, read_adapters(adapters, config), progress=lambda *step: seen.append(step)
    )
    x = normal(7, K)
    hidden = layer(x, tensors[f"{UP}.u"], adapters, f"{UP}.u", scale)
    want = layer(hidden, tensors[f"{UP}.v"], adapters, f"{UP}.v", scale)
    np.testing.assert_allclose(x @ made[f"{UP}.u"] @ made[f"{UP}.v"], want, rtol=2e-3, atol=2e-3)
    query = layer(x, tensors[f"{QUERY}.weight"].T, adapters, QUERY, scale)
    np.testing.assert_allclose(x @ made[f"{QUERY}.weight"].T, query, rtol=1e-3, atol=1e-3)
    assert made["norm.weight"] is tensors["norm.weight"]
    assert seen == [(1, 3), (2, 3), (3, 3)]
    assert [(m.name, m.rank) for m in found] == [
        (f"{UP}.u", L),
        (f"{UP}.v", L),
        (f"{QUERY}.weight", L),
    ]
    changed = np.linalg.norm(made[f"{UP}.u"] - tensors[f"{UP}.u"])
    assert found[0].change == pytest.approx(changed / np.linalg.norm(tensors[f"{UP}.u"]), rel=1e-4)


def test_weights_that_have_inputs_first_and_other_dtypes() -> None:
    weight, a, b = normal(K, 24).astype(ml_dtypes.bfloat16), normal(L, K), normal(24, L)
    adapters = read_adapters({"q.lora_A.default.weight": a, "q.lora_B.weight": b}, None, scale=2.0)
    made, _ = merge_adapters({"q.weight": weight}, adapters, in_first=True)
    assert made["q.weight"].dtype == weight.dtype
    want = (weight.astype(np.float64) + 2 * (b.astype(np.float64) @ a).T).astype(weight.dtype)
    assert np.array_equal(made["q.weight"], want)


CONFIG = {"lora_alpha": 8}


@pytest.mark.parametrize(
    ("change", "config", "told"),
    [
        ({"x.lora_magnitude_vector": normal(3)}, CONFIG, "x.lora_magnitude_vector is no matrix"),
        ({"q.lora_A.weight": normal(L, 2, 2)}, CONFIG, "no matrix of floats"),
        ({"q.lora_A.weight": normal(L, K)}, CONFIG, "q has lora_A alone"),
        ({}, None, "there is no adapter_config.json"),
        ({}, {"lora_alpha": 8, "use_dora": True}, "no plain LoRA"),
        ({}, {"peft_type": "IA3"}, "no plain LoRA"),
        ({}, {"r": 8}, "no lora_alpha for"),
        ({}, {"lora_alpha": 8, "alpha_pattern": {"(": 1}}, "alpha_pattern"),
    ],
)
def test_files_that_are_no_adapters(change: dict[str, Array], config: Any, told: str) -> None:
    with pytest.raises(DiagnosticError, match="DSL0799") as found:
        read_adapters(trained() | change, config)
    assert told in str(found.value)


def test_adapters_that_are_not_the_models() -> None:
    def refused(tensors: dict[str, Array], name: str, a: Array, b: Array) -> str:
        adapters = read_adapters(
            {f"{name}.lora_A.weight": a, f"{name}.lora_B.weight": b}, None, scale=1
        )
        with pytest.raises(DiagnosticError) as found:
            merge_adapters(tensors, adapters)
        return str(found.value) + str(found.value.diagnostics[0].hint)

    a, b = normal(L, K), normal(R, L)
    assert "is compressed" in refused(model(), UP, a, b)
    assert f"did you mean {QUERY}?" in refused(model(), QUERY[:-1], a, b)
    assert "take the compressed" in refused({f"{UP}.weight": normal(R, K)}, f"{UP}.u", a, b)
    assert "DSL0797" in refused(model(), f"{UP}.u", b.T, a.T)
    assert "DSL0797" in refused(model(), f"{UP}.u", a, normal(R, L + 1))
    codes = {"q.weight": np.zeros((R, K), np.uint8)}
    assert "nothing is added to codes" in refused(codes, "q", a, b)
    with pytest.raises(DiagnosticError, match="DSL0799"):
        read_adapters({}, None, scale=1)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, folder = tmp_path / "m.safetensors", tmp_path / "adapters"
    folder.mkdir()
    tensors, adapters = model(), trained()
    write_safetensors(path, tensors, {"dslc.compress": "{}"})
    write_safetensors(folder / "adapter_model.safetensors", adapters)
    assert run(["compress", str(path), "--lora", str(folder)]) == 2
    assert "there is no adapter_config.json" in capsys.readouterr().err
    (folder / "adapter_config.json").write_text(json.dumps({"lora_alpha": 8}))
    assert run(["compress", str(path), "--lora", str(folder)]) == 0
    assert f"{UP}.u" in capsys.readouterr().out
    made = read_safetensors(tmp_path / "m-merged.safetensors")
    want, _ = merge_adapters(tensors, read_adapters(adapters, {"lora_alpha": 8}))
    assert all(np.array_equal(made[name], tensor) for name, tensor in want.items())
    assert set(json.loads(made.metadata["dslc.lora"])) == {
        f"{UP}.u",
        f"{UP}.v",
        f"{QUERY}.weight",
    }
    assert "dslc.compress" in made.metadata
    wrong = (
        [],
        ["--ratio", "0.2", "--lora", str(folder)],
        ["--lora", str(folder), "--block", "64"],
        ["--ratio", "0.2", "--lora-scale", "2"],
    )
    assert [run(["compress", str(path), *options]) for options in wrong] == [2] * 4
