"""A decoder layer: causal attention over rows of heads, and what comes after it in one dispatch.

`attention_input` comes before. Rows hold heads of D elements side by side, as projections write them,
so that what one dispatch writes is what the next reads: `flash_attention` and `output_ffn` for a
prompt, `decode_layer` alone for the next token, over the cache of all keys and values.
"""

from __future__ import annotations

import time

import dslc
import numpy as np
from dslc.lang import *
from gemm import gemm
from mlp import gemm_residual
from rmsnorm import rmsnorm
from swiglu import swiglu

T = f16
D, LOG2_E, BS, BL, S, Q, L, KV, H, F = dims("D LOG2_E BS BL S Q L KV H F")


@dslc.kernel(D=64, LOG2_E=1.4426950408889634, BS=[64, 16, 32], BL=[64, 32])
def flash_attention(
    q: tensor[T, S, Q], k: tensor[T, L, KV], v: tensor[T, L, KV], o: out[T, S, Q]
) -> None:
    """o = softmax(q @ k^T / sqrt(D), masked to key <= query) @ v, for each head."""
    require(Q % KV == 0)
    require(KV % D == 0)

    for h, s in parallel(range(Q // D), range(0, S, BS)):
        j = h // (Q // KV) * D  # Q // KV query heads share a key head
        queries = q[s : s + BS, h * D : h * D + D]
        position = arange(BS) + s
        factor = LOG2_E / D**0.5
        top = full(f32, [BS], -inf)
        total = zeros(f32, [BS])
        acc = zeros(f32, [BS, D])
        # Blocks of keys that no query of this turn sees are not visited.
        for l in range(0, min(s + BS, L), BL):
            scores = dot(queries, k[l : l + BL, j : j + D], transposed="b")
            scores = where(arange(BL) + l <= position[:, None], scores, -inf)
            higher = maximum(top, max(scores, 1))
            highest = higher * factor
            shrink = exp2(fma(top, factor, -highest))
            p = exp2(fma(scores, factor, -highest[:, None]))
            total = total * shrink + sum(p, 1)
            acc = acc * shrink[:, None] + dot(cast(p, T), v[l : l + BL, j : j + D])
            top = higher
        o[s : s + BS, h * D : h * D + D] = cast(acc * (1 / total)[:, None], T)


@dslc.kernel(D=64, LOG2_E=1.4426950408889634, BL=[64, 32, 128])
def attention_step(
    q: tensor[T, 1, Q],
    k: tensor[T, L, KV],
    v: tensor[T, L, KV],
    last: tensor[i32, 1],
    o: out[T, 1, Q],
) -> None:
    """The same for one query, which sees the keys 0 to last[0]; the heads of a group are its rows."""
    require(Q % KV == 0)
    require(KV % D == 0)

    for j in parallel(range(KV // D)):
        stop = last[0]
        queries = reshape(q[:, j * (Q // KV) * D : (j + 1) * (Q // KV) * D], [Q // KV, D])
        factor = LOG2_E / D**0.5
        top = full(f32, [Q // KV], -inf)
        total = zeros(f32, [Q // KV])
        acc = zeros(f32, [Q // KV, D])
        for l in range(0, L, BL):
            scores = dot(queries, k[l : l + BL, j * D : j * D + D], transposed="b")
            scores = where(arange(BL) + l <= stop, scores, -inf)
            higher = maximum(top, max(scores, 1))
            highest = higher * factor
            shrink = exp2(fma(top, factor, -highest))
            p = exp2(fma(scores, factor, -highest[:, None]))
            total = total * shrink + sum(p, 1)
            acc = acc * shrink[:, None] + dot(cast(p, T), v[l : l + BL, j * D : j * D + D])
            top = higher
        o[:, j * (Q // KV) * D : (j + 1) * (Q // KV) * D] = reshape(
            cast(acc * (1 / total)[:, None], T), [1, Q // KV * D]
        )


@dslc.program
def output_ffn(
    o: tensor[T, S, Q],
    wo: tensor[T, Q, H],
    x: tensor[T, S, H],
    g: tensor[T, H],
    wg: tensor[T, H, F],
    wu: tensor[T, H, F],
    wd: tensor[T, F, H],
    y: out[T, S, H],
) -> None:
    """y = h + swiglu(n wg, n wu) wd, n being h normalised and h = x + o wo."""
    h = buffer(T, [S, H])
    normed = buffer(T, [S, H])
    gate = buffer(T, [S, F])
    up = buffer(T, [S, F])
    hidden = buffer(T, [S, F])
    gemm_residual(o, wo, x, h)
    rmsnorm(h, g, normed)
    gemm(normed, wg, gate)
    gemm(normed, wu, up)
    swiglu(gate, up, hidden)
    gemm_residual(hidden, wd, h, y)


@dslc.program
def decode_layer(
    q: tensor[T, 1, Q],
    k: tensor[T, L, KV],
    v: tensor[T, L, KV],
    last: tensor[i32, 1],
    wo: tensor[T, Q, H],
    x: tensor[T, 1, H],
    g: tensor[T, H],
    wg: tensor[T, H, F],
    wu: tensor[T, H, F],
    wd: tensor[T, F, H],
    y: out[T, 1, H],
) -> None:
    """The layer's y for one token, whose key and value stand in row last[0] of k and v."""
    o = buffer(T, [1, Q])
    attention_step(q, k, v, last, o)
    h = buffer(T, [1, H])
    normed = buffer(T, [1, H])
    gate = buffer(T, [1, F])
    up = buffer(T, [1, F])
    hidden = buffer(T, [1, F])
    gemm_residual(o, wo, x, h)
    rmsnorm(h, g, normed)
    gemm(normed, wg, gate)
    gemm(normed, wu, up)
    swiglu(gate, up, hidden)
    gemm_residual(hidden, wd, h, y)


def main() -> None:
    """Runs a prompt and its last token on random inputs and compares with NumPy."""
    rng = np.random.default_rng(0)
    rows, hidden, heads, key_heads, inner, width = 50, 256, 4, 2, 300, 64

    def normal(*shape: int) -> np.ndarray:
        return np.asarray(rng.standard_normal(shape) / shape[0] ** 0.5, np.float16)

    x, q = (rng.standard_normal((rows, n)).astype(np.float16) for n in (hidden, heads * width))
    k, v = (rng.standard_normal((rows, key_heads * width)).astype(np.float16) for _ in "kv")
    g = rng.uniform(0.5, 1.5, hidden).astype(np.float16)
    wo, wg, wu = normal(heads * width, hidden), normal(hidden, inner), normal(hidden, inner)
    after = (g, wg, wu, normal(inner, hidden))
    o, y, token = np.empty_like(q), np.empty_like(x), np.empty_like(x[:1])
    start = time.perf_counter()
    flash_attention(q, k, v, o)
    output_ffn(o, wo, x, *after, y)
    decode_layer(q[-1:], k, v, np.array([rows - 1], np.int32), wo, x[-1:], *after, token)
    seconds = time.perf_counter() - start

    queries = q.astype(np.float32).reshape(rows, key_heads, -1, width)
    keys, values = (t.astype(np.float32).reshape(rows, key_heads, width) for t in (k, v))
    scores = np.einsum("sjgd,ljd->jgsl", queries, keys) / width**0.5
    scores = np.where(np.tri(rows, dtype=bool), scores, -np.inf)
    p = np.exp(scores - scores.max(-1, keepdims=True))
    expected = np.einsum("jgsl,ljd->sjgd", p / p.sum(-1, keepdims=True), values)
    h = x + expected.reshape(rows, -1) @ wo.astype(np.float32)
    normed = h / np.sqrt((h * h).mean(1, keepdims=True) + 1e-6) * g
    gate, up = normed @ wg.astype(np.float32), normed @ wu.astype(np.float32)
    h += gate / (1 + np.exp(-gate)) * up @ after[3].astype(np.float32)
    error = max(np.abs(y - h).max(), np.abs(token - h[-1:]).max())
    print(f"decoder layer of {x.shape}: greatest error {error:.1e}, {seconds:.3f} s")


if __name__ == "__main__":
    main()
