"""Inputs from the command line: what is read, what is random, what is refused."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from dslc.calls.random_inputs import random_array
from dslc.cli.inputs import (
    fit,
    parse_definitions,
    parse_integers,
    parse_value,
    read_inputs,
)
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.dtypes import BF16, F16, I32, DType, Kind, all_dtypes, decode, storage_dtype


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12), ("-3", -3), ("0x10", 16), ("1_000", 1000), ("1e-6", 1e-6), ("2.5", 2.5),
        ("True", True), ("false", False), ("u4", "u4"), ("f6e3m2", "f6e3m2"), ("x.npy", None),
        ("4k", None),
    ],
)  # fmt: skip
def test_values(text: str, value: object) -> None:
    found = parse_value(text)
    assert found == value
    assert type(found) is type(value)


def test_definitions_keep_the_last_of_a_name() -> None:
    assert parse_definitions(("K=1", "W=i6", "K=2")) == {"K": 2, "W": "i6"}


def test_definitions_are_none_and_words_too() -> None:
    words = {"bias": "None", "ACTIVATION": "relu_squared"}
    assert parse_definitions(("bias=None", "ACTIVATION=relu_squared")) == words
    with pytest.raises(DiagnosticError, match="DSL0910"):
        parse_definitions(("W=i66",))


@pytest.mark.parametrize("text", ["M=1.5", "M=True", "M=u4"])
def test_dims_are_integers(text: str) -> None:
    with pytest.raises(DiagnosticError, match="DSL0910"):
        parse_integers((text,), "--dim")


def safetensors(path: Path, tensors: dict[str, np.ndarray]) -> Path:
    header, data = {}, b""
    for name, array in tensors.items():
        raw = array.tobytes()
        span = [len(data), len(data) + len(raw)]
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": span}
        data += raw
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


def test_arrays_of_every_kind_of_file(tmp_path: Path) -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.save(tmp_path / "a.npy", array)
    np.savez(tmp_path / "one.npz", only=array)
    np.savez(tmp_path / "two.npz", x=array, y=array + 1)
    safetensors(tmp_path / "m.safetensors", {"layer.0.weight": array, "b": array + 2})
    given = read_inputs(
        (
            f"a={tmp_path}/a.npy", f"b={tmp_path}/one.npz", f"c={tmp_path}/two.npz:y",
            f"d={tmp_path}/m.safetensors:layer.0.weight", "e=1e-6", "f=3",
        )
    )  # fmt: skip
    for name, expected in (("a", array), ("b", array), ("c", array + 1), ("d", array)):
        assert np.array_equal(given[name], expected)
    assert (given["e"], given["f"]) == (1e-6, 3)


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    array = np.zeros(2, np.float32)
    np.savez(tmp_path / "two.npz", weight=array, bias=array)
    whole = safetensors(tmp_path / "m.safetensors", {"weight": array, "b": array}).read_bytes()
    (tmp_path / "cut.safetensors").write_bytes(whole[:-3])
    (tmp_path / "text.npy").write_text("no array")
    (tmp_path / "text.npz").write_text("no archive")
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    for spec, words in (
        ("missing.npy", "there is no file"),
        ("two.npz", "holds 2 arrays"),
        ("two.npz:weihgt", "did you mean"),
        ("m.safetensors", "holds 2 arrays"),
        ("m.safetensors:c", "holds no array"),
        ("cut.safetensors:b", "cut.safetensors"),
        ("text.npy", "cannot be read"),
        ("text.npz:a", "cannot be read"),
        ("objects.npy", "cannot be read"),
        ("weights.bin", "neither a number"),
        (".", "neither a number"),
    ):
        with pytest.raises(DiagnosticError) as found:
            read_inputs((f"w={tmp_path}/{spec}",))
        said = "".join(f"{d.message} {d.hint}" for d in found.value.diagnostics)
        assert words in said, spec


@pytest.mark.parametrize("dtype", all_dtypes(), ids=str)
def test_random_arrays_fit_their_dtype(dtype: DType) -> None:
    array = random_array(dtype, (16, 33), np.random.default_rng(1))
    assert array.dtype == storage_dtype(dtype)
    assert np.array_equal(array, random_array(dtype, (16, 33), np.random.default_rng(1)))
    values = np.asarray(decode(array, dtype), np.float64)
    assert np.isfinite(values).all()
    if dtype.is_integer and dtype.bits <= 8:
        least, greatest = dtype.integer_range
        assert array.min() >= least
        assert array.max() <= greatest
    if dtype.bits < 8 and dtype.kind in (Kind.FLOAT, Kind.UINT):
        assert array.max() < 1 << dtype.bits
    assert len(np.unique(array)) > 1


def test_a_wider_float_is_rounded_and_said() -> None:
    array = np.array([1.0, 1 + 2.0**-12], np.float32)
    fitted, note = fit("w", array, F16)
    assert fitted.dtype == np.float16
    assert note == "w: float32 rounded to f16"
    fitted, note = fit("w", array.astype(np.float16), BF16)
    assert fitted.dtype == ml_dtypes.bfloat16
    same, note = fit("w", array, I32)
    assert same is array
    assert note is None


def test_bf16_survives_a_file(tmp_path: Path) -> None:
    array = np.array([1.5, -2.0], ml_dtypes.bfloat16)
    np.save(tmp_path / "a.npy", array)
    fitted, note = fit("a", read_inputs((f"a={tmp_path}/a.npy",))["a"], BF16)
    assert np.array_equal(fitted, array)
    assert note is None
