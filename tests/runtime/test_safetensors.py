"""The safetensors reader: equal to the format's own package, and strict with hostile files."""

import json
import os
import struct
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.runtime.safetensors import read_safetensors
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st


def entry(dtype: str, shape: list[int], start: int, stop: int) -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, stop]}


def write(path: Path, header: object, data: bytes = b"", pad: int = 0) -> Path:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    text += b" " * pad
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


def refused(path: Path, code: str) -> str:
    with pytest.raises(DiagnosticError) as caught:
        dict(read_safetensors(path))
    diagnostic = caught.value.diagnostics[0]
    assert diagnostic.code == code
    assert str(path) in diagnostic.message
    return diagnostic.message


ARRAYS = {
    "a": np.arange(12, dtype=np.float32).reshape(3, 4),
    "b.half": np.arange(6, dtype=np.float16).reshape(2, 1, 3),
    "c": np.array([True, False, True]),
    "scalar": np.array(3.5),
    "empty": np.zeros((0, 4), np.int64),
    "u16": np.arange(5, dtype=np.uint16),
    "i8": np.arange(-3, 4, dtype=np.int8),
    "bf16": np.arange(8).reshape(2, 4).astype(ml_dtypes.bfloat16),
    "f8": np.arange(8).astype(ml_dtypes.float8_e4m3fn),
    "f8e5": np.arange(8).astype(ml_dtypes.float8_e5m2),
}


def test_equal_to_the_formats_own_package(tmp_path: Path) -> None:
    package = pytest.importorskip("safetensors.numpy")
    arrays = {k: v for k, v in ARRAYS.items() if not k.startswith(("f8", "bf16"))}
    path = tmp_path / "model.safetensors"
    package.save_file(arrays, path, metadata={"format": "np"})
    ours, theirs = read_safetensors(path), package.load_file(path)
    assert set(ours) == set(theirs) == set(arrays)
    assert ours.metadata == {"format": "np"}
    for name, expected in theirs.items():
        assert ours[name].dtype == expected.dtype
        np.testing.assert_array_equal(ours[name], expected)


NAMES = {
    "float32": "F32", "float16": "F16", "bool": "BOOL", "float64": "F64", "int64": "I64",
    "uint16": "U16", "int8": "I8", "bfloat16": "BF16", "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2",
}  # fmt: skip


def test_every_dtype_without_a_copy(tmp_path: Path) -> None:
    header, data = {}, b""
    for name, array in ARRAYS.items():
        raw = array.tobytes()
        span = (len(data), len(data) + len(raw))
        header[name] = entry(NAMES[array.dtype.name], list(array.shape), *span)
        data += raw
    tensors = read_safetensors(write(tmp_path / "x", header, data, pad=3))
    assert len(tensors) == len(ARRAYS)
    for name, array in ARRAYS.items():
        assert tensors[name].dtype == array.dtype
        np.testing.assert_array_equal(tensors[name], array)
        assert not tensors[name].flags.writeable or array.size == 0
        assert tensors[name].flags.aligned
    assert np.shares_memory(tensors["c"], tensors["c"])
    assert tensors.stored["a"].shape == (3, 4)
    with pytest.raises(KeyError):
        tensors["missing"]


def test_arrays_outlive_the_reader(tmp_path: Path) -> None:
    path = write(tmp_path / "x", {"t": entry("F32", [2], 0, 8)}, struct.pack("<2f", 1, 2))
    array = read_safetensors(path)["t"]
    path.unlink()
    assert array.tolist() == [1, 2]


def test_an_empty_file_of_tensors(tmp_path: Path) -> None:
    assert dict(read_safetensors(write(tmp_path / "x", {}))) == {}


def test_a_dtype_without_arrays_is_listed_but_not_given(tmp_path: Path) -> None:
    path = write(tmp_path / "x", {"t": entry("F4", [4], 0, 2)}, b"\0\0")
    tensors = read_safetensors(path)
    assert list(tensors) == ["t"]
    with pytest.raises(DiagnosticError, match="tensor 't' is of dtype F4") as caught:
        tensors["t"]
    assert caught.value.diagnostics[0].code == "DSL0783"


