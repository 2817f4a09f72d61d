"""Losses: arguments and meaning."""

from __future__ import annotations

import numpy as np

from corpus.cases import Array, Family, Generator, Trial, f64, normal, softmax

case = Family("losses")


def entropy(logits: Array, target: Array) -> tuple[Array, Array]:
    """Losses of rows and their gradients."""
    p = softmax(f64(logits))
    chosen = np.eye(logits.shape[1])[target]
    return -np.log((p * chosen).sum(1)), p - chosen


@case()
def cross_entropy(rng: Generator) -> Trial:
    logits, target = normal(rng, 6, 201) * 3, np.array([0, 200, 7, -100, 64, 63], np.int32)
    loss, grad = entropy(logits, target)
    counts = target != -100
    wanted = {"loss": loss * counts, "logits": grad * counts[:, None]}
    return Trial({"logits": logits, "target": target, "ignore": -100}, wanted)


@case()
def softmax_cross_entropy_rows(rng: Generator) -> Trial:
    logits, target = normal(rng, 5, 300), rng.integers(0, 300, 5).astype(np.int32)
    loss, grad = entropy(logits, target)
    return Trial({"logits": logits, "target": target}, {"loss": loss, "logits": grad})


@case(near=1e-4)
def fused_linear_cross_entropy(rng: Generator) -> Trial:
    h, w = normal(rng, 21, 72, dtype=np.float16), normal(rng, 75, 72, dtype=np.float16)
    target = rng.integers(0, 75, 21).astype(np.int32)
    loss, _ = entropy(f64(h) @ f64(w).T, target)
    return Trial({"h": h, "w": w, "target": target}, {"loss": loss})


@case()
def kl_divergence(rng: Generator) -> Trial:
    logp = np.log(softmax(normal(rng, 6, 150)))
    q = softmax(normal(rng, 6, 150) * 4)
    q[:, ::5] = 0
    terms = np.where(q > 0, f64(q) * (np.log(np.where(q > 0, f64(q), 1)) - logp), 0)
    return Trial({"logp": logp, "q": q}, {"loss": terms.sum(1), "grad": -f64(q)})


@case()
def jensen_shannon(rng: Generator) -> Trial:
    logp, logq = (np.log(softmax(normal(rng, 3, 100))) for _ in range(2))
    p, q, beta = np.exp(f64(logp)), np.exp(f64(logq)), 0.3
    mix = beta * p + (1 - beta) * q
    loss = beta * (p * np.log(p / mix)).sum(1) + (1 - beta) * (q * np.log(q / mix)).sum(1)
    wanted = {"loss": loss, "grad": (1 - beta) * q * np.log(q / mix)}
    return Trial({"logp": logp, "logq": logq, "beta": beta}, wanted)


@case()
def huber_mean(rng: Generator) -> Trial:
    x, y = normal(rng, 1000), normal(rng, 1000) * 3
    d = np.abs(f64(x) - y)
    wanted = np.where(d <= 1.5, d * d / 2, 1.5 * d - 1.125).mean()
    args = {"x": x, "y": y, "delta": 1.5, "total": np.zeros(1, np.float32)}
    return Trial(args, {"total": np.array([wanted])})


@case()
def contrastive(rng: Generator) -> Trial:
    a, b = normal(rng, 17, 40), normal(rng, 23, 40)
    unit = [f64(x) / np.linalg.norm(f64(x), axis=1, keepdims=True) for x in (a, b)]
    return Trial({"a": a, "b": b, "heat": 0.07}, {"logits": unit[0] @ unit[1].T / 0.07})
