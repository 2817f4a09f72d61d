"""Attention of the library: small calls of its kernels, and what they mean in NumPy and f64."""

from __future__ import annotations

from typing import NamedTuple

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from std.kernels import Array, Trial, case, half, softmax_of, wide

Wide = NDArray[np.float64]
Args = dict[str, object]
SLOPES = np.array([0.5, 0.25, 0.125, 0.0625], np.float32)
SINKS = np.array([0.5, -1.0, 2.0, 0.0], np.float32)


class Options(NamedTuple):
    """What a call may add to attention."""

    window: int | None = None
    cap: float | None = None
    slopes: Array | None = None
    sinks: Array | None = None
    causal: bool = True

    def args(self) -> Args:
        """Those that a call names."""
        named = {"window": self.window, "cap": self.cap, "slopes": self.slopes, "sinks": self.sinks}
        return {name: value for name, value in named.items() if value is not None}


PLAIN, ALL = Options(), Options(20, 3.0, SLOPES, SINKS)


class Parts(NamedTuple):
    """Attention of one sequence: the results, and the pieces of the gradient."""

    o: Wide
    lse: Wide
    p: Wide
    steepness: Wide


def attend(q: Array, k: Array, v: Array, scale: float, how: Options = PLAIN) -> Parts:
    """Of q [S, HQ, D], k [L, HK, D] and v [L, HK, V], the last query standing at the last key."""
    group = q.shape[1] // k.shape[1]
    keys, values = np.repeat(wide(k), group, 1), np.repeat(wide(v), group, 1)
    x = np.einsum("shd,lhd->hsl", wide(q), keys) * scale
    gap = np.arange(len(q))[:, None] + len(k) - len(q) - np.arange(len(k))
    steepness = np.ones_like(x)
    if how.cap is not None:
        steepness = 1 - np.tanh(x / how.cap) ** 2
        x = how.cap * np.tanh(x / how.cap)
    if how.slopes is not None:
        x = x - how.slopes[:, None, None] * np.abs(gap)
    hidden = (gap < 0) & how.causal
    if how.window is not None:
        hidden |= np.abs(gap) >= how.window
    x = np.where(hidden, -np.inf, x)
    sink = np.full((q.shape[1], len(q), 1), -np.inf)
    if how.sinks is not None:
        sink[:] = how.sinks[:, None, None]
    p = softmax_of(np.concatenate([x, sink], -1))[..., :-1]
    lse = np.logaddexp(np.logaddexp.reduce(x, -1), sink[..., 0])
    return Parts(np.einsum("hsl,lhd->shd", p, values), lse.T, p, steepness)


def codes(x: Array, dtype: object, most: float) -> tuple[Array, Array, Wide]:
    """Codes, their scales over the last axis, and the numbers that they mean."""
    scale = (np.abs(wide(x)).max(-1) / most).astype(np.float32)
    q = wide(x) / scale[..., None]
    q = np.round(q) if np.issubdtype(np.dtype(dtype), np.integer) else q
    q = q.astype(dtype)
    return q, scale, wide(q) * scale[..., None]


def batches(parts: list[Parts]) -> dict[str, Wide]:
    return {"o": np.stack([p.o for p in parts]), "lse": np.stack([p.lse for p in parts])}


@case
def attention__attention(rng: np.random.Generator) -> Trial:
    q, k, v = half(rng, 2, 5, 4, 16), half(rng, 2, 9, 2, 16), half(rng, 2, 9, 2, 16)
    past = np.array([4, 2], np.int32)
    parts = [attend(q[b], k[b, : past[b] + 5], v[b, : past[b] + 5], 0.25) for b in range(2)]
    args = {"q": q, "k": k, "v": v, "past": past, "scale": 0.25}
    return Trial(args, {"o": batches(parts)["o"]})


SMALL = {"BS": 16, "BL": 32}


@case
def attention__attention__all(rng: np.random.Generator) -> Trial:
    q, k, v = half(rng, 2, 5, 4, 16), half(rng, 2, 70, 2, 16), half(rng, 2, 70, 2, 16)
    past = np.array([50, 3], np.int32)
    parts = [attend(q[b], k[b, : past[b] + 5], v[b, : past[b] + 5], 0.25, ALL) for b in range(2)]
    args = {"q": q, "k": k, "v": v, "past": past, "scale": 0.25, **ALL.args()}
    return Trial(args, batches(parts), {}, SMALL)


