"""Arrays at a call and values in computation."""

import ml_dtypes
import numpy as np
import pytest
from dslc.compiler.dtypes import (
    DType,
    all_dtypes,
    as_storage,
    first_invalid,
    from_ml_dtypes,
    parse_dtype,
    storage_dtype,
    to_ml_dtypes,
    value_dtype,
)


def dtype(name: str) -> DType:
    found = parse_dtype(name)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("name", "storage", "value"),
    [
        ("f16", np.float16, np.float32),
        ("bf16", ml_dtypes.bfloat16, np.float32),
        ("tf32", np.float32, np.float32),
        ("f32", np.float32, np.float32),
        ("f64", np.float64, np.float64),
        ("i1", np.int8, np.int8),
        ("u7", np.uint8, np.uint8),
        ("u8", np.uint8, np.uint8),
        ("i16", np.int16, np.int16),
        ("u32", np.uint32, np.uint32),
        ("i64", np.int64, np.int64),
        ("index", np.int64, np.int64),
        ("f8e4m3", np.uint8, np.float32),
        ("f3e1m1", np.uint8, np.float32),
        ("e8m0", np.uint8, np.float32),
        ("bool", np.bool_, np.bool_),
    ],
)
def test_storage_and_values(name: str, storage: type, value: type) -> None:
    assert storage_dtype(dtype(name)) == np.dtype(storage)
    assert value_dtype(dtype(name)) == np.dtype(value)


def test_ml_dtypes_there_and_back() -> None:
    there = {d.name: to_ml_dtypes(d) for d in all_dtypes()}
    for name, found in there.items():
        if found is not None:
            assert from_ml_dtypes(found) == dtype(name)
    assert there["bf16"] == ml_dtypes.bfloat16
    assert there["f8e4m3"] == ml_dtypes.float8_e4m3fn
    assert there["i4"] == ml_dtypes.int4
    assert there["f16"] is None
    assert there["f5e2m2"] is None
    # Other formats of 8 bits are not types of the language.
    assert from_ml_dtypes(np.dtype(ml_dtypes.float8_e4m3fnuz)) is None
    assert from_ml_dtypes(np.dtype(np.float32)) is None


def test_arrays_of_a_float_type_serve_as_views() -> None:
    array = np.arange(4).astype(ml_dtypes.float8_e5m2)
    stored = as_storage(array, dtype("f8e5m2"), writable=True)
    assert stored is not None
    assert stored.dtype == np.uint8
    assert np.shares_memory(stored, array)
    assert as_storage(array, dtype("f8e4m3")) is None


def test_arrays_of_an_integer_type_are_copied() -> None:
    array = np.array([-8, 7, -1], np.int8).astype(ml_dtypes.int4)
    stored = as_storage(array, dtype("i4"))
    assert stored is not None
    assert stored.tolist() == [-8, 7, -1]
    assert as_storage(array, dtype("i4"), writable=True) is None


def test_low_bit_codes_may_be_int8_or_uint8() -> None:
    for numpy_dtype in (np.int8, np.uint8):
        stored = as_storage(np.array([0, 7], numpy_dtype), dtype("u4"))
        assert stored is not None
        assert stored.dtype == np.uint8
    assert as_storage(np.zeros(2, np.int8), dtype("u8")) is None
    assert as_storage(np.zeros(2, np.int32), dtype("u4")) is None
    assert as_storage(np.zeros(2, np.float64), dtype("f32")) is None


def test_first_invalid_code() -> None:
    codes = np.zeros((3, 5), np.uint8)
    assert first_invalid(codes, dtype("u4")) is None
    codes[1, 2] = codes[2, 0] = 16
    assert first_invalid(codes, dtype("u4")) == (1, 2)
    assert first_invalid(codes, dtype("u5")) is None
    assert first_invalid(np.array([-1, 0, 1], np.int8), dtype("i1")) == (2,)
    assert first_invalid(np.array([63, 64], np.uint8), dtype("f6e3m2")) == (1,)
    assert first_invalid(np.zeros((0, 4), np.uint8), dtype("u4")) is None
    assert first_invalid(np.array([200], np.uint8), dtype("u8")) is None
