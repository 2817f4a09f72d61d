"""Tokens a second of language models' shapes with random weights.

    python tests/benchmarks/models/run.py                                     Llama-3.2-1B's, on the CPU
    python tests/benchmarks/models/run.py --target cuda --dtype bf16 --json out.json
    python tests/benchmarks/models/run.py --layers 2 --quantize u4:32 --prompt 256 --tokens 32

The checkpoint is written to a temporary folder in bf16. A run is warmed up by a prompt and tokens of
the same lengths, so that nothing is compiled in what is timed.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from dslc.models import Model, open_model
from dslc.runtime.safetensors_writing import write_safetensors

SHAPES = {
    "llama-3.2-1b": {
        "model_type": "llama",
        "hidden_size": 2048,
        "intermediate_size": 8192,
        "num_hidden_layers": 16,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "head_dim": 64,
        "vocab_size": 128256,
        "rms_norm_eps": 1e-5,
        "rope_theta": 500000.0,
        "max_position_embeddings": 131072,
        "tie_word_embeddings": True,
    },
    "llama-3.1-8b": {
        "model_type": "llama",
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "vocab_size": 128256,
        "rms_norm_eps": 1e-5,
        "rope_theta": 500000.0,
        "max_position_embeddings": 131072,
        "tie_word_embeddings": False,
    },
}


def write_random(folder: Path, config: dict[str, Any]) -> None:
    """A checkpoint of these sizes; equal shapes share their numbers, which cost time to draw."""
    rng = np.random.default_rng(0)
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    q = config["num_attention_heads"] * config["head_dim"]
    kv = config["num_key_value_heads"] * config["head_dim"]
    drawn: dict[tuple[int, int], np.ndarray] = {}

    def matrix(n: int, k: int) -> np.ndarray:
        if (n, k) not in drawn:
            values = rng.standard_normal((n, k), dtype=np.float32) * np.float32(k**-0.5)
            drawn[n, k] = values.astype(ml_dtypes.bfloat16)
        return drawn[n, k]

    one = np.ones(hidden, ml_dtypes.bfloat16)
    tensors = {"model.embed_tokens.weight": matrix(config["vocab_size"], hidden)}
    tensors["model.norm.weight"] = one
    if not config["tie_word_embeddings"]:
        tensors["lm_head.weight"] = tensors["model.embed_tokens.weight"]
    for i in range(config["num_hidden_layers"]):
        at = f"model.layers.{i}"
        for name, shape in {
            "self_attn.q_proj": (q, hidden),
            "self_attn.k_proj": (kv, hidden),
            "self_attn.v_proj": (kv, hidden),
            "self_attn.o_proj": (hidden, q),
            "mlp.gate_proj": (inner, hidden),
            "mlp.up_proj": (inner, hidden),
            "mlp.down_proj": (hidden, inner),
        }.items():
            tensors[f"{at}.{name}.weight"] = matrix(*shape)
        tensors[f"{at}.input_layernorm.weight"] = one
        tensors[f"{at}.post_attention_layernorm.weight"] = one
    write_safetensors(folder / "model.safetensors", tensors)
    (folder / "config.json").write_text(json.dumps(config))


def timed(model: Model, prompt: int, tokens: int) -> tuple[float, float]:
    """Seconds of a prompt, and of a token after it."""
    ids = (np.arange(prompt) * 7 % model.config.vocabulary).tolist()
    begin = time.perf_counter()
    model.decoder(ids, 0)
    model.decoder.choose(prompt)
    middle = time.perf_counter()
    for _ in range(tokens):
        model.decoder.next()
    return middle - begin, (time.perf_counter() - middle) / tokens


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--shape", choices=SHAPES, default="llama-3.2-1b")
    parser.add_argument("--target", default="cpu")
    parser.add_argument("--dtype", default="f32")
    parser.add_argument("--quantize", nargs="*", default=["", "u4:32"], help="'' is none")
    parser.add_argument("--layers", type=int)
    parser.add_argument("--prompt", type=int, default=256)
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    config = dict(SHAPES[options.shape])
    if options.layers:
        config["num_hidden_layers"] = options.layers
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        write_random(Path(folder), config)
        for quantize in options.quantize:
            length = options.prompt + options.tokens
            begin = time.perf_counter()
            model = open_model(
                folder, options.target, dtype=options.dtype, length=length, quantize=quantize
            )
            load = time.perf_counter() - begin
            timed(model, options.prompt, options.tokens)
            runs = [timed(model, options.prompt, options.tokens) for _ in range(options.runs)]
            prefill, step = (sorted(r[i] for r in runs)[len(runs) // 2] for i in (0, 1))
            row = {
                "shape": options.shape,
                "layers": config["num_hidden_layers"],
                "target": options.target,
                "dtype": options.dtype,
                "quantize": quantize,
                "load_s": load,
                "prompt_tokens_a_second": options.prompt / prefill,
                "tokens_a_second": 1 / step,
                "runs": runs,
            }
            rows.append(row)
            print(
                f"{quantize or options.dtype:8} load {load:6.1f} s, prompt of {options.prompt} "
                f"{row['prompt_tokens_a_second']:8.1f} tokens a second, then {1 / step:7.1f}",
                flush=True,
            )
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
