"""Formats beside the libraries that write them: their own packing, their own dequantisation."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dslc.checkpoints import open_checkpoint
from dslc.quantize import Quantized, dequantize

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch
MODULE = "mlp.up_proj"


def read(folder: Path, pieces: Mapping[str, Any], config: dict[str, Any]) -> Quantized:
    save = pytest.importorskip("safetensors.torch").save_file
    named = {f"{MODULE}.{k}": v.contiguous() for k, v in pieces.items()}
    save(named, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(config))
    weight = open_checkpoint(folder)[f"{MODULE}.weight"]
    assert isinstance(weight, Quantized)
    return weight


def bits_of(tensor: Any) -> np.ndarray:
    return np.asarray(tensor.to(torch.float32).numpy())


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("group", [32, 128])
def test_compressed_tensors(bits: int, symmetric: bool, group: int, tmp_path: Path) -> None:
    pytest.importorskip("compressed_tensors")
    from compressed_tensors.compressors import PackedQuantizationCompressor
    from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme

    torch.manual_seed(bits)
    args = QuantizationArgs(
        num_bits=bits, type="int", symmetric=symmetric, strategy="group", group_size=group
    )
    scheme = QuantizationScheme(targets=["Linear"], weights=args)
    weight = torch.randn(48, 256)
    scale = weight.reshape(48, -1, group).abs().amax(-1) / (1 << bits - 1)
    state = {"weight": weight, "weight_scale": scale}
    half = 1 << bits - 1
    if not symmetric:
        shape = scale.shape
        state["weight_zero_point"] = torch.randint(-half, half, shape, dtype=torch.int8)
    pieces = PackedQuantizationCompressor.compress(dict(state), scheme)
    expected = PackedQuantizationCompressor.decompress(dict(pieces), scheme)["weight"]
    options = {
        "quant_method": "compressed-tensors",
        "format": "pack-quantized",
        "config_groups": {"group_0": {"weights": {"num_bits": bits}}},
    }
    found = read(tmp_path, pieces, {"quantization_config": options})
    np.testing.assert_array_equal(dequantize(found).T, bits_of(expected))


def test_nvfp4(tmp_path: Path) -> None:
    pytest.importorskip("compressed_tensors")
    from compressed_tensors.compressors import NVFP4PackedCompressor
    from compressed_tensors.quantization import preset_name_to_scheme

    scheme = preset_name_to_scheme("NVFP4A16", ["Linear"])
    weight = torch.randn(32, 64, generator=torch.Generator().manual_seed(2))
    whole = torch.tensor([448.0 * 6 / float(weight.abs().max())])
    blocks = weight.reshape(32, 4, 16).abs().amax(-1)
    scale = (blocks / 6 * whole).to(torch.float8_e4m3fn).float()
    state = {"weight": weight, "weight_scale": scale, "weight_global_scale": whole}
    pieces = NVFP4PackedCompressor.compress(dict(state), scheme)
    expected = NVFP4PackedCompressor.decompress(dict(pieces), scheme)["weight"]
    options = {"quant_method": "compressed-tensors", "format": "nvfp4-pack-quantized"}
    found = read(tmp_path, pieces, {"quantization_config": options})
    # Its own result is in bf16; two codes differ by a seventh at least.
    np.testing.assert_allclose(dequantize(found).T, bits_of(expected), rtol=4e-3)


@pytest.mark.parametrize("kind", ["nf4", "fp4"])
@pytest.mark.parametrize("nested", [True, False])
def test_bitsandbytes(kind: str, nested: bool, tmp_path: Path) -> None:
    functional = pytest.importorskip("bitsandbytes.functional")
    weight = torch.randn(64, 512, generator=torch.Generator().manual_seed(1))
    packed, state = functional.quantize_4bit(
        weight, blocksize=64, compress_statistics=nested, quant_type=kind
    )
    expected = functional.dequantize_4bit(packed, state)
    parts = {f"weight.{k}": v for k, v in state.as_dict(packed=True).items()}
    found = read(tmp_path, {"weight": packed, **parts}, {})
    np.testing.assert_allclose(dequantize(found).T, bits_of(expected), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("bits", [2, 3, 4, 5, 6, 8])
def test_mlx(bits: int, tmp_path: Path) -> None:
    mlx = pytest.importorskip("mlx.core")
    from safetensors.numpy import save_file

    weight = mlx.random.normal((24, 256))
    words, scales, biases = mlx.quantize(weight, group_size=64, bits=bits)
    expected = mlx.dequantize(words, scales, biases, group_size=64, bits=bits)
    pieces = {"weight": words, "scales": scales, "biases": biases}
    save_file({f"{MODULE}.{k}": np.array(v) for k, v in pieces.items()}, tmp_path / "a.safetensors")
    (tmp_path / "config.json").write_text(
        json.dumps({"quantization": {"group_size": 64, "bits": bits}})
    )
    found = open_checkpoint(tmp_path)[f"{MODULE}.weight"]
    assert isinstance(found, Quantized)
    np.testing.assert_allclose(dequantize(found).T, np.array(expected), rtol=1e-6, atol=1e-6)
