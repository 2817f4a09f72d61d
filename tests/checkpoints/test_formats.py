"""Formats of safetensors, written here by plain loops as their documents say, and read back."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from dslc.checkpoints import open_checkpoint
from dslc.compiler.diagnostics import DiagnosticError
from dslc.quantize import Quantized, dequantize
from safetensors.numpy import save_file

RNG = np.random.default_rng(7)
MODULE = "model.layers.0.mlp.up_proj"


def words_along(codes: np.ndarray, bits: int) -> np.ndarray:
    """Rows of codes as words of 32 bits, one after another, by Python's own integers."""
    rows = []
    for row in codes:
        whole = sum(int(c) << (i * bits) for i, c in enumerate(row))
        count = -(-len(row) * bits // 32)
        rows.append([(whole >> (32 * w)) & 0xFFFFFFFF for w in range(count)])
    return np.array(rows, np.uint32)


def padded_words(codes: np.ndarray, bits: int) -> np.ndarray:
    """Rows of codes as words of 32 bits that hold 32 // bits of them each."""
    per = 32 // bits
    rows = []
    for row in codes:
        parts = [row[i : i + per] for i in range(0, len(row), per)]
        rows.append([sum(int(c) << (j * bits) for j, c in enumerate(p)) for p in parts])
    return np.array(rows, np.uint32)


def write(folder: Path, pieces: dict[str, np.ndarray], config: dict[str, Any]) -> Path:
    folder.mkdir(exist_ok=True)
    named = {f"{MODULE}.{k}": np.ascontiguousarray(v) for k, v in pieces.items()}
    save_file({**named, "model.norm.weight": np.ones(3, np.float32)}, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def read(folder: Path) -> Quantized:
    found = open_checkpoint(folder)
    assert set(found) == {f"{MODULE}.weight", "model.norm.weight"}
    weight = found[f"{MODULE}.weight"]
    assert isinstance(weight, Quantized)
    return weight


def scales_of(groups: int, columns: int) -> np.ndarray:
    return (RNG.random((groups, columns)) + 0.1).astype(np.float16)


@pytest.mark.parametrize("bits", [2, 3, 4, 8])
@pytest.mark.parametrize("version", ["gptq", "gptq_v2"])
@pytest.mark.parametrize("ordered", [False, True])
def test_gptq(bits: int, version: str, ordered: bool, tmp_path: Path) -> None:
    rows, columns, group = 128, 32, 32
    top = 1 << bits
    codes = RNG.integers(0, top, (rows, columns))
    zeros = RNG.integers(1, top, (rows // group, columns))  # one past the codes' middle at most
    scales = scales_of(rows // group, columns)
    index = np.arange(rows) // group
    if ordered:
        index = RNG.permutation(index)
    pieces = {
        "qweight": words_along(codes.T, bits).T.view(np.int32),
        "qzeros": words_along(zeros - (version == "gptq"), bits).view(np.int32),
        "scales": scales,
        "g_idx": index.astype(np.int32),
    }
    options = {
        "quant_method": "gptq",
        "bits": bits,
        "group_size": group,
        "desc_act": ordered,
        "checkpoint_format": version,
    }
    found = read(write(tmp_path, pieces, {"quantization_config": options}))
    assert (found.row_order is not None) == ordered
    assert found.dtype.name == f"u{bits}"
    expected = (codes - zeros[index]) * scales[index].astype(np.float32)
    np.testing.assert_array_equal(dequantize(found), expected)


def test_gptq_s_zero_points_may_be_one_past_the_codes(tmp_path: Path) -> None:
    pieces = {
        "qweight": words_along(np.zeros((8, 32), int), 4).T.view(np.int32),
        "qzeros": np.full((1, 1), -1, np.int32),
        "scales": np.ones((1, 8), np.float16),
    }
    options = {"quant_method": "gptq", "bits": 4, "group_size": -1}
    found = read(write(tmp_path, pieces, {"quantization_config": options}))
    assert (dequantize(found) == -16).all()
    assert found.group == 32


def test_awq(tmp_path: Path) -> None:
    rows, columns, group = 64, 24, 32
    codes, zeros = RNG.integers(0, 16, (rows, columns)), RNG.integers(0, 16, (2, columns))
    scales = scales_of(2, columns)
    order = np.arange(columns).reshape(-1, 8)[:, [0, 2, 4, 6, 1, 3, 5, 7]].reshape(-1)
    pieces = {
        "qweight": words_along(codes[:, order], 4).view(np.int32),
        "qzeros": words_along(zeros[:, order], 4).view(np.int32),
        "scales": scales,
    }
    options = {"quant_method": "awq", "bits": 4, "group_size": group, "version": "gemm"}
    found = read(write(tmp_path, pieces, {"quantization_config": options}))
    index = np.arange(rows) // group
    expected = (codes - zeros[index]) * scales[index].astype(np.float32)
    np.testing.assert_array_equal(dequantize(found), expected)


@pytest.mark.parametrize("bits", [3, 4, 8])
@pytest.mark.parametrize("zeroed", [False, True])
def test_compressed_tensors_packed(bits: int, zeroed: bool, tmp_path: Path) -> None:
    columns, rows, group = 12, 64, 16
    half = 1 << (bits - 1)
    codes = RNG.integers(-half, half, (columns, rows))
    scales = scales_of(columns, rows // group)
    zeros = RNG.integers(-half, half, (columns, rows // group)) if zeroed else 0
    pieces = {
        "weight_packed": padded_words(codes + half, bits).view(np.int32),
        "weight_scale": scales.astype(ml_dtypes.bfloat16),
        "weight_shape": np.array([columns, rows], np.int64),
    }
    if zeroed:
        pieces["weight_zero_point"] = padded_words((zeros + half).T, bits).T.view(np.int32)
    options = {
        "quant_method": "compressed-tensors",
        "format": "pack-quantized",
        "config_groups": {"group_0": {"weights": {"num_bits": bits}}},
    }
    found = read(write(tmp_path, pieces, {"quantization_config": options}))
    assert found.dtype.name == f"i{bits}"
    assert found.scale_dtype.name == "bf16"
    wide = np.repeat(pieces["weight_scale"].astype(np.float32), group, axis=1)
    moved = codes - np.repeat(zeros, group, axis=1) if zeroed else codes
    np.testing.assert_array_equal(dequantize(found), (moved * wide).T)


def test_nvfp4_and_mxfp4(tmp_path: Path) -> None:
    columns, rows = 6, 64
    codes = RNG.integers(0, 16, (columns, rows)).astype(np.uint8)
    values = codes.view(ml_dtypes.float4_e2m1fn).astype(np.float32)
    packed = codes[:, ::2] | codes[:, 1::2] << 4
    scales = (RNG.random((columns, 4)) * 4 + 1).astype(ml_dtypes.float8_e4m3fn)
    pieces = {
        "weight_packed": packed,
        "weight_scale": scales,
        "weight_global_scale": np.array([4.0], np.float32),
    }
    options = {"quant_method": "compressed-tensors", "format": "nvfp4-pack-quantized"}
    found = read(write(tmp_path / "nv", pieces, {"quantization_config": options}))
    expected = values * np.repeat(scales.astype(np.float32), 16, axis=1) / 4
    np.testing.assert_array_equal(dequantize(found), expected.T)
    powers = RNG.integers(120, 130, (columns, 2)).astype(np.uint8)
    pieces = {"weight_packed": packed, "weight_scale": powers}
    options["format"] = "mxfp4-pack-quantized"
    found = read(write(tmp_path / "mx", pieces, {"quantization_config": options}))
    expected = values * np.repeat(np.exp2(powers.astype(np.float32) - 127), 32, axis=1)
    np.testing.assert_array_equal(dequantize(found), expected.T)
    assert found.group == 32
    assert found.scale_dtype.name == "e8m0"


@pytest.mark.parametrize("shape", [(), (1,), (256,), (256, 1), (256, 4), (2, 2)])
def test_fp8_with_scales_of_the_tensor_rows_groups_and_blocks(
    shape: tuple[int, ...], tmp_path: Path
) -> None:
    weight = RNG.standard_normal((256, 256)).astype(ml_dtypes.float8_e4m3fn)
    scales = (RNG.random(shape) + 0.5).astype(np.float32)
    name = "weight_scale_inv" if shape == (2, 2) else "weight_scale"
    pieces = {"weight": weight, name: np.asarray(scales)}
    found = read(write(tmp_path, pieces, {"quantization_config": {"quant_method": "fp8"}}))
    wide = np.asarray(scales).reshape(*(shape if len(shape) == 2 else (-1, 1)))
    wide = np.repeat(wide, 256 // wide.shape[0], axis=0)
    wide = np.repeat(wide, 256 // wide.shape[1], axis=1)
    np.testing.assert_array_equal(dequantize(found), (weight.astype(np.float32) * wide).T)


def test_integers_of_8_bits(tmp_path: Path) -> None:
    weight = RNG.integers(-128, 128, (8, 32)).astype(np.int8)
    scales = scales_of(8, 1)
    pieces = {"weight": weight, "weight_scale": scales}
    options = {"quant_method": "compressed-tensors", "format": "int-quantized"}
    found = read(write(tmp_path, pieces, {"quantization_config": options}))
    np.testing.assert_array_equal(dequantize(found), (weight * scales.astype(np.float32)).T)


@pytest.mark.parametrize("nested", [False, True])
def test_bitsandbytes_nf4(nested: bool, tmp_path: Path) -> None:
    columns, rows, size = 8, 128, 64
    codes = RNG.integers(0, 16, (columns, rows)).astype(np.uint8)
    table = np.sort(RNG.standard_normal(16)).astype(np.float32)
    state: dict[str, Any] = {"quant_type": "nf4", "blocksize": size, "shape": [columns, rows]}
    pieces = {
        "weight": (codes[:, ::2] << 4 | codes[:, 1::2]).reshape(-1, 1),
        "weight.quant_map": table,
    }
    blocks = columns * rows // size
    if nested:
        inner = RNG.integers(0, 256, blocks).astype(np.uint8)
        map_ = RNG.random(256).astype(np.float32)
        outer = RNG.random(2).astype(np.float32)
        pieces |= {
            "weight.absmax": inner,
            "weight.nested_quant_map": map_,
            "weight.nested_absmax": outer,
        }
        state |= {"nested_blocksize": 8, "nested_offset": 0.25}
        maxima = map_[inner] * np.repeat(outer, 8) + np.float32(0.25)
    else:
        maxima = RNG.random(blocks).astype(np.float32)
        pieces["weight.absmax"] = maxima
    raw = json.dumps(state).encode()
    pieces["weight.quant_state.bitsandbytes__nf4"] = np.frombuffer(raw, np.uint8)
    options = {"quant_method": "bitsandbytes", "load_in_4bit": True}
    found = read(write(tmp_path, pieces, {"quantization_config": options}))
    expected = table[codes] * np.repeat(maxima, size).reshape(columns, rows)
    np.testing.assert_array_equal(dequantize(found), expected.T)


def test_bitsandbytes_int8(tmp_path: Path) -> None:
    weight = RNG.integers(-127, 128, (8, 32)).astype(np.int8)
    maxima = RNG.random(8).astype(np.float32)
    pieces = {"weight": weight, "SCB": maxima, "weight_format": np.zeros((), np.uint8)}
    options = {"quant_method": "bitsandbytes", "load_in_8bit": True}
    found = read(write(tmp_path, pieces, {"quantization_config": options}))
    expected = weight.astype(np.float32) * (maxima[:, None] / 127)
    np.testing.assert_allclose(dequantize(found), expected.T, rtol=3e-7)


@pytest.mark.parametrize("bits", [2, 3, 4, 5, 6, 8])
def test_mlx(bits: int, tmp_path: Path) -> None:
    columns, rows, group = 8, 128, 64
    codes = RNG.integers(0, 1 << bits, (columns, rows))
    scales, biases = scales_of(columns, 2), scales_of(columns, 2)
    pieces = {"weight": words_along(codes, bits), "scales": scales, "biases": biases}
    config = {"quantization": {"group_size": group, "bits": bits}}
    found = read(write(tmp_path, pieces, config))
    wide, moved = (np.repeat(a.astype(np.float32), group, axis=1) for a in (scales, biases))
    np.testing.assert_array_equal(dequantize(found), (codes * wide + moved).T)


def test_shards_are_opened_by_their_index(tmp_path: Path) -> None:
    parts = {"a.weight": "one.safetensors", "b.weight": "two.safetensors"}
    for name, file in parts.items():
        save_file({name: np.full((2, 2), ord(name[0]), np.float32)}, tmp_path / file)
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": parts}))
    found = open_checkpoint(tmp_path)
    assert [float(np.asarray(found[n])[0, 0]) for n in sorted(found)] == [97.0, 98.0]
    (tmp_path / "two.safetensors").unlink()
    with pytest.raises(DiagnosticError, match=r"DSL0785.*has no two\.safetensors"):
        open_checkpoint(tmp_path)
    index.write_text(json.dumps({"weight_map": {"a.weight": "../one.safetensors"}}))
    with pytest.raises(DiagnosticError, match=r"DSL0785.*not a file beside the index"):
        open_checkpoint(tmp_path)
    index.write_text(json.dumps({"weight_map": {"c.weight": "one.safetensors"}}))
    with pytest.raises(DiagnosticError, match=r"DSL0785.*has no tensor 'c\.weight'"):
        open_checkpoint(tmp_path)["c.weight"]


def changed(name: str, make: Callable[[np.ndarray], np.ndarray | None]) -> dict[str, np.ndarray]:
    pieces: dict[str, np.ndarray] = {
        "qweight": np.zeros((8, 16), np.int32),
        "qzeros": np.zeros((2, 2), np.int32),
        "scales": np.ones((2, 16), np.float16),
        "g_idx": (np.arange(64) // 32).astype(np.int32),
    }
    value = make(pieces.pop(name))
    return pieces if value is None else {**pieces, name: value}


@pytest.mark.parametrize(
    ("pieces", "code"),
    [
        (changed("qzeros", lambda a: None), "DSL0785"),
        (changed("scales", lambda a: a[:, :8]), "DSL0785"),
        (changed("scales", lambda a: a[0]), "DSL0785"),
        (changed("scales", lambda a: a.astype(np.int32)), "DSL0785"),
        (changed("qzeros", lambda a: a[:1]), "DSL0785"),
        (changed("g_idx", lambda a: a[:40]), "DSL0785"),
        (changed("g_idx", lambda a: a * 0), "DSL0786"),
        (changed("qweight", lambda a: a[:7]), "DSL0785"),
    ],
)
def test_pieces_that_do_not_fit_are_refused(
    pieces: dict[str, np.ndarray], code: str, tmp_path: Path
) -> None:
    options = {"quant_method": "gptq", "bits": 4, "group_size": 32}
    folder = write(tmp_path, pieces, {"quantization_config": options})
    with pytest.raises(DiagnosticError, match=f"{code}.*{MODULE}"):
        read(folder)


@pytest.mark.parametrize("text", ["{", "[]", "{" * 100_000, '{"a": 1}'])
def test_config_that_is_no_object(text: str, tmp_path: Path) -> None:
    write(tmp_path, {"weight": np.ones((2, 2), np.float32)}, {})
    (tmp_path / "config.json").write_text(text)
    if text == '{"a": 1}':
        assert open_checkpoint(tmp_path).config == {"a": 1}
    else:
        with pytest.raises(DiagnosticError, match="DSL0785"):
            open_checkpoint(tmp_path)


def test_codes_of_an_unknown_method_are_refused(tmp_path: Path) -> None:
    write(tmp_path, {"qweight": np.zeros((2, 2), np.int32)}, {})
    with pytest.raises(DiagnosticError, match="DSL0786"):
        open_checkpoint(tmp_path)