GOOD = {"t": entry("F32", [2], 0, 8), "u": entry("U8", [3], 8, 11)}
DATA = bytes(11)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (entry("F32", [2], 0, 4), "takes 8 bytes, its range has 4"),
        (entry("F32", [3], 0, 8), "takes 12 bytes"),
        (entry("F32", [2], -8, 0), "lists of integers from 0 up"),
        (entry("F32", [-2], 0, 8), "lists of integers from 0 up"),
        (entry("F32", [2], 8, 0), "takes 8 bytes, its range has -8"),
        (entry("F32", [2.0], 0, 8), "lists of integers"),
        (entry("F32", [True], 0, 8), "lists of integers"),
        (entry("F32", [2**62, 2**62], 0, 8), "cannot be held"),
        (entry("F32", [2**64], 0, 8), "lists of integers"),
        (entry("F32", [0, 2**62], 0, 0), "cannot be held"),
        (entry("U8", [1] * 33, 0, 1), "cannot be held"),
        (entry("F4", [3], 0, 1), "cannot be held"),
        (entry("F7", [2], 0, 8), "there is no dtype 'F7'"),
        ({**entry("F32", [2], 0, 8), "dtype": 3}, "there is no dtype"),
        ({**entry("F32", [2], 0, 8), "data_offsets": [0, 8, 8]}, "lists of integers"),
        ({**entry("F32", [2], 0, 8), "extra": 1}, "expected an object of dtype"),
        ({"dtype": "F32", "shape": [2]}, "expected an object of dtype"),
        ([1, 2], "expected an object of dtype"),
        (entry("U8", [9], 0, 9), "overlaps another"),
        (entry("F32", [1], 4, 8), "leaves a hole"),
        (entry("U8", [8], 3, 11), "tensor"),
    ],
)
def test_a_wrong_description_names_the_tensor(tmp_path: Path, change: object, what: str) -> None:
    message = refused(write(tmp_path / "x", {**GOOD, "t": change}, DATA), "DSL0782")
    assert what in message
    assert "tensor '" in message


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "0 bytes"),
        (b"1234567", "7 bytes"),
        (struct.pack("<Q", 2**63) + b"{}", "past the format's limit"),
        (struct.pack("<Q", 2**64 - 1) + b"{}", "past the format's limit"),
        (struct.pack("<Q", 100_000_001) + b"{}", "past the format's limit"),
        (struct.pack("<Q", 3) + b"{}", "ends within the header"),
        (struct.pack("<Q", 0), "not JSON"),
        (struct.pack("<Q", 4) + b"\xff\xfe{}", "not JSON"),
        (struct.pack("<Q", 4) + b"null", "not a JSON object"),
        (struct.pack("<Q", 2) + b"{}" + b"x", "1 bytes at its end belong to no tensor"),
    ],
)
def test_what_is_no_such_file_is_refused(tmp_path: Path, content: bytes, what: str) -> None:
    path = tmp_path / "x"
    path.write_bytes(content)
    assert what in refused(path, "DSL0781")


@pytest.mark.parametrize(
    ("header", "what"),
    [
        (b'{"t": ' + b"[" * 200_000 + b"]" * 200_000 + b"}", "nests too deeply"),
        (b'{"t": {"dtype": "U8", "dtype": "U8", "shape": [], "data_offsets": [0, 1]}}', "twice"),
        (b'{"t": 1, "t": 2}', "'t' occurs twice"),
        (b'{"t": NaN}', "NaN"),
        (b'{"t": ' + b"9" * 5000 + b"}", "not JSON"),
        (b'{"__metadata__": {"a": 1}}', "__metadata__"),
        (b'{"__metadata__": []}', "__metadata__"),
    ],
)
def test_a_hostile_header_is_refused(tmp_path: Path, header: bytes, what: str) -> None:
    assert what in refused(write(tmp_path / "x", header), "DSL0781")


def test_every_truncation_is_refused(tmp_path: Path) -> None:
    whole = write(tmp_path / "x", GOOD, DATA).read_bytes()
    for length in range(len(whole)):
        (tmp_path / "x").write_bytes(whole[:length])
        refused(tmp_path / "x", "DSL0781")


def test_a_truncated_file_names_the_tensor_that_it_ends_in(tmp_path: Path) -> None:
    path = write(tmp_path / "x", GOOD, DATA[:9])
    assert "within tensor 'u'" in refused(path, "DSL0781")


@given(st.binary(min_size=1, max_size=8), st.integers(0, 200))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_random_damage_is_an_error_or_a_valid_file(
    tmp_path: Path, noise: bytes, place: int
) -> None:
    content = bytearray(write(tmp_path / "x", GOOD, DATA).read_bytes())
    content[place : place + len(noise)] = noise
    (tmp_path / "x").write_bytes(bytes(content))
    codes = []
    try:
        arrays = dict(read_safetensors(tmp_path / "x"))
    except DiagnosticError as problem:
        codes = [d.code for d in problem.diagnostics]
    else:
        total = sum(array.nbytes for array in arrays.values())
        assert total == len(content) - 8 - struct.unpack("<Q", content[:8])[0]
    assert set(codes) <= {"DSL0781", "DSL0782", "DSL0783"}


def test_what_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    assert "No such file" in refused(tmp_path / "missing", "DSL0780")
    assert "not a file" in refused(tmp_path, "DSL0780")
    os.mkfifo(tmp_path / "pipe")
    assert "not a file" in refused(tmp_path / "pipe", "DSL0780")
