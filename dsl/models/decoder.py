"""A decoder-only model on one machine: its weights, its caches, and what it does with some tokens."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from dslc import library
from dslc.models.linear import Form, Rounding, form_of
from dslc.models.names import Weights
from dslc.quantize import Quantized, dequantize
from dslc.runtime.elements import Array, element_name, storage_dtype
from dslc.runtime.memory import Buffer
from dslc.session import Session

if TYPE_CHECKING:
    from dslc.compilation.specialization import Specialization

KERNELS = Path(__file__).with_name("kernels.tile")
PIECES = (256, 64, 16, 1)
"""The rows of a call: a prompt goes in the largest that fit, so that few kernels are compiled."""

Progress = Callable[[int, int], None]


class Decoder:
    """One sequence of up to `length` tokens.

    `dtype` is that of activations and caches, and of weights that are no codes. With `rounding` float
    weights of products become codes.
    """

    def __init__(
        self,
        weights: Weights,
        session: Session,
        dtype: str = "f32",
        length: int = 2048,
        progress: Progress | None = None,
        rounding: Rounding | None = None,
    ) -> None:
        self.config, self.session, self.dtype, self.length = weights.config, session, dtype, length
        self._weights, self._rounding = weights, rounding
        self._activations: dict[tuple[str, int], Buffer] = {}
        self._forms: dict[str, Form] = {}
        self._held: dict[str, dict[str, Buffer]] = {}
        self._chosen: dict[tuple[object, ...], dict[str, int]] = {}
        self._start = self._hold(np.zeros(1, np.int32))
        c = self.config
        self._angles = {r: self._hold(r.table(length)) for r in dict.fromkeys(c.rotations)}
        width = c.key_heads * c.head_size
        self._caches = [
            tuple(session.memory.empty((length, width), dtype) for _ in range(2))
            for _ in range(c.layers)
        ]
        for done in range(c.layers):
            self._load_layer(done)
            if progress is not None:
                progress(done + 1, c.layers)
        self._load_ends()

    # Loading

    def _load_layer(self, number: int) -> None:
        c, w = self.config, self._weights
        for part in ("q", "k", "v", "o", "gate", "up", "down"):
            self._load_linear(
                f"{number}.{part}", w.need(number, part), w.layer(number, part, "bias")
            )
        norms = ["input_norm", "inner_norm"]
        norms += ["q_norm", "k_norm"] if c.head_norms else []
        norms += ["post_attention_norm", "post_inner_norm"] if c.post_norms else []
        for part in norms:
            self._load_norm(f"{number}.{part}", w.need(number, part))

    def _load_ends(self) -> None:
        table, norm, head = (self._weights.top(p) for p in ("embedding", "norm", "head"))
        assert table is not None
        assert norm is not None
        dense = dequantize(table).T if isinstance(table, Quantized) else table
        self._held["embedding"] = {"table": self._hold(dense.astype(storage_dtype(self.dtype)))}
        self._load_norm("norm", norm)
        self._load_linear("head", table if head is None else head, None)

    def _load_norm(self, name: str, gain: Array | Quantized) -> None:
        assert not isinstance(gain, Quantized)
        whole = gain.astype(np.float32) + np.float32(self.config.norm_offset)
        self._held[name] = {"g": self._hold(whole.astype(storage_dtype(self.dtype)))}

    def _load_linear(
        self, name: str, weight: Array | Quantized, bias: Array | Quantized | None
    ) -> None:
        if self._rounding is not None and not isinstance(weight, Quantized):
            weight = self._rounding(weight, head=name == "head")
        form = form_of(weight, self.dtype)
        arrays = {"w": form.codes, **form.arrays}
        made = self._specialized(form, 1)
        for parameter in made.parameters:
            if parameter.may_be_packed:
                arrays[parameter.name] = made.pack(parameter.name, arrays[parameter.name])
        held = {n: self._hold(a) for n, a in arrays.items()}
        if bias is not None:
            assert not isinstance(bias, Quantized)
            held["bias"] = self._hold(bias.astype(storage_dtype(self.dtype)))
        if form.order is not None:
            held["order"] = self._hold(form.order)
        empty = np.empty(0, np.uint8)
        self._forms[name] = Form(form.kernel, form.rows, form.columns, form.constants, empty, {})
        self._held[name] = held

    def _hold(self, array: Array) -> Buffer:
        return self.session.memory.hold(array, element_name(array))

    # Running

    def __call__(self, ids: Sequence[int], position: int) -> Buffer:
        """The logits [1, vocabulary] after these tokens, the first of which stands at `position`."""
        x, last = None, 0
        at = 0
        while at < len(ids):
            rows = next(p for p in PIECES if p <= len(ids) - at)
            x, last = self._piece(ids[at : at + rows], position + at), rows
            at += rows
        assert x is not None
        return self._logits(x, last)

    def _piece(self, ids: Sequence[int], position: int) -> Buffer:
        rows, c = len(ids), self.config
        self._start.write(np.array([position], np.int32))
        x = self._buffer("x", rows, c.hidden)
        self._run(
            "embed",
            rows,
            "embedding",
            {"FACTOR": c.embedding_factor},
            ids=np.array(ids, np.int32),
            y=x,
            **self._held["embedding"],
        )
        for number in range(c.layers):
            self._attention_half(number, rows, x)
            self._inner_half(number, rows, x)
        return x

    def _attention_half(self, number: int, rows: int, x: Buffer) -> None:
        c = self.config
        width, narrow = c.heads * c.head_size, c.key_heads * c.head_size
        normed = self._norm(f"{number}.input_norm", rows, x)
        q, k, v = (
            self._linear(f"{number}.{part}", rows, normed, self._buffer(part, rows, size))
            for part, size in (("q", width), ("k", narrow), ("v", narrow))
        )
        angles = self._angles[c.rotations[number]]
        for part, tensor in (("q", q), ("k", k)):
            key = f"{number}.{part}"
            if c.head_norms:
                self._run(
                    "head_norm", rows, key, {"EPS": c.eps}, x=tensor, **self._held[f"{key}_norm"]
                )
            self._run("rope", rows, key, {}, x=tensor, cos_sin=angles, start=self._start)
        keys, values = self._caches[number]
        self._run(
            "keep", rows, f"{number}", {}, k=k, v=v, start=self._start, keys=keys, values=values
        )
        constants = {
            "D": c.head_size,
            "GROUP": c.heads // c.key_heads,
            "SCALE": c.scale,
            "WINDOW": c.windows[number],
            "CAP": c.attention_cap,
        }
        o = self._buffer("o", rows, width)
        self._run(
            "attention",
            rows,
            f"{number}",
            constants,
            q=q,
            keys=keys,
            values=values,
            start=self._start,
            o=o,
        )
        out = self._linear(f"{number}.o", rows, o, self._buffer("out", rows, c.hidden))
        self._add(f"{number}.post_attention_norm", rows, out, x)

    def _inner_half(self, number: int, rows: int, x: Buffer) -> None:
        c = self.config
        normed = self._norm(f"{number}.inner_norm", rows, x)
        gate, up = (
            self._linear(f"{number}.{part}", rows, normed, self._buffer(part, rows, c.inner))
            for part in ("gate", "up")
        )
        inner = self._buffer("inner", rows, c.inner)
        self._run(c.gate, rows, "", {}, gate=gate, up=up, y=inner)
        out = self._linear(f"{number}.down", rows, inner, self._buffer("out", rows, c.hidden))
        self._add(f"{number}.post_inner_norm", rows, out, x)

    def _logits(self, x: Buffer, rows: int) -> Buffer:
        """Of the last of so many rows."""
        c = self.config
        normed = self._buffer("normed", 1, c.hidden)
        self._run(
            "rmsnorm",
            1,
            f"norm of {rows}",
            {"EPS": c.eps},
            x=x.rows(rows - 1, rows),
            y=normed,
            **self._held["norm"],
        )
        logits = self._linear("head", 1, normed, self._buffer("logits", 1, c.vocabulary))
        if c.logit_cap:
            self._run("soft_cap", 1, "", {"CAP": c.logit_cap}, x=logits)
        return logits

    def _norm(self, name: str, rows: int, x: Buffer) -> Buffer:
        y = self._buffer("normed", rows, self.config.hidden)
        self._run("rmsnorm", rows, name, {"EPS": self.config.eps}, x=x, y=y, **self._held[name])
        return y

    def _add(self, norm: str, rows: int, out: Buffer, x: Buffer) -> None:
        """x += out, normalised first where the model does that."""
        if self.config.post_norms:
            out = self._norm(norm, rows, out)
        self._run("add", rows, norm, {}, x=out, r=x)

    def _linear(self, name: str, rows: int, x: Buffer, y: Buffer) -> Buffer:
        form, held = self._forms[name], dict(self._held[name])
        bias, order = held.pop("bias", None), held.pop("order", None)
        if order is not None:
            sorted_ = self._buffer("sorted", rows, form.rows)
            self._run("reorder", rows, name, {}, x=x, order=order, y=sorted_)
            x = sorted_
        self._run(
            form.kernel,
            rows,
            name,
            form.constants,
            a=x,
            c=y,
            K=form.rows,
            N=form.columns,
            **held,
            **self._choices(form, rows),
        )
        if bias is not None:
            self._run("add_bias", rows, name, {}, b=bias, x=y)
        return y

    def _specialized(self, form: Form, rows: int, **choices: int) -> Specialization:
        kernel = self._library(form.constants)[form.kernel]
        return kernel.specialize(M=rows, K=form.rows, N=form.columns, **choices)

    def _choices(self, form: Form, rows: int) -> dict[str, int]:
        """The choices of a product of so many rows: none, or those that take the weights as packed.

        Most machines store weights in one way whatever the choices are. Where the storage follows from
        them, those of one row hold for all, but for the rows of a block.
        """
        key = (form.kernel, form.rows, form.columns, rows, *sorted(form.constants.items()))
        if key not in self._chosen:
            packed, other = (self._specialized(form, m).artifact.signature for m in (1, rows))
            self._chosen[key] = {}
            if [p.packed for p in packed.params] != [p.packed for p in other.params]:
                kept = {n: int(str(v)) for n, v in packed.config.items() if n in ("BN", "BK")}
                kernel = self._library(form.constants)[form.kernel]
                blocks = [int(str(n)) for n in kernel.tunes["BM"] if int(str(n)) <= rows]
                self._chosen[key] = {**kept, "BM": max(blocks)}
        return self._chosen[key]

    def _run(
        self, kernel: str, rows: int, name: str, constants: Mapping[str, Any], **given: Any
    ) -> None:
        """Run a kernel over buffers; its dispatch is kept by kernel, weights and rows."""
        arrays = {n: v for n, v in given.items() if not isinstance(v, Buffer | int)}
        fixed = {n: v for n, v in given.items() if n not in arrays}
        found = self._library(constants)[kernel]
        self.session.dispatch(found, (kernel, name, rows), M=rows, **fixed)(**arrays)

    def _buffer(self, name: str, rows: int, width: int) -> Buffer:
        """The activations of that name for so many rows; layers share them."""
        key = (name, rows)
        if key not in self._activations:
            self._activations[key] = self.session.memory.empty((rows, width), self.dtype)
        return self._activations[key]

    def _library(self, constants: Mapping[str, Any]) -> library.Library:
        return _library(self.session.target, self.dtype, tuple(sorted(constants.items())))


@functools.cache
def _library(target: str, dtype: str, constants: tuple[tuple[str, Any], ...]) -> library.Library:
    return library.compile(KERNELS, target, define={"T": dtype, **dict(constants)})
