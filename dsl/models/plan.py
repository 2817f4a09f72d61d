"""What a model does with some rows of tokens: kernels in order, over tensors by name. No machine yet.

    plan = Plan(config, products, "bf16", length=4096)
    for step in plan.rows(16): ...      # 16 tokens through all layers
    for step in plan.logits("x:16", 16): ...    # of each of them

Weights are called `PART/PARAMETER` (`3.qkv/w`), caches `3.keys` and `3.values`, activations by what
they are and their rows (`x:16`), what is said of sequences by their number (`start:1`); `shapes` has
those of what steps read and write.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from dslc.models.configuration import ModelConfig
from dslc.models.linear import Product

PIECES = (256, 64, 16, 1)
"""The rows of a call: a prompt goes in the largest that fit, so that few kernels are compiled."""

SIZES = (1, 4, 16, 64, 256)
"""The sequences of a step: as many as pieces have rows, whose products serve both, and one between."""

PAGE = 64
"""Positions of a page, a block of keys that attention reads at once."""

_RUN = 2048  # logits that are compared by themselves
_UNIT_ROWS = 8  # the fewest of a product on a matrix unit

Constants = Mapping[str, "str | int | float"]
Shape = tuple[tuple[int, ...], str]


@dataclass(frozen=True, slots=True)
class Step:
    """A kernel of dsl/models/kernels.tile over tensors by parameter, for these dims and constants.

    `product` is set where the weights are packed, so that all rows have to read them in one way.
    """

    kernel: str
    tensors: Mapping[str, str]
    dims: Mapping[str, int]
    constants: Constants
    product: Product | None = None


@dataclass
class Plan:
    """The steps of a model whose parts have these products; `table` is the dtype of its embedding.

    With `parts` the keys that one token sees are divided among so many turns, for each key head. With
    `pages` caches are so many pages, of which a block table says whose they are; else they are those
    of one sequence.
    """

    config: ModelConfig
    products: Mapping[str, Product]
    dtype: str
    length: int
    table: str
    parts: int = 1
    pages: int = 0
    shapes: dict[str, Shape] = field(default_factory=dict)

    @property
    def cache(self) -> tuple[int, int]:
        """The shape of a layer's keys, and of its values."""
        rows = self.pages * PAGE or self.length
        return rows, self.config.key_heads * self.config.head_size

    @property
    def table_width(self) -> int:
        """The pages that a sequence has at most."""
        return -(-self.length // PAGE)

    def rows(self, rows: int, sequences: int = 1) -> Iterator[Step]:
        """So many tokens, `ids:ROWS`, through all layers, into `x:ROWS`.

        They are as many of each of the `sequences`, from the positions `start:SEQUENCES` on.
        """
        c = self.config
        x = self._activation("x", rows, c.hidden)
        ids = self._tensor(f"ids:{rows}", (rows,), "i32")
        tensors = {"ids": ids, "table": "embedding/table", "y": x}
        constants: Constants = {"FACTOR": c.embedding_factor, "E": self.table}
        yield self._step("embed", tensors, constants, M=rows, V=c.vocabulary, H=c.hidden)
        for number in range(c.layers):
            yield from self.layer(number, rows, sequences)

    def layer(self, number: int, rows: int, sequences: int = 1) -> Iterator[Step]:
        """A layer over `x:ROWS`."""
        x = self._activation("x", rows, self.config.hidden)
        yield from self._attention(number, rows, sequences, x)
        yield from self._feed_forward(number, rows, x)

    def logits(self, x: str, rows: int = 1) -> Iterator[Step]:
        """Of so many rows that have gone through all layers, into `logits:ROWS`."""
        c = self.config
        normed = self._activation("normed", rows, c.hidden)
        yield self._norm("norm", rows, x, normed)
        logits = self._activation("logits", rows, c.vocabulary)
        yield from self._product("head", rows, normed, logits)
        if c.logit_cap:
            cap = {"CAP": c.logit_cap}
            yield self._step("soft_cap", {"x": logits}, cap, M=rows, N=c.vocabulary)

    def step(self, sequences: int = 1) -> Iterator[Step]:
        """A row of each sequence, `ids:SEQUENCES`, to its logits."""
        yield from self.rows(sequences, sequences)
        yield from self.logits(f"x:{sequences}", sequences)

    def token(self, sequences: int, way: str) -> Iterator[Step]:
        """A step, and the tokens after it."""
        yield from self.step(sequences)
        yield from self.choice(way, sequences)

    def choice(self, way: str = "likeliest", rows: int = 1) -> Iterator[Step]:
        """The next token of each of so many sequences, `ids:ROWS`, at the next place.

        `way` is that of dslc.models.Sampling. Draws take `sampling:ROWS` and `seed:ROWS`; where none
        are `kept`, `least:ROWS` is below all logits.
        """
        v = self.config.vocabulary
        runs = -(-v // _RUN)
        best = {
            "values": self._tensor(f"values:{rows}", (rows, runs), "f32"),
            "at": self._tensor(f"at:{rows}", (rows, runs), "i32"),
        }
        start = self._tensor(f"start:{rows}", (rows,), "i32")
        tensors = {"logits": self._activation("logits", rows, v), **best}
        if way == "likeliest":
            yield self._step("likeliest", tensors, {"C": _RUN}, M=rows, V=v, P=runs)
        else:
            bounds = {
                "sampling": self._tensor(f"sampling:{rows}", (rows, 3), "f32"),
                "least": self._tensor(
                    f"{'least' if way == 'kept' else 'all'}:{rows}", (rows,), "f32"
                ),
            }
            if way == "kept":
                own = {"logits": tensors["logits"], **bounds}
                yield self._step("least_kept", own, {"C": _RUN}, M=rows, V=v)
            tensors |= {**bounds, "seed": self._tensor(f"seed:{rows}", (rows,), "u32")}
            tensors["start"] = start
            yield self._step("drawn", tensors, {"C": _RUN}, M=rows, V=v, P=runs)
        ids = self._tensor(f"ids:{rows}", (rows,), "i32")
        yield self._step("next_token", {**best, "token": ids, "start": start}, {}, M=rows, P=runs)

    def _attention(self, number: int, rows: int, sequences: int, x: str) -> Iterator[Step]:
        c = self.config
        width, narrow, d = c.heads * c.head_size, c.key_heads * c.head_size, c.head_size
        normed = self._activation("normed", rows, c.hidden)
        yield self._norm(f"{number}.input_norm", rows, x, normed)
        sizes = {"q": width, "k": narrow, "v": narrow}
        places: dict[str, tuple[str, int]] = {}
        yield from self._projections(number, "qkv", sizes, rows, normed, places)
        (q, _), (k, k_at), (v, v_at) = (places[part] for part in sizes)
        angles = f"angles/{c.rotations[number].key}"
        if c.head_norms:
            for part in ("q", "k"):
                tensor, at = places[part]
                constants = {"EPS": c.eps, "AT": at, "Q": sizes[part]}
                tensors = {"x": tensor, "g": f"{number}.{part}_norm/g"}
                yield self._step(
                    "head_norm", tensors, constants, M=rows, A=self._width(tensor), D=d
                )
        start = self._tensor(f"start:{sequences}", (sequences,), "i32")
        tensors = {"x": q, "cos_sin": angles, "start": start}
        q_columns = self._width(q)
        each = {"M": rows, "SEQ": sequences}
        yield self._step("rope", tensors, {"Q": width}, **each, A=q_columns, L=self.length, D=d)
        caches = {"keys": f"{number}.keys", "values": f"{number}.values", "start": start}
        paged: Constants = {"table": "None"}
        own = {"C": self.length}
        if self.pages:
            caches["table"] = self._tensor(
                f"table:{sequences}", (sequences, self.table_width), "i32"
            )
            paged, own = {"PAGE": PAGE}, {"N": self.table_width}  # of any number of pages
        yield self._step(
            "keep",
            {"k": k, "v": v, "cos_sin": angles, **caches},
            {"KAT": k_at, "VAT": v_at, **paged},
            **each,
            **own,
            A=self._width(k),
            B=self._width(v),
            L=self.length,
            D=d,
            KV=narrow,
        )
        o = self._activation("o", rows, width)
        scoring: Constants = {
            "D": d,
            "GROUP": c.heads // c.key_heads,
            "SCALE": c.scale,
            "WINDOW": c.windows[number],
            "CAP": c.attention_cap,
            **paged,
        }
        dims = {**own, "A": q_columns, "KV": narrow}
        if rows == sequences and self.parts > 1:
            yield from self._in_parts({"q": q, **caches}, scoring, {"M": rows, **dims}, o)
        else:
            yield self._step(
                "attention", {"q": q, **caches, "o": o}, scoring, **each, **dims, Q=width
            )
        yield from self._onto(number, "o", "post_attention_norm", rows, o, x)

    def _in_parts(
        self, tensors: Mapping[str, str], constants: Constants, dims: Mapping[str, int], o: str
    ) -> Iterator[Step]:
        """The attention of a token each, its keys in parts, and the parts joined."""
        c, m = self.config, dims["M"]
        group = {"GROUP": c.heads // c.key_heads}
        rows = -(-group["GROUP"] // _UNIT_ROWS) * _UNIT_ROWS
        parts = -(-self.parts // m)
        shape = (m, parts, c.key_heads, rows)
        own = {
            name: self._tensor(f"{name}:{m}", (*shape, *more), "f32")
            for name, more in (("sums", (c.head_size,)), ("tops", ()), ("totals", ()))
        }
        constants = {**constants, "ROWS": rows}
        yield self._step("attention_parts", {**tensors, **own}, constants, **dims, P=parts)
        joined = {"M": m, "P": parts, "J": c.key_heads, "ROWS": rows, "D": c.head_size}
        width = c.heads * c.head_size
        yield self._step("join_parts", {**own, "o": o}, group, **joined, Q=width)

    def _feed_forward(self, number: int, rows: int, x: str) -> Iterator[Step]:
        c = self.config
        normed = self._activation("normed", rows, c.hidden)
        yield self._norm(f"{number}.inner_norm", rows, x, normed)
        if c.has_experts(number):
            yield from self._experts(number, rows, normed, x)
            return
        places: dict[str, tuple[str, int]] = {}
        sizes = {"gate": c.inner, "up": c.inner}
        yield from self._projections(number, "gate_up", sizes, rows, normed, places)
        (gate, _), (up, at) = places["gate"], places["up"]
        inner = self._activation("inner", rows, c.inner)
        yield self._step(
            c.gate,
            {"gate": gate, "up": up, "y": inner},
            {"UPAT": at},
            M=rows,
            A=self._width(gate),
            B=self._width(up),
            F=c.inner,
        )
        yield from self._onto(number, "down", "post_inner_norm", rows, inner, x)

    def _experts(self, number: int, rows: int, normed: str, x: str) -> Iterator[Step]:
        """Each row through its experts, onto x: as many rows within as experts are chosen."""
        c, e = self.config, self.config.experts
        assert e is not None
        scores = self._activation("scores", rows, e.count)
        yield from self._product(f"{number}.router", rows, normed, scores)
        chosen, share = f"chosen:{rows}", f"share:{rows}"
        self.shapes[chosen] = (rows, e.chosen), "i32"
        self.shapes[share] = (rows, e.chosen), "f32"
        found = {"chosen": chosen, "share": share}
        dims = {"M": rows, "EX": e.count, "TOP": e.chosen}
        own: Constants = {"T": self.dtype, "NORMED": int(e.normed)}
        yield Step("route", {"logits": scores, **found}, dims, own)
        inside = rows * e.chosen
        both = self._activation("experts_in", inside, 2 * e.inner)
        dims = {"M": rows, "TOP": e.chosen, "R": inside, "K": c.hidden}
        dims |= {"EK": e.count * c.hidden, "N": 2 * e.inner}
        tensors = {"a": normed, "chosen": chosen, "w": f"{number}.experts_in/w", "y": both}
        yield Step("experts_in", tensors, dims, {"T": self.dtype})
        inner = self._activation("experts_inner", inside, e.inner)
        dims = {"M": inside, "A": 2 * e.inner, "B": 2 * e.inner, "F": e.inner}
        own = {"T": self.dtype, "UPAT": e.inner}
        yield Step(c.gate, {"gate": both, "up": both, "y": inner}, dims, own)
        dims = {"M": rows, "TOP": e.chosen, "R": inside, "K": e.inner}
        dims |= {"EK": e.count * e.inner, "N": c.hidden}
        tensors = {"a": inner, **found, "w": f"{number}.experts_out/w", "c": x}
        yield Step("experts_out", tensors, dims, {"T": self.dtype})

    def _projections(
        self,
        number: int,
        together: str,
        sizes: Mapping[str, int],
        rows: int,
        x: str,
        places: dict[str, tuple[str, int]],
    ) -> Iterator[Step]:
        """Products of one input; `places` gets the tensor of each, and its first column there."""
        if self._last(f"{number}.{together}") in self.products:
            y, at = self._activation(together, rows, sum(sizes.values())), 0
            for part, size in sizes.items():
                places[part] = y, at
                at += size
            yield from self._product(f"{number}.{together}", rows, x, y)
            return
        for part, size in sizes.items():
            places[part] = self._activation(part, rows, size), 0
            yield from self._product(f"{number}.{part}", rows, x, places[part][0])

    def _onto(self, number: int, part: str, norm: str, rows: int, y: str, x: str) -> Iterator[Step]:
        """x += y @ w, which is normalised first where the model does that."""
        c, name = self.config, f"{number}.{part}"
        if not c.post_norms and "bias" not in self.products[self._last(name)].extras:
            yield from self._product(name, rows, y, x, add=True)
            return
        out = self._activation("out", rows, c.hidden)
        yield from self._product(name, rows, y, out)
        if c.post_norms:
            normed = self._activation("normed", rows, c.hidden)
            yield self._norm(f"{number}.{norm}", rows, out, normed)
            out = normed
        yield self._step("add", {"x": out, "r": x}, {}, M=rows, H=c.hidden)

    def _last(self, name: str) -> str:
        """The product that gives the results of a part: the second of its factors, if it has them."""
        return f"{name}.v" if f"{name}.v" in self.products else name

    def _product(
        self, name: str, rows: int, x: str, y: str, *, add: bool = False
    ) -> Iterator[Step]:
        if f"{name}.u" in self.products:
            rank = self.products[f"{name}.u"].columns
            between = self._activation(f"rank {rank}", rows, rank)
            yield from self._product(f"{name}.u", rows, x, between)
            yield from self._product(f"{name}.v", rows, between, y, add=add)
            return
        product = self.products[name]
        if "order" in product.extras:
            put = self._activation("sorted", rows, product.rows)
            tensors = {"x": x, "order": f"{name}/order", "y": put}
            yield self._step("reorder", tensors, {}, M=rows, K=product.rows)
            x = put
        own = {p: f"{name}/{p}" for p in PARAMETERS[product.kernel]}
        dims = {"M": rows, "K": product.rows, "N": product.columns}
        constants: Constants = {"T": self.dtype, **product.constants, **({"ADD": 1} if add else {})}
        yield Step(product.kernel, {"a": x, **own, "c": y}, dims, constants, product)
        if "bias" in product.extras:
            yield self._step(
                "add_bias", {"b": f"{name}/bias", "x": y}, {}, M=rows, N=product.columns
            )

    def _norm(self, name: str, rows: int, x: str, y: str) -> Step:
        tensors = {"x": x, "g": f"{name}/g", "y": y}
        constants = {"EPS": self.config.eps}
        return self._step("rmsnorm", tensors, constants, M=rows, H=self.config.hidden)

    def _step(
        self,
        kernel: str,
        tensors: Mapping[str, str],
        constants: Constants,
        **dims: int,
    ) -> Step:
        return Step(kernel, tensors, dims, {"T": self.dtype, **constants})

    def _activation(self, name: str, rows: int, width: int) -> str:
        """The activations of that name for so many rows; layers share them."""
        return self._tensor(f"{name}:{rows}", (rows, width), self.dtype)

    def _tensor(self, key: str, shape: tuple[int, ...], dtype: str) -> str:
        assert self.shapes.setdefault(key, (shape, dtype)) == (shape, dtype)
        return key

    def _width(self, tensor: str) -> int:
        return self.shapes[tensor][0][1]


PARAMETERS = {
    "linear": ("w",),
    "linear_scaled": ("w", "s"),
    "linear_zeros": ("w", "s", "z"),
    "linear_offsets": ("w", "s", "z"),
    "linear_table": ("w", "s", "table"),
}
"""The tensors of a weight by the kernel of its product."""
