"""Elements of arrays as DLPack names them, against the arrays in which they are stored."""

from __future__ import annotations

import numpy as np
import pytest
from dslc.codegen.c_interface.forms import dlpack_type
from dslc.compiler.dtypes import INDEX, DType, all_dtypes, storage_dtype

_CODES = {"i": 0, "u": 1, "f": 2, "b": 6}  # DLDataTypeCode
_STORED = [d for d in all_dtypes() if d != INDEX]


@pytest.mark.parametrize("dtype", _STORED, ids=str)
def test_elements_are_those_of_the_arrays_that_hold_them(dtype: DType) -> None:
    stored = storage_dtype(dtype)
    code, bits = dlpack_type(dtype.name)
    assert bits == (8 if dtype.bits <= 8 else 8 * stored.itemsize)
    if dtype.bits > 8 or dtype.is_integer:
        assert code == (4 if dtype.name == "bf16" else _CODES[np.dtype(stored).kind])
    else:
        assert code == (6 if dtype.name == "bool" else 1)  # codes of floats are bytes
    assert dlpack_type(dtype.name, packed=True) == (1, 8)
