"""Inputs from the command line: files, literals and random numbers that fit the dtype."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from dslc.compiler.diagnostics import DiagnosticError, error
from dslc.compiler.diagnostics.suggest import did_you_mean
from dslc.compiler.dtypes import DType, encode, parse_dtype, storage_dtype

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Scalar: TypeAlias = int | float | bool

_EXAMPLES = "a=a.npy, b=arrays.npz:b, w=model.safetensors:layer.weight, eps=1e-6"


def parse_value(text: str) -> Scalar | str | None:
    """A number, True or False, or the name of a dtype; None for anything else."""
    if text in ("True", "False", "true", "false"):
        return text.lower() == "true"
    for kind in (lambda t: int(t, 0), float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text if parse_dtype(text) else None


def parse_pairs(texts: tuple[str, ...], option: str, code: str = "DSL0910") -> dict[str, str]:
    """`NAME=TEXT` as often as given; the last of a name counts."""
    pairs = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier() or not value:
            raise error(code, f"{option} {text}: expected NAME=VALUE")
        pairs[name] = value
    return pairs


def parse_definitions(texts: tuple[str, ...], option: str = "-D") -> dict[str, Scalar | str]:
    """`NAME=VALUE` with numbers, True, False, dtypes, None or words without digits; DSL0910 else.

    K=4096, W=i6, bias=None for an optional parameter that is left out, ACTIVATION=silu.
    """
    definitions: dict[str, Scalar | str] = {}
    for name, text in parse_pairs(texts, option).items():
        value = parse_value(text)
        if value is None and text.isidentifier() and not any(map(str.isdigit, text)):
            value = text
        if value is None:
            raise error(
                "DSL0910",
                f"{option} {name}={text}: {text!r} is no number, True, False, dtype or word",
                hint=f"write {option} K=4096 or {option} W=i6",
            )
        definitions[name] = value
    return definitions


def parse_integers(texts: tuple[str, ...], option: str) -> dict[str, int]:
    """`NAME=INTEGER` as often as given; DSL0910 else."""
    integers = {}
    for name, value in parse_definitions(texts, option).items():
        if isinstance(value, bool) or not isinstance(value, int):
            raise error("DSL0910", f"{option} {name}={value}: expected an integer")
        integers[name] = value
    return integers


def read_inputs(texts: tuple[str, ...]) -> dict[str, Array | Scalar]:
    """The arrays and scalars of every `--input NAME=VALUE`; DSL0911 names what cannot be read."""
    return {
        name: _read(name, text) for name, text in parse_pairs(texts, "--input", "DSL0911").items()
    }


def _read(name: str, text: str) -> Array | Scalar:
    value = parse_value(text)
    if value is not None and not isinstance(value, str):
        return value
    path, key = _split_key(text)
    try:
        match path.suffix:
            case ".npy":
                return np.asarray(np.load(path, allow_pickle=False))
            case ".npz":
                with np.load(path, allow_pickle=False) as arrays:
                    return np.asarray(_pick(arrays, key, path))
            case ".safetensors":
                from dslc.runtime.safetensors import read_safetensors

                return np.asarray(_pick(read_safetensors(path), key, path))
    except DiagnosticError:
        raise
    except FileNotFoundError as missing:
        raise error("DSL0911", f"--input {name}: there is no file {path}") from missing
    except (OSError, ValueError, EOFError, _zip_error()) as bad:
        raise error("DSL0911", f"--input {name}: {path} cannot be read: {bad}") from bad
    raise error(
        "DSL0911",
        f"--input {name}={text}: neither a number nor a .npy, .npz or .safetensors file",
        hint=_EXAMPLES,
    )


def _zip_error() -> type[Exception]:
    from zipfile import BadZipFile

    return BadZipFile


def _split_key(text: str) -> tuple[Path, str | None]:
    for suffix in (".npz", ".safetensors"):
        head, separator, key = text.partition(suffix + ":")
        if separator:
            return Path(head + suffix), key
    return Path(text), None


def _pick(arrays: Mapping[str, Array], key: str | None, path: Path) -> Array:
    names = list(arrays)
    if key is None and len(names) == 1:
        return arrays[names[0]]
    if key in names:
        return arrays[key]
    shown = ", ".join(sorted(names)[:8]) + (", ..." if len(names) > 8 else "")
    if key is None:
        raise error(
            "DSL0911", f"{path} holds {len(names)} arrays", hint=f"add :NAME, one of {shown}"
        )
    raise error(
        "DSL0911",
        f"{path} holds no array {key!r}",
        hint=did_you_mean(key, names) or f"it has {shown}",
    )


def fit(name: str, array: Array, dtype: DType) -> tuple[Array, str | None]:
    """The array as the parameter takes it, and a note where that changed it.

    A file knows no bf16: two raw bytes an element are taken as such. A float of another width is
    rounded to the parameter's, so that a model's weights serve as they are. Anything else stays, and
    the call judges it.
    """
    target = storage_dtype(dtype)
    if array.dtype == target:
        return array, None
    if array.dtype.kind == "V" and array.dtype.itemsize == target.itemsize:
        return array.view(target), None
    floats = array.dtype.kind == "f" or array.dtype.name == "bfloat16"
    if floats and dtype.is_float and dtype.bits >= 16:
        note = (
            f"{name}: {array.dtype} rounded to {dtype}"
            if array.itemsize > target.itemsize
            else None
        )
        values = array.astype(np.float64 if array.dtype.itemsize == 8 else np.float32)
        return encode(values, dtype), note
    return array, None
