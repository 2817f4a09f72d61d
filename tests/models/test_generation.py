"""A small model in NumPy beside the same in kernels, in pieces and token by token; sampling."""

from __future__ import annotations

import json
from pathlib import Path

import dslc
import numpy as np
import pytest
from dslc.cli.main import COMMANDS, run
from dslc.compiler.diagnostics import DiagnosticError
from dslc.models import Sampling, open_model, read_config
from dslc.models.kernel_sources import KERNELS
from dslc.models.rotation import Rotation
from dslc.models.sampling import choose
from safetensors.numpy import load_file, save_file

CONFIG = {
    "model_type": "qwen3",
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "vocab_size": 50,
    "rms_norm_eps": 1e-6,
    "rope_theta": 10000.0,
    "max_position_embeddings": 64,
    "tie_word_embeddings": True,
    "eos_token_id": 49,
}


def by_numpy(folder: Path, ids: list[int]) -> np.ndarray:
    """The logits after each token, in f64."""
    w = {k: v.astype(np.float64) for k, v in load_file(folder / "model.safetensors").items()}

    def norm(x: np.ndarray, g: np.ndarray) -> np.ndarray:
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * g

    angle = np.outer(np.arange(len(ids)), 10000.0 ** -(np.arange(8) / 8))[:, None]

    def turn(x: np.ndarray) -> np.ndarray:
        a, b = x[..., :8], x[..., 8:]
        c, s = np.cos(angle), np.sin(angle)
        return np.concatenate([a * c - b * s, b * c + a * s], -1)

    x = w["model.embed_tokens.weight"][ids]
    for i in range(2):
        at = f"model.layers.{i}."
        n = norm(x, w[at + "input_layernorm.weight"])
        q, k, v = (
            (n @ w[f"{at}self_attn.{p}_proj.weight"].T).reshape(len(ids), -1, 16) for p in "qkv"
        )
        q = turn(norm(q, w[at + "self_attn.q_norm.weight"])).reshape(len(ids), 2, 2, 16)
        k = turn(norm(k, w[at + "self_attn.k_norm.weight"]))
        scores = np.einsum("sjgd,ljd->jgsl", q, k) / 4
        scores = np.where(np.tri(len(ids), dtype=bool), scores, -np.inf)
        p = np.exp(scores - scores.max(-1, keepdims=True))
        o = np.einsum("jgsl,ljd->sjgd", p / p.sum(-1, keepdims=True), v).reshape(len(ids), -1)
        x = x + o @ w[at + "self_attn.o_proj.weight"].T
        n = norm(x, w[at + "post_attention_layernorm.weight"])
        g = n @ w[at + "mlp.gate_proj.weight"].T
        inner = g / (1 + np.exp(-g)) * (n @ w[at + "mlp.up_proj.weight"].T)
        x = x + inner @ w[at + "mlp.down_proj.weight"].T
    return norm(x, w["model.norm.weight"]) @ w["model.embed_tokens.weight"].T


def test_prompts_in_pieces_and_tokens_one_by_one_give_the_same_logits(folder: Path) -> None:
    ids = np.random.default_rng(0).integers(0, 50, 36).tolist()
    expected = by_numpy(folder, ids)
    model = open_model(folder, "interp", length=40)
    for count in (1, 15, 33):
        np.testing.assert_allclose(model.logits(ids[:count]), expected[count - 1], atol=3e-5)
    for position in range(33, 36):
        np.testing.assert_allclose(
            model.logits([ids[position]], position), expected[position], atol=3e-5
        )


def test_generation_goes_on_with_the_likeliest_token(folder: Path) -> None:
    model = open_model(folder, "interp", length=40)
    ids, found = [3, 5], list(model.generate([3, 5], 6))
    for token in found:
        assert token == by_numpy(folder, ids)[-1].argmax()
        ids.append(token)
    assert model.times.new_tokens == len(found) == 6
    assert list(model.generate([3, 5], 6)) == found  # the caches are begun anew


def test_weights_may_be_rounded_when_they_are_loaded(folder: Path) -> None:
    exact = by_numpy(folder, [3, 5, 7])[-1]
    errors = []
    for quantize in ("u3:16", "i8:32"):
        found = open_model(folder, "interp", length=40, quantize=quantize).logits([3, 5, 7])
        errors.append(np.abs(found - exact).max() / np.abs(exact).max())
    assert 2e-2 < errors[0] < 1
    assert 1e-4 < errors[1] < 3e-2
    for wrong in ("u4", "q4:32", "u4:x", "u4:0"):
        with pytest.raises(DiagnosticError, match="DSL0790"):
            open_model(folder, "interp", quantize=wrong)


@pytest.mark.parametrize(("ids", "count"), [([], 1), ([1], 40), ([50], 1), ([-1], 1)])
def test_a_prompt_that_does_not_fit_is_refused(folder: Path, ids: list[int], count: int) -> None:
    with pytest.raises(DiagnosticError, match="DSL0788"):
        next(open_model(folder, "interp", length=40).generate(ids, count))


