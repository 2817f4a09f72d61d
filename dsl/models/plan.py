"""What a model does with some rows of tokens: kernels in order, over tensors by name. No machine yet.

    plan = Plan(config, products, "bf16", length=4096)
    for step in plan.rows(16): ...      # 16 tokens through all layers
    for step in plan.logits(16): ...    # the last one's logits

Weights are called `PART/PARAMETER` (`3.qkv/w`), caches `3.keys` and `3.values`, activations by what
they are and their rows (`x:16`); `shapes` has those of activations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from dslc.models.configuration import ModelConfig
from dslc.models.linear import Product

PIECES = (256, 64, 16, 1)
"""The rows of a call: a prompt goes in the largest that fit, so that few kernels are compiled."""

_RUN = 2048  # logits that are compared by themselves
_UNIT_ROWS = 8  # the fewest of a product on a matrix unit

Constants = Mapping[str, "str | int | float"]


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

    With `parts` the keys that one token sees are divided among so many turns, for each key head.
    """

    config: ModelConfig
    products: Mapping[str, Product]
    dtype: str
    length: int
    table: str
    parts: int = 1
    shapes: dict[str, tuple[tuple[int, ...], str]] = field(default_factory=dict)

    @property
    def cache(self) -> tuple[int, int]:
        """The shape of a layer's keys, and of its values."""
        return self.length, self.config.key_heads * self.config.head_size

    def rows(self, rows: int) -> Iterator[Step]:
        """So many tokens, `ids:ROWS`, through all layers: from `start` on, into `x:ROWS`."""
        c = self.config
        x = self._activation("x", rows, c.hidden)
        self.shapes[f"ids:{rows}"] = (rows,), "i32"
        tensors = {"ids": f"ids:{rows}", "table": "embedding/table", "y": x}
        constants: Constants = {"FACTOR": c.embedding_factor, "E": self.table}
        yield self._step("embed", tensors, constants, M=rows, V=c.vocabulary, H=c.hidden)
        for number in range(c.layers):
            yield from self.layer(number, rows)

    def layer(self, number: int, rows: int) -> Iterator[Step]:
        """A layer over `x:ROWS`, the rows of which stand from `start` on."""
        x = self._activation("x", rows, self.config.hidden)
        yield from self._attention(number, rows, x)
        yield from self._feed_forward(number, rows, x)

    def logits(self, rows: int) -> Iterator[Step]:
        """Of the last of so many tokens: from `last:ROWS`, a row of `x:ROWS`, into `logits:1`."""
        c = self.config
        normed = self._activation("normed", 1, c.hidden)
        yield self._norm("norm", 1, f"last:{rows}", normed)
        logits = self._activation("logits", 1, c.vocabulary)
        yield from self._product("head", 1, normed, logits)
        if c.logit_cap:
            cap = {"CAP": c.logit_cap}
            yield self._step("soft_cap", {"x": logits}, cap, M=1, N=c.vocabulary)

    def choice(self, way: str = "likeliest") -> Iterator[Step]:
        """A token as the next one, `ids:1`, at the next place: a `way` of dslc.models.Sampling.

        Draws take `sampling` and `seed`; where none are `kept`, `least` is below all logits.
        """
        v = self.config.vocabulary
        runs = -(-v // _RUN)
        self.shapes["ids:1"] = (1,), "i32"
        self.shapes["values:1"] = (1, runs), "f32"
        self.shapes["at:1"] = (1, runs), "i32"
        found = {"values": "values:1", "at": "at:1"}
        tensors = {"logits": self._activation("logits", 1, v), **found}
        if way == "likeliest":
            yield self._step("likeliest", tensors, {"C": _RUN}, M=1, V=v, P=runs)
        else:
            given = {"sampling": "sampling", "least": "least"}
            if way == "kept":
                given["least"] = self._tensor("least:1", (1,), "f32")
                own = {"logits": tensors["logits"], **given}
                yield self._step("least_kept", own, {"C": _RUN}, M=1, V=v)
            tensors |= {**given, "seed": "seed", "start": "start"}
            yield self._step("drawn", tensors, {"C": _RUN}, M=1, V=v, P=runs)
        tensors = {**found, "token": "ids:1", "start": "start"}
        yield self._step("next_token", tensors, {}, M=1, P=runs)

    def _attention(self, number: int, rows: int, x: str) -> Iterator[Step]:
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
        tensors = {"x": q, "cos_sin": angles, "start": "start"}
        q_columns = self._width(q)
        yield self._step("rope", tensors, {"Q": width}, M=rows, A=q_columns, L=self.length, D=d)
        caches = {"keys": f"{number}.keys", "values": f"{number}.values"}
        yield self._step(
            "keep",
            {"k": k, "v": v, "cos_sin": angles, "start": "start", **caches},
            {"KAT": k_at, "VAT": v_at},
            M=rows,
            A=self._width(k),
            B=self._width(v),
            L=self.length,
            D=d,
            KV=narrow,
        )
        o = self._activation("o", rows, width)
        constants = {
            "D": d,
            "GROUP": c.heads // c.key_heads,
            "SCALE": c.scale,
            "WINDOW": c.windows[number],
            "CAP": c.attention_cap,
        }
        given = {"q": q, **caches, "start": "start"}
        dims = {"M": rows, "A": q_columns, "L": self.length, "KV": narrow}
        if rows == 1 and self.parts > 1:
            yield from self._in_parts(given, constants, dims, o)
        else:
            yield self._step("attention", {**given, "o": o}, constants, None, **dims, Q=width)
        yield from self._onto(number, "o", "post_attention_norm", rows, o, x)

    def _in_parts(
        self, given: Mapping[str, str], constants: Constants, dims: Mapping[str, int], o: str
    ) -> Iterator[Step]:
        """One token's attention, its keys in parts, and the parts joined."""
        c = self.config
        group = {"GROUP": c.heads // c.key_heads}
        rows = -(-group["GROUP"] // _UNIT_ROWS) * _UNIT_ROWS
        shape = (self.parts, c.key_heads, rows)
        own = {
            name: self._tensor(f"{name}:1", (*shape, *more), "f32")
            for name, more in (("sums", (c.head_size,)), ("tops", ()), ("totals", ()))
        }
        constants = {**constants, "ROWS": rows}
        dims = {**dims, "P": self.parts}
        yield self._step("attention_parts", {**given, **own}, constants, None, **dims)
        joined = {"P": self.parts, "J": c.key_heads, "ROWS": rows, "D": c.head_size}
        width = c.heads * c.head_size
        yield self._step("join_parts", {**own, "o": o}, group, None, **joined, M=1, Q=width)

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
        yield self._step(
            product.kernel,
            {"a": x, **own, "c": y},
            {**product.constants, "ADD": 1} if add else product.constants,
            product,
            **dims,
        )
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
        product: Product | None = None,
        **dims: int,
    ) -> Step:
        return Step(kernel, tensors, dims, {"T": self.dtype, **constants}, product)

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