@case
def attention__attention__bytes(rng: np.random.Generator) -> Trial:
    q, k, v = half(rng, 2, 5, 4, 16), half(rng, 2, 60, 2, 16), half(rng, 2, 60, 2, 16)
    (k8, ks, keys), (v8, vs, values) = codes(k, np.int8, 127), codes(v, np.int8, 127)
    # The last queries of the first sequence see none of the first block of keys that is visited.
    past = np.array([50, 3], np.int32)
    how = Options(20, slopes=SLOPES, causal=False)
    ends = past + 5
    parts = [attend(q[b], keys[b, : ends[b]], values[b, : ends[b]], 0.25, how) for b in range(2)]
    args = {"q": q, "k": k8, "v": v8, "past": past, "scale": 0.25, "ks": ks, "vs": vs, **how.args()}
    return Trial(args, {"o": batches(parts)["o"]}, {"KV_TYPE": "i8", "CAUSAL": 0}, SMALL)


STARTS, KEY_STARTS = np.array([0, 3, 3, 21], np.int32), np.array([0, 40, 44, 62], np.int32)


def packed(rng: np.random.Generator, how: Options) -> tuple[dict[str, Array], list[Parts]]:
    """Three sequences, one behind another; the second has no queries."""
    rows = {"q": half(rng, 21, 4, 16), "k": half(rng, 62, 2, 16), "v": half(rng, 62, 2, 24)}
    return rows, by_sequence(**rows, how=how)


def by_sequence(q: Array, k: Array, v: Array, how: Options) -> list[Parts]:
    own = [slice(*STARTS[e : e + 2]) for e in range(3)]
    keys = [slice(*KEY_STARTS[e : e + 2]) for e in range(3)]
    return [attend(q[i], k[j], v[j], 0.25, how) for i, j in zip(own, keys, strict=True)]


def ends(longest: int = 18) -> Args:
    return {"starts": STARTS, "key_starts": KEY_STARTS, "longest": longest, "scale": 0.25}


def joined(parts: list[Parts]) -> dict[str, Wide]:
    return {
        "o": np.concatenate([p.o for p in parts]),
        "lse": np.concatenate([p.lse for p in parts]),
    }


@case
def attention__attention_varlen(rng: np.random.Generator) -> Trial:
    rows, parts = packed(rng, PLAIN)
    return Trial({**rows, **ends()}, {"o": joined(parts)["o"]}, {}, SMALL)


@case
def attention__attention_varlen__all(rng: np.random.Generator) -> Trial:
    rows, parts = packed(rng, ALL)
    return Trial({**rows, **ends(), **ALL.args()}, joined(parts), {}, SMALL)


@case
def attention__attention_varlen__nibbles(rng: np.random.Generator) -> Trial:
    q = half(rng, 21, 4, 16)
    (k4, ks, keys), (v4, vs, values) = (codes(half(rng, 62, 2, n), np.int8, 7) for n in (16, 24))
    parts = by_sequence(q, keys, values, PLAIN)
    args = {
        "q": q,
        "k": (k4 + 8).astype(np.uint8),
        "v": (v4 + 8).astype(np.uint8),
        "ks": ks,
        "vs": vs,
    }
    return Trial({**args, **ends()}, {"o": joined(parts)["o"]}, {"KV_TYPE": "u4", "ZERO": 8}, SMALL)


def paged(x: Array, pages: list[int], length: int) -> Array:
    return x[pages].reshape(-1, *x.shape[2:])[:length]


@case
def attention__paged_decode(rng: np.random.Generator) -> Trial:
    q, k, v = half(rng, 2, 8, 16), half(rng, 5, 16, 2, 16), half(rng, 5, 16, 2, 16)
    pages, lengths = np.array([[3, 0, 0], [4, 1, 2]], np.int32), np.array([7, 40], np.int32)
    o = [
        attend(q[b, None], *(paged(x, pages[b], lengths[b]) for x in (k, v)), 0.25).o
        for b in (0, 1)
    ]
    args = {"q": q, "k": k, "v": v, "pages": pages, "lengths": lengths, "scale": 0.25}
    return Trial(args, {"o": np.concatenate(o)}, {"GROUP": 4})