def test_the_command_prints_tokens_and_times(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "generate" in COMMANDS
    assert run(["generate", str(folder), "--ids", "3,5", "-n", "4", "-t", "interp"]) == 0
    out, err = capsys.readouterr()
    assert len(out.strip().split(",")) == 4
    assert "prompt 2 tokens" in err
    command = ["generate", str(folder), "--ids", "3,5", "--ids", "7", "-n", "3", "-t", "interp"]
    assert run(command) == 0
    out, err = capsys.readouterr()
    assert [len(line.split(",")) for line in out.split()] == [3, 3]
    assert "2 prompts 3 tokens" in err
    assert run(["generate", str(folder), "-p", "text"]) != 0
    assert "DSL0789" in capsys.readouterr().err
    assert run(["generate", str(folder), "--prompts", str(folder / "model.safetensors")]) != 0
    assert "DSL0789" in capsys.readouterr().err
    assert run(["generate", str(folder), "-p", "text", "--ids", "3"]) != 0
    assert "say -p TEXT" in capsys.readouterr().err


def test_sampling_draws_from_the_tokens_that_it_may() -> None:
    logits = np.log(np.array([0.5, 0.3, 0.15, 0.05], np.float32))
    rng = np.random.default_rng(0)

    def drawn(sampling: Sampling) -> set[int]:
        return {choose(logits, sampling, rng) for _ in range(300)}

    assert drawn(Sampling()) == {0}
    assert drawn(Sampling(1.0)) == {0, 1, 2, 3}
    assert drawn(Sampling(1.0, top_k=2)) == {0, 1}
    assert drawn(Sampling(1.0, top_p=0.6)) == {0, 1}
    assert drawn(Sampling(1.0, top_p=0.4)) == {0}
    counts = np.bincount([choose(logits, Sampling(1.0), rng) for _ in range(4000)]) / 4000
    np.testing.assert_allclose(counts, [0.5, 0.3, 0.15, 0.05], atol=0.03)


def test_llama_3_1_s_angles_keep_short_waves_and_stretch_long_ones() -> None:
    plain = Rotation(128, 500000.0).frequencies()
    found = Rotation(128, 500000.0, 8.0, (1.0, 4.0), 8192).frequencies()
    waves = 8192 * plain / (2 * np.pi)
    np.testing.assert_allclose(found[waves > 4], plain[waves > 4])
    np.testing.assert_allclose(found[waves < 1], plain[waves < 1] / 8)
    between = (waves > 1) & (waves < 4)
    assert between.any()
    assert ((found < plain) & (found > plain / 8))[between].all()


@pytest.mark.parametrize(
    "change",
    [
        {"model_type": "whisper"},
        {"hidden_size": None},
        {"num_experts": 8},
        {"rope_scaling": {"rope_type": "yarn"}},
    ],
)
def test_a_model_that_is_not_built_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(DiagnosticError, match="DSL0787"):
        read_config({**CONFIG, **change})


def test_the_likeliest_token_is_the_first_of_the_greatest() -> None:
    kernels = dslc.compile(KERNELS, "interp", define={"C": 2048})
    logits = np.full((1, 5000), -3.0, np.float32)
    values, at = np.empty((1, 3), np.float32), np.empty((1, 3), np.int32)
    token, start = np.empty(1, np.int32), np.array([6], np.int32)
    for number, greatest in enumerate(([4999], [2047, 2048, 4100], [0])):
        logits[:] = -3.0
        logits[0, greatest] = -1.0
        kernels.likeliest(logits, values, at)
        kernels.next_token(values, at, token, start)
        assert (token[0], start[0]) == (greatest[0], 7 + number)


def test_unlike_projections_are_multiplied_one_by_one(folder: Path, tmp_path: Path) -> None:
    ids = [3, 5, 7]
    whole = open_model(folder, "interp", length=40).logits(ids)
    copy = {k: v.copy() for k, v in load_file(folder / "model.safetensors").items()}
    for i in range(2):
        for part in ("self_attn.k_proj", "mlp.up_proj"):
            name = f"model.layers.{i}.{part}.weight"
            copy[name] = copy[name].astype(np.float16)
    save_file(copy, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    model = open_model(tmp_path, "interp", length=40)
    np.testing.assert_allclose(model.logits(ids), whole, atol=5e-3)
    kernels = [step.dims["N"] for step in model.decoder.plan.rows(1) if "linear" in step.kernel]
    assert len(kernels) == 2 * 7


@pytest.mark.gpu
@pytest.mark.parametrize("quantize", ["", "u4:16"])
def test_a_gpu_s_tokens_are_those_of_its_logits(folder: Path, quantize: str) -> None:
    model = open_model(folder, "cuda", length=40, quantize=quantize)
    tokens = list(model.generate([3, 5, 7], 12))
    for number, token in enumerate(tokens):
        ids = [3, 5, 7, *tokens[:number]]
        assert token == model.logits(ids).argmax()


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["f32", "bf16"])
@pytest.mark.parametrize("quantize", ["", "u4:32", "i8:16"])
def test_a_gpu_gives_the_interpreter_s_logits(folder: Path, dtype: str, quantize: str) -> None:
    ids = np.random.default_rng(0).integers(0, 50, 36).tolist()
    found, wanted = (
        open_model(folder, target, length=40, dtype=dtype, quantize=quantize)
        for target in ("cuda", "interp")
    )
    atol = 2e-4 if dtype == "f32" else 0.15
    np.testing.assert_allclose(found.logits(ids[:33]), wanted.logits(ids[:33]), atol=atol)
    for position in range(33, 36):
        token = [ids[position]]
        np.testing.assert_allclose(
            found.logits(token, position), wanted.logits(token, position), atol=atol
        )
