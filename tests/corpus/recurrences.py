"""Along a sequence: arguments and meaning."""

from __future__ import annotations

import numpy as np

from corpus.cases import Family, Generator, Trial, f64, normal, sigmoid

case = Family("recurrences")


@case(near=1e-4)
def selective_scan(rng: Generator) -> Trial:
    s, c, n = 13, 21, 8
    u, dt, a = normal(rng, s, c), rng.random((s, c), "f4"), -rng.random((c, n), "f4")
    b, out, d = normal(rng, s, n), normal(rng, s, n), normal(rng, c)
    state, y = np.zeros((c, n)), []
    for i in range(s):
        state = np.exp(dt[i][:, None] * f64(a)) * state + np.outer(f64(dt[i]) * u[i], b[i])
        y.append(state @ f64(out[i]) + d * u[i])
    return Trial({"u": u, "dt": dt, "a": a, "b": b, "c": out, "d": d}, {"y": np.array(y)})


@case(near=1e-4)
def chunk_scan(rng: Generator) -> Trial:
    s, p, n = 40, 8, 16
    x, decay, b, c = normal(rng, s, p), -rng.random(s, "f4"), normal(rng, s, n), normal(rng, s, n)
    state, y = np.zeros((n, p)), []
    for i in range(s):
        state = np.exp(f64(decay[i : i + 1])) * state + np.outer(f64(b[i]), x[i])
        y.append(c[i] @ state)
    return Trial({"x": x, "decay": decay, "b": b, "c": c}, {"y": np.array(y)})


@case(near=1e-4)
def gated_delta_rule(rng: Generator) -> Trial:
    q, k, v = normal(rng, 11, 16), normal(rng, 11, 16), normal(rng, 11, 16)
    k /= np.linalg.norm(k, axis=1, keepdims=True)
    gate, beta = -rng.random(11, "f4"), rng.random(11, "f4")
    state, o = np.zeros((16, 16)), []
    for i in range(11):
        kept = np.exp(f64(gate)[i]) * (np.eye(16) - beta[i] * np.outer(f64(k[i]), k[i])) @ state
        state = kept + beta[i] * np.outer(f64(k[i]), v[i])
        o.append(q[i] @ state)
    return Trial({"q": q, "k": k, "v": v, "gate": gate, "beta": beta}, {"o": np.array(o)})


@case(near=4e-3)
def linear_attention(rng: Generator) -> Trial:
    q, k, v = (normal(rng, 45, 16, dtype=np.float16) / 2 for _ in range(3))
    gap = np.arange(45)[:, None] - np.arange(45)
    weight = np.where(gap >= 0, 0.9 ** np.maximum(gap, 0), 0)
    return Trial(
        {"q": q, "k": k, "v": v, "decay": 0.9}, {"o": (f64(q) @ f64(k).T * weight) @ f64(v)}
    )


def convolved(rng: Generator, c: int, s: int) -> Trial:
    x, w, b = normal(rng, c, s), normal(rng, c, 4), normal(rng, c)
    full = [np.convolve(f64(row), f64(taps)[::-1])[:s] for row, taps in zip(x, w, strict=True)]
    y = np.array(full) + b[:, None]
    return Trial({"x": x, "w": w, "b": b}, {"y": y * sigmoid(y)})


@case()
def causal_conv1d(rng: Generator) -> Trial:
    return convolved(rng, 11, 45)


@case("causal_conv1d of one", kernel="causal_conv1d")
def one_step(rng: Generator) -> Trial:
    return convolved(rng, 1, 1)


@case(near=4e-3)
def conv1d_step(rng: Generator) -> Trial:
    x, state, w = (normal(rng, *s, dtype=np.float16) for s in ((3, 50), (3, 50, 3), (50, 4)))
    seen = np.concatenate([f64(state), f64(x)[..., None]], 2)
    wanted = {"y": (seen * f64(w)).sum(2), "state": seen[..., 1:]}
    return Trial({"x": x, "state": state, "w": w}, wanted)


@case()
def prefix_sum(rng: Generator) -> Trial:
    x = rng.integers(-99, 99, 301).astype(np.int32)
    return Trial({"x": x}, {"y": np.cumsum(x)})


@case("prefix_sum of one", kernel="prefix_sum")
def one_number(rng: Generator) -> Trial:
    x = np.array([-7], np.int32)
    return Trial({"x": x}, {"y": x})


@case()
def decoupled_scan(rng: Generator) -> Trial:
    x = rng.integers(-99, 99, 150).astype(np.int32)
    y = np.cumsum(x)
    args = {"x": x, "sums": np.zeros(5, np.int32), "ready": np.zeros(5, np.int32)}
    return Trial(args, {"y": y, "sums": np.append(y[31::32], y[-1]), "ready": np.ones(5)})


@case()
def cumulative_maximum(rng: Generator) -> Trial:
    x = normal(rng, 9, 23)
    y = np.maximum.accumulate(f64(x), 1)
    at = (x[:, None] == y[..., None].astype("f4")).argmax(2)
    return Trial({"x": x}, {"y": y, "at": at})


@case(near=1e-4)
def gru_cell(rng: Generator) -> Trial:
    x, h, w, u = (
        normal(rng, 9, 20),
        normal(rng, 9, 24),
        normal(rng, 3, 24, 20),
        normal(rng, 3, 24, 24),
    )
    left, right = f64(x) @ f64(w).transpose(0, 2, 1), f64(h) @ f64(u).transpose(0, 2, 1)
    r, z = sigmoid(left[0] + right[0]), sigmoid(left[1] + right[1])
    y = (1 - z) * np.tanh(left[2] + r * right[2]) + z * h
    return Trial({"x": x, "h": h, "w": w, "u": u}, {"y": y})


@case()
def exponential_average(rng: Generator) -> Trial:
    x = normal(rng, 17, 45)
    y = [f64(x[0])]
    for row in x[1:]:
        y.append(0.25 * row + 0.75 * y[-1])
    return Trial({"x": x, "rate": 0.25}, {"y": np.array(y)})