@case
def attention__paged_decode__all(rng: np.random.Generator) -> Trial:
    q, k, v = half(rng, 2, 4, 16), half(rng, 5, 16, 2, 16), half(rng, 5, 16, 2, 16)
    k8, ks, keys = codes(k, ml_dtypes.float8_e4m3fn, 440)
    v8, vs, values = codes(v, ml_dtypes.float8_e4m3fn, 440)
    pages, lengths = np.array([[3, 0, 0], [4, 1, 2]], np.int32), np.array([7, 40], np.int32)
    parts = [
        attend(q[b, None], *(paged(x, pages[b], lengths[b]) for x in (keys, values)), 0.25, ALL)
        for b in (0, 1)
    ]
    args = {"q": q, "k": k8, "v": v8, "pages": pages, "lengths": lengths, "scale": 0.25}
    args |= {"ks": ks, "vs": vs, **ALL.args()}
    return Trial(args, joined(parts), {"GROUP": 2, "KV_TYPE": "f8e4m3"})


@case
def attention__mla_decode(rng: np.random.Generator) -> Trial:
    q, c = half(rng, 2, 5, 48), half(rng, 5, 16, 48)
    pages, lengths = np.array([[3, 0, 0], [4, 1, 2]], np.int32), np.array([7, 40], np.int32)
    parts = []
    for b in (0, 1):
        keys = paged(c, pages[b], lengths[b])[:, None, :]
        parts.append(attend(q[b, None], keys, keys[..., :32], 0.25))
    args = {"q": q, "c": c, "pages": pages, "lengths": lengths, "scale": 0.25}
    return Trial(args, joined(parts), {"PAGE": 16})


def gradients(
    rows: dict[str, Array], parts: list[Parts], grad: Array, how: Options
) -> dict[str, Wide]:
    """dq, dk, dv, delta and dsinks of packed sequences."""
    made = {n: np.zeros(rows[n[1]].shape) for n in ("dq", "dk", "dv")}
    delta = np.einsum("shd,shd->sh", joined(parts)["o"], wide(grad))
    for e, part in enumerate(parts):
        own, keys = slice(*STARTS[e : e + 2]), slice(*KEY_STARTS[e : e + 2])
        k, v = (np.repeat(wide(rows[n][keys]), 2, 1) for n in "kv")
        dp = np.einsum("shd,lhd->hsl", wide(grad[own]), v)
        ds = part.p * (dp - delta[own].T[..., None]) * part.steepness * 0.25
        made["dq"][own] = np.einsum("hsl,lhd->shd", ds, k)
        dk = np.einsum("hsl,shd->lhd", ds, wide(rows["q"][own]))
        dv = np.einsum("hsl,shd->lhd", part.p, wide(grad[own]))
        for name, d in (("dk", dk), ("dv", dv)):
            made[name][keys] = d.reshape(len(d), 2, 2, -1).sum(2)
    made["delta"] = delta
    if how.sinks is not None:
        made["dsinks"] = -(np.exp(how.sinks - joined(parts)["lse"]) * delta).sum(0)
    return made


def backward(
    rng: np.random.Generator, how: Options, longest: int
) -> tuple[dict[str, object], dict[str, Wide]]:
    rows, parts = packed(rng, how)
    grad = half(rng, 21, 4, 24)
    forward = joined(parts)
    wanted = gradients(rows, parts, grad, how)
    args = {**rows, "o": forward["o"].astype(np.float16), "grad": grad, **ends(longest)}
    args |= {"lse": forward["lse"].astype(np.float32), "delta": wanted["delta"].astype(np.float32)}
    return args | how.args(), wanted


def of(table: Args, *left_out: str) -> Args:
    return {name: value for name, value in table.items() if name not in left_out}


@case
def attention_backward__queries_backward(rng: np.random.Generator) -> Trial:
    args, wanted = backward(rng, PLAIN, 18)
    return Trial(of(args, "delta"), {n: wanted[n] for n in ("dq", "delta")}, {}, SMALL)


@case
def attention_backward__queries_backward__all(rng: np.random.Generator) -> Trial:
    args, wanted = backward(rng, ALL, 18)
    args["dsinks"] = np.zeros(4, np.float32)
    return Trial(of(args, "delta"), {n: wanted[n] for n in ("dq", "delta", "dsinks")}, {}, SMALL)


@case
def attention_backward__keys_backward(rng: np.random.Generator) -> Trial:
    args, wanted = backward(rng, PLAIN, 40)
    return Trial(of(args, "o"), {n: wanted[n] for n in ("dk", "dv")}, {}, {"BL": 16, "BS": 32})


@case
def attention_backward__keys_backward__all(rng: np.random.Generator) -> Trial:
    args, wanted = backward(rng, ALL, 40)
    args = of(args, "o", "sinks")
    return Trial(args, {n: wanted[n] for n in ("dk", "dv")}, {}, {"BL": 16, "BS": 32})
