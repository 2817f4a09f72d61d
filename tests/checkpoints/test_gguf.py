"""GGUF beside its own library: every block type bit for bit, whole files, and damaged ones."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from dslc.checkpoints import open_checkpoint
from dslc.checkpoints.gguf import read_gguf
from dslc.checkpoints.gguf_blocks import BLOCKS
from dslc.compiler.diagnostics import DiagnosticError
from dslc.quantize import Quantized, dequantize

gguf = pytest.importorskip("gguf")
KIND = gguf.GGMLQuantizationType


def random_blocks(kind: int, columns: int, blocks: int, seed: int = 0) -> np.ndarray:
    size = BLOCKS[kind].size
    return np.random.default_rng(seed).integers(0, 256, (columns, blocks * size), dtype=np.uint8)


@pytest.mark.parametrize("kind", BLOCKS, ids=lambda k: BLOCKS[k].name)
def test_a_block_is_what_the_library_takes_it_for(kind: int) -> None:
    assert (BLOCKS[kind].elements, BLOCKS[kind].size) == gguf.GGML_QUANT_SIZES[KIND(kind)]
    raw = random_blocks(kind, 7, 3)
    with np.errstate(all="ignore"):
        expected = gguf.dequantize(raw, KIND(kind))
        found = BLOCKS[kind].read(raw.reshape(7, 3, -1))
        np.testing.assert_array_equal(dequantize(found).T, expected)
    assert found.codes.shape == (3 * BLOCKS[kind].elements, 7)
    if found.dtype.is_integer:
        least, greatest = found.dtype.integer_range
        assert least <= found.codes.min()
        assert found.codes.max() <= greatest


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file as the library writes it: a float, a bf16 and a quantised tensor, and metadata."""
    path = tmp_path_factory.mktemp("gguf") / "small.gguf"
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_block_count(2)
    writer.add_array("tokenizer.ggml.tokens", ["a", "é", "▁c"])
    writer.add_array("tokenizer.ggml.scores", [0.5, -1.0, 2.0])
    writer.add_tensor("output_norm.weight", np.arange(6, dtype=np.float32))
    writer.add_tensor("blk.0.ffn_up.weight", random_blocks(12, 4, 2), raw_dtype=KIND.Q4_K)
    writer.add_tensor(
        "blk.0.attn_q.weight",
        np.array([[0x3F80, 0xC000]], np.uint16).view(np.uint8),
        raw_dtype=KIND.BF16,
    )
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_a_file_has_its_metadata_and_tensors(model: Path) -> None:
    found = open_checkpoint(model)
    assert found.config["general.architecture"] == "llama"
    assert found.config["llama.block_count"] == 2
    assert found.config["tokenizer.ggml.tokens"] == ["a", "é", "▁c"]
    assert found.config["tokenizer.ggml.scores"] == [0.5, -1.0, 2.0]
    np.testing.assert_array_equal(found["output_norm.weight"], np.arange(6, dtype=np.float32))
    np.testing.assert_array_equal(
        np.asarray(found["blk.0.attn_q.weight"]).astype(np.float32), [[1.0, -2.0]]
    )
    up = found["blk.0.ffn_up.weight"]
    assert isinstance(up, Quantized)
    assert up.codes.shape == (512, 4)
    assert up.group == 32


def test_a_file_cut_anywhere_is_refused_or_whole(model: Path, tmp_path: Path) -> None:
    whole = model.read_bytes()
    cut = tmp_path / "cut.gguf"
    end = max(t.start + t.size for t in read_gguf(model).stored.values())
    for size in [*range(0, 700, 7), *range(700, end, 101)]:
        cut.write_bytes(whole[:size])
        with pytest.raises(DiagnosticError, match=r"DSL0784|DSL0780"):
            read_gguf(cut)


def header(tensors: int = 0, pairs: int = 0, version: int = 3) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, tensors, pairs)


@pytest.mark.parametrize(
    "data",
    [
        b"GGML" + bytes(40),
        header(version=1) + bytes(40),
        header(tensors=2**60) + bytes(40),
        header(pairs=2**60) + bytes(40),
        header(pairs=1) + struct.pack("<Q", 2**63) + bytes(40),
        header(pairs=1) + struct.pack("<Q1sI", 1, b"a", 99) + bytes(40),
        header(pairs=1) + struct.pack("<Q1sIIQ", 1, b"a", 9, 4, 2**61) + bytes(40),
        header(pairs=1) + struct.pack("<Q1sIIQ", 1, b"a", 9, 9, 1) + bytes(40),
        header(pairs=1) + struct.pack("<Q17sII", 17, b"general.alignment", 4, 0) + bytes(40),
        header(pairs=2) + 2 * struct.pack("<Q1sI", 1, b"a", 0) + bytes(40),
        header(tensors=1) + struct.pack("<Q1sI", 1, b"a", 9) + bytes(80),
        header(tensors=1) + struct.pack("<Q1sIQQIQ", 1, b"a", 2, 2**40, 2**40, 0, 0) + bytes(80),
        header(tensors=1) + struct.pack("<Q1sIQIQ", 1, b"a", 1, 4, 0, 2**63) + bytes(80),
        header(tensors=1) + struct.pack("<Q1sIQIQ", 1, b"a", 1, 31, 2, 0) + bytes(80),
    ],
)
def test_a_hostile_header_is_refused_with_its_place(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "hostile.gguf"
    path.write_bytes(data)
    with pytest.raises(DiagnosticError, match=r"DSL0784.*byte"):
        read_gguf(path)


def test_a_type_without_a_reader_is_named(tmp_path: Path) -> None:
    path = tmp_path / "other.gguf"
    path.write_bytes(
        header(tensors=1) + struct.pack("<Q1sIQIQ", 1, b"a", 1, 256, 16, 0) + bytes(99)
    )
    with pytest.raises(DiagnosticError, match="DSL0786"):
        read_gguf(path)
