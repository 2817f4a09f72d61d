"""The list of forms: a kernel of a file beside this, its sizes, and what it is compared with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

_PRODUCT = {"M": 4096, "K": 8192, "N": 8192}
_DECODE = {"M": 16, "K": 8192, "N": 8192}
_FEW_ROWS = {"BM": 16, "BK": 128}
_HEADS = {"B": 4, "S": 4096, "L": 4096, "H": 16, "J": 16}
_STEP = {"B": 16, "L": 8192, "H": 64, "J": 8}

Sizes = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Form:
    """A kernel of a file in `forms`, with sizes and constants; `times` is its work over the base's."""

    file: str
    kernel: str
    sizes: Sizes
    define: Mapping[str, Any] = field(default_factory=dict)
    times: float = 1.0
    label: str = ""

    @property
    def numbers(self) -> dict[str, int]:
        """Its sizes, and its constants that are numbers."""
        return {**self.sizes, **{n: v for n, v in self.define.items() if isinstance(v, int)}}

    @property
    def name(self) -> str:
        """`file/kernel`, and what is special of its constants."""
        return f"{self.file}/{self.kernel}{self.label}"


def _quantized() -> Iterator[Form]:
    more = {"E": 8, "R": 4096, "C": 8192}
    twice = {"gate_up": 2.0, "query_key_value": 3.0}
    for kernel in (
        "base", "epilogue", "zero_points", "turned", "grouped", "left", "code_book", "packed_row",
        "nested", "gate_up", "lora", "rms", "gain", "activation", "f8_activations", "rows_by_id",
        "act_order", "sparse", "parts_added", "masked", "two_sources", "query_key_value",
    ):  # fmt: skip
        yield Form("quantized", kernel, _PRODUCT | more, {}, twice.get(kernel, 1.0))
    for kernel in ("base", "zero_points", "turned", "code_book", "nested", "gate_up", "rms", "gain",
                   "activation", "sparse", "rows_by_id", "act_order", "packed_row"):  # fmt: skip
        work = twice.get(kernel, 1.0)
        yield Form("quantized", kernel, _DECODE | more, _FEW_ROWS, work, " M=16")
    for kernel in ("base", "zero_points"):
        yield Form("quantized", kernel, _PRODUCT, {"W": "u3"}, label=" u3")


def _dense() -> Iterator[Form]:
    more = {"B": 1, "E": 8, "R": 4096, "sa": 8192, "sb": 8192}
    for kernel in (
        "base", "turned", "batched", "strided", "gate_up", "threshold", "activation",
        "gain_on_weights", "layer_norm", "rms", "rows_by_id", "f32_cast", "grouped", "parts_added",
    ):  # fmt: skip
        yield Form("dense", kernel, _PRODUCT | more, {}, 2.0 if kernel == "gate_up" else 1.0)
    yield Form("dense", "turned", {**_PRODUCT, "N": 8190}, label=" N=8190")
    yield Form("dense", "base", {**_PRODUCT, "K": 8196}, label=" K=8196")
    yield Form("dense", "base", {**_PRODUCT, "K": 8191}, label=" K=8191")
    for kernel in ("i8_rows", "i8_columns", "f8_rows", "f8_columns", "f8_blocks"):
        yield Form("dense", kernel, _PRODUCT, {"BK": 128}, 0.5)
    yield Form("dense", "convolution", {"B": 32, "H": 64, "W": 64, "C": 512, "N": 512}, times=1.125)
    yield Form("dense", "cube", {"M": 4096, "K": 512, "N": 4096, "L": 128}, times=0.039)


def _attention() -> Iterator[Form]:
    more = {"P": 1024, "R": 64}
    for kernel in (
        "base",
        "text_book",
        "capped",
        "eight_bits",
        "integers",
        "all_eight_bits",
        "slots",
    ):
        yield Form("attention", kernel, _HEADS | more | {"P": 16384})
    yield Form("attention", "biased", _HEADS, times=2.0)
    for keys in (128, 64):
        yield Form("attention", "paged", _HEADS | more, {"BL": keys}, label=f" {keys}")
        yield Form("attention", "base", _HEADS, {"BL": keys}, label=f" {keys}")
    for heads in (64, 72, 80, 96, 192):
        yield Form("attention", "base", _HEADS, {"D": heads}, heads / 128, f" D={heads}")
    yield Form("attention", "query_gradient", _HEADS, {}, 3.0)
    yield Form("attention", "retention", _HEADS, {}, 0.06)
    yield Form("attention", "latent", {"B": 4, "S": 4096, "L": 4096, "H": 16}, {}, 8.5)
    yield Form("attention", "decode", _STEP, {"BL": 64}, 0.0)
    yield Form("attention", "decode_parts", _STEP, {"BL": 64, "PARTS": 8}, 0.0)


FORMS = (*_quantized(), *_dense(), *_attention())


def base_of(form: Form) -> Form:
    """The form with which it is compared."""
    rows = form.sizes.get("M") if form.file == "quantized" else None
    for other in FORMS:
        alike = rows == (other.sizes.get("M") if rows else None)
        if (other.file, other.kernel) == (form.file, "base") and alike:
            return other
    raise LookupError(form.name)
