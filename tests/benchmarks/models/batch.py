"""Tokens a second of a batch of unlike lengths, and of draws, for a language model's shape.

    python tests/benchmarks/models/batch.py --target cuda --dtype bf16 --json out.json
    python tests/benchmarks/models/batch.py --layers 2 --sequences 1 4 --prompt 64 --tokens 16

Weights are random, as in run.py. Prompts have 0.5 to 1.5 times `--prompt` tokens; every size and way
runs once before it is timed. Prompts are read before the tokens of a batch are timed.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np
from dslc.models import Model, Sampling, open_model
from run import SHAPES, write_random

WAYS = {
    "likeliest": Sampling(),
    "drawn": Sampling(0.8, seed=1),
    "top-k 50, top-p 0.9": Sampling(0.8, 50, 0.9, seed=1),
}


def step_time(model: Model, sequences: int, prompt: int, tokens: int, sampling: Sampling) -> float:
    """Seconds of a step of a batch."""
    rng = np.random.default_rng(sequences)
    lengths = np.linspace(prompt // 2, prompt * 3 // 2, sequences).astype(int)
    batch = model.batch(sequences)
    for length in lengths:
        ids = rng.integers(0, model.config.vocabulary, length).tolist()
        batch.add(ids, tokens + 4, sampling)
    for _ in range(2):
        batch.step()
    begin = time.perf_counter()
    for _ in range(tokens):
        batch.step()
    return (time.perf_counter() - begin) / tokens


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--shape", choices=SHAPES, default="llama-3.2-1b")
    parser.add_argument("--target", default="cpu")
    parser.add_argument("--dtype", default="f32")
    parser.add_argument("--quantize", nargs="*", default=["", "u4:128"], help="'' is none")
    parser.add_argument("--layers", type=int)
    parser.add_argument("--sequences", type=int, nargs="*", default=[1, 4, 16, 64])
    parser.add_argument("--prompt", type=int, default=512)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    config = dict(SHAPES[options.shape])
    if options.layers:
        config["num_hidden_layers"] = options.layers
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        write_random(Path(folder), config)
        for quantize in options.quantize:
            model = open_model(
                folder,
                options.target,
                dtype=options.dtype,
                length=options.prompt * 3 // 2 + options.tokens + 8,
                quantize=quantize,
            )
            for sequences in options.sequences:
                for name, sampling in WAYS.items():
                    if name != "likeliest" and sequences not in (1, 16):
                        continue
                    step = step_time(model, sequences, options.prompt, options.tokens, sampling)
                    row = {
                        "shape": options.shape,
                        "layers": config["num_hidden_layers"],
                        "target": options.target,
                        "dtype": options.dtype,
                        "quantize": quantize,
                        "sequences": sequences,
                        "prompt": options.prompt,
                        "sampling": name,
                        "step_s": step,
                        "tokens_a_second": sequences / step,
                    }
                    rows.append(row)
                    print(
                        f"{quantize or options.dtype:8} {sequences:4} {name:20} "
                        f"{1e3 * step:8.3f} ms a step, {sequences / step:9.1f} tokens a second",
                        flush=True,
                    )
                    if options.json:
                        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
