"""A decoder layer with all that it keeps in a machine's memory: a prompt, then the next token.

    python examples/session.py                   # on the interpreter
    python examples/session.py aie:npu2 bf16     # on the simulated NPU

A prompt takes three dispatches and a token two. The weights are written once, keys and values stay in
the cache's rows; of what a layer computes the host moves the activations alone.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import dslc
import numpy as np

FOLDER = Path(__file__).parent
D = 64  # elements of a head
KERNELS = {"attention_input": "attention_input", "flash_attention": "decoder_layer",
           "output_ffn": "decoder_layer", "decode_layer": "decoder_layer"}  # fmt: skip


class Layer:
    """One layer over a cache of `length` rows of keys and values."""

    def __init__(
        self, session: dslc.Session, number: int, weights: dict[str, Any], dtype: str, length: int
    ) -> None:
        self.session, self.number = session, number
        define = {"T": dtype}
        files = {f: dslc.compile(FOLDER / f"{f}.tile", target=session.target, define=define)
                 for f in set(KERNELS.values())}  # fmt: skip
        self.kernels = {name: files[file][name] for name, file in KERNELS.items()}
        self.weights = session.weights(("weights", number), weights)
        width = self.weights["wk"].shape[1]
        self.keys, self.values = (session.memory.empty((length, width), dtype) for _ in "kv")

    def _input(self, start: int, rows: int) -> dslc.Dispatch:
        """The projections, whose keys and values go to their rows of the cache."""
        w, stop = self.weights, start + rows
        return self.session.dispatch(
            self.kernels["attention_input"], ("input", self.number, start, rows),
            g=w["g"], wq=w["wq"], wk=w["wk"], wv=w["wv"], S=rows, D=D,
            k=self.keys.rows(start, stop), v=self.values.rows(start, stop),
        )  # fmt: skip

    def _rest(self) -> dict[str, Any]:
        w = self.weights
        return {"wo": w["wo"], "g": w["g_ffn"], "wg": w["wg"], "wu": w["wu"], "wd": w["wd"]}

    def prompt(self, x: Any, cos_sin: Any) -> Any:
        """The layer's output for the rows of a prompt: three dispatches."""
        rows, dispatch = len(x), self.session.dispatch
        first = self._input(0, rows)(x=x, cos_sin=cos_sin)
        k, v = self.keys.rows(0, rows), self.values.rows(0, rows)
        second = dispatch(
            self.kernels["flash_attention"],
            ("attention", self.number, rows),
            q=first["q"],
            k=k,
            v=v,
        )()
        third = dispatch(
            self.kernels["output_ffn"], ("output", self.number, rows),
            o=second["o"], x=first["x"], **self._rest(),
        )()  # fmt: skip
        return third["y"]

    def token(self, x: Any, cos_sin: Any, position: int) -> Any:
        """The layer's output for the token at a position: two dispatches."""
        first = self._input(position, 1)(x=x, cos_sin=cos_sin)
        second = self.session.dispatch(
            self.kernels["decode_layer"], ("decode", self.number, position),
            q=first["q"], k=self.keys, v=self.values, x=first["x"], **self._rest(),
        )  # fmt: skip
        return second(last=np.array([position], np.int32))["y"]


def random_weights(
    rng: Any, dtype: Any, hidden: int, q: int, kv: int, inner: int
) -> dict[str, Any]:
    """Of a layer, scaled so that activations stay near 1."""
    shapes = {"wq": (hidden, q), "wk": (hidden, kv), "wv": (hidden, kv), "wo": (q, hidden),
              "wg": (hidden, inner), "wu": (hidden, inner), "wd": (inner, hidden)}  # fmt: skip
    weights = {n: (rng.standard_normal(s) / s[0] ** 0.5).astype(dtype) for n, s in shapes.items()}
    return {**weights, **{g: rng.uniform(0.5, 1.5, hidden).astype(dtype) for g in ("g", "g_ffn")}}


def positions(rows: int) -> Any:
    """The cosines and sines of RoPE's angles, side by side."""
    angle = np.outer(np.arange(rows), 10_000.0 ** (-np.arange(D // 2) / (D // 2)))
    return np.concatenate([np.cos(angle), np.sin(angle)], 1).astype(np.float32)


def expected(x: Any, w: dict[str, Any], cos_sin: Any) -> Any:
    """The same in NumPy, in float64."""

    def normed(t: Any, g: Any) -> Any:
        return t / np.sqrt((t * t).mean(1, keepdims=True) + 1e-6) * g

    def turned(t: Any) -> Any:
        pairs = t.reshape(len(t), -1, 2, D // 2)
        angle = cos_sin[:, None, : D // 2] + 1j * cos_sin[:, None, D // 2 :]
        rotated = (pairs[:, :, 0] + 1j * pairs[:, :, 1]) * angle
        return np.stack([rotated.real, rotated.imag], 2).reshape(t.shape)

    w = {n: a.astype(np.float64) for n, a in w.items()}
    x = x.astype(np.float64)
    n = normed(x, w["g"])
    k, v = (t.reshape(len(x), -1, D) for t in (turned(n @ w["wk"]), n @ w["wv"]))
    q = turned(n @ w["wq"]).reshape(len(x), k.shape[1], -1, D)
    scores = np.where(
        np.tri(len(x), dtype=bool), np.einsum("sjgd,ljd->jgsl", q, k) / D**0.5, -np.inf
    )
    p = np.exp(scores - scores.max(-1, keepdims=True))
    o = np.einsum("jgsl,ljd->sjgd", p / p.sum(-1, keepdims=True), v)
    h = x + o.reshape(len(x), -1) @ w["wo"]
    n = normed(h, w["g_ffn"])
    gate = n @ w["wg"]
    return h + gate / (1 + np.exp(-gate)) * (n @ w["wu"]) @ w["wd"]


def main(target: str = "interp", dtype: str = "f16", rows: int = 64) -> None:
    """A prompt and a token on random inputs, compared with NumPy."""
    rng = np.random.default_rng(0)
    sizes = {"hidden": 128, "q": 128, "kv": 64, "inner": 192}
    numpy_type: Any = np.float16
    if dtype == "bf16":
        from ml_dtypes import bfloat16 as numpy_type
    weights = random_weights(rng, numpy_type, **sizes)
    x = rng.standard_normal((rows + 1, sizes["hidden"])).astype(numpy_type)
    cos_sin = positions(rows + 1)
    session = dslc.Session(target)
    layer = Layer(session, 0, weights, dtype, length=rows + 8)
    before = session.traffic.written
    y = layer.prompt(x[:rows], cos_sin[:rows])
    z = layer.token(x[rows:], cos_sin[rows:], rows)
    moved = session.traffic.written - before
    outputs = np.concatenate([b.read().astype(np.float64) for b in (y, z)])
    error = np.abs(outputs - expected(x, weights, cos_sin)).max()
    print(f"layer of {x.shape}: greatest error {error:.1e}, {moved} bytes to {session.target}")


if __name__ == "__main__":
    main(
        sys.argv[1] if len(sys.argv) > 1 else "interp", sys.argv[2] if len(sys.argv) > 2 else "f16"
    )
