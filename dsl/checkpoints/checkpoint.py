"""A model's weights by name, whatever they are packed in: one mapping for all formats."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from dslc.checkpoints import bitsandbytes
from dslc.checkpoints.compressed_tensors import read_eight_bits, read_packed
from dslc.checkpoints.gguf import read_gguf
from dslc.checkpoints.gptq import read_awq, read_gptq
from dslc.checkpoints.mlx import read_mlx
from dslc.checkpoints.pieces import Pieces
from dslc.checkpoints.shards import open_shards, read_json
from dslc.compiler.diagnostics import error
from dslc.quantize import Quantized
from dslc.runtime.elements import Array

Weight: TypeAlias = "Array | Quantized"
Reader: TypeAlias = Callable[[Pieces], Quantized]

# What tells that a module is quantised, and the pieces that its weight then consists of.
_MARKS = (
    "qweight",
    "weight_packed",
    *bitsandbytes.STATES,
    "SCB",
    "weight_scale",
    "weight_scale_inv",
    "scales",
)
_PIECES = (
    "qweight",
    "qzeros",
    "scales",
    "g_idx",
    "weight_packed",
    "weight_scale",
    "weight_shape",
    "weight_zero_point",
    "weight_g_idx",
    "weight_global_scale",
    "weight_scale_inv",
    "input_scale",
    "input_global_scale",
    "SCB",
    "weight_format",
    "biases",
    "weight.absmax",
    "weight.quant_map",
    "weight.nested_absmax",
    "weight.nested_quant_map",
    *bitsandbytes.STATES,
)


class Checkpoint(Mapping[str, "Array | Quantized"]):
    """The weights of a model by name, read when they are asked for.

    A float tensor is an array as it is stored, a Linear's weight [N, K]. A quantised weight is
    `Quantized`, codes [K, N]; its name is the module's with `.weight`, whatever its pieces are called.
    `config` is config.json, or GGUF's metadata. Names are those of the file.
    """

    def __init__(
        self,
        tensors: Mapping[str, Weight],
        config: Mapping[str, Any],
        modules: Mapping[str, Reader],
    ) -> None:
        self.config = config
        self._tensors, self._modules = tensors, modules
        pieces = {f"{m}.{p}" for m in modules for p in (*_PIECES, "weight")}
        plain = [name for name in tensors if name not in pieces]
        self._names = dict.fromkeys([*plain, *(f"{m}.weight" for m in modules)])

    def __getitem__(self, name: str) -> Weight:
        if name not in self._names:
            raise KeyError(name)
        module = name.removesuffix(".weight")
        if module != name and module in self._modules:
            return self._modules[module](Pieces(self._tensors, module))  # type: ignore[arg-type]
        return self._tensors[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def open_checkpoint(path: str | os.PathLike[str]) -> Checkpoint:
    """A folder of safetensors with config.json, one .safetensors file, or one .gguf file.

    DSL0780 to DSL0785 for files that are damaged or do not fit each other, DSL0786 for a quantisation
    that is not read.
    """
    where = Path(path)
    if where.suffix == ".gguf":
        file = read_gguf(where)
        return Checkpoint(file, file.metadata, {})
    if not where.exists():
        raise error("DSL0780", f"{where} does not exist")
    tensors = open_shards(where)
    described = (where if where.is_dir() else where.parent) / "config.json"
    config = read_json(described) if described.exists() else {}
    method, options = _quantization(config)
    suffixes = {f".{mark}": mark for mark in _MARKS}
    modules: dict[str, Reader] = {}
    for name in tensors:
        for suffix, mark in suffixes.items():
            if name.endswith(suffix):
                module = name.removesuffix(suffix)
                reader = _reader(mark, method, options, module in modules)
                if reader is not None:
                    modules[module] = reader
    return Checkpoint(tensors, config, modules)


def _quantization(config: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """The method by its name, and its options."""
    options = config.get("quantization_config") or config.get("compression_config")
    if isinstance(options, dict):
        return str(options.get("quant_method", "compressed-tensors")), options
    if isinstance(config.get("quantization"), dict):
        return "mlx", config["quantization"]
    return "", {}


def _reader(mark: str, method: str, options: Mapping[str, Any], known: bool) -> Reader | None:
    """What reads a module that has such a piece; None where the piece belongs to another's weight."""
    if mark == "qweight":
        if method not in ("gptq", "awq"):
            raise error("DSL0786", f"codes called qweight, of the method {method or 'none'!r}")
        read = read_awq if method == "awq" else read_gptq
        return lambda pieces: read(pieces, options)
    if mark == "weight_packed":
        return lambda pieces: read_packed(pieces, options)
    if mark in bitsandbytes.STATES:
        return bitsandbytes.read_four_bits
    if mark == "SCB":
        return bitsandbytes.read_int8
    if mark == "scales":
        return (lambda pieces: read_mlx(pieces, options)) if method == "mlx" else None
    return None if known else lambda pieces: read_eight_bits(pieces, options)
