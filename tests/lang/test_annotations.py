"""Annotations say what `.tile` says."""

import pickle

import dslc
import pytest
from dslc.compiler.dtypes import all_dtypes, parse_dtype
from dslc.lang import annotations, elements, f16, inout, out, packed, strides, tensor, u4

M, N, K, G = dslc.dims("M, N K G")


@pytest.mark.parametrize("dtype", all_dtypes(), ids=str)
def test_a_dtype_by_name_equals_the_compilers(dtype):
    mine = getattr(elements, dtype.name)
    assert mine == dtype
    assert dtype == mine
    assert hash(mine) == hash(dtype)
    assert {dtype: 1}[mine] == 1
    assert getattr(dslc, dtype.name) is mine
    assert pickle.loads(pickle.dumps(mine)) == dtype


def test_dtypes_differ():
    assert f16 != parse_dtype("bf16")
    assert parse_dtype("bf16") != f16
    assert f16 != "f16"


@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        (f16[M, K], "f16[M, K]"),
        (f16[M], "f16[M]"),
        (out[f16[M, N]], "out f16[M, N]"),
        (inout[f16[K // G, N]], "inout f16[K // G, N]"),
        (strides(f16[M, K], M, 1), "f16[M, K] strides (M, 1)"),
        (packed(u4[K, N], "row"), "u4[K, N] packed row"),
        (out[strides(f16[M, 2 * K], 1, M)], "out f16[M, 2 * K] strides (1, M)"),
        (tensor[f16, M, K], "f16[M, K]"),
        (tensor[f16], "f16"),
        (out[f16, M], "out f16[M]"),
        (inout[f16, K // G, N, strides(M, 1)], "inout f16[K // G, N] strides (M, 1)"),
        (tensor[u4, K, N, packed("row")], "u4[K, N] packed row"),
        (f16[(M + 1) * 2, 8 - M % 4], "f16[(M + 1) * 2, 8 - (M % 4)]"),
    ],
)
def test_an_annotation_prints_as_in_a_file(annotation, text):
    assert str(annotation) == text


def test_a_dtype_is_not_iterable():
    with pytest.raises(TypeError, match="not iterable"):
        list(f16)


def test_a_mode_needs_a_type():
    with pytest.raises(TypeError, match="expected a type"):
        out[3]


@pytest.mark.parametrize("names", ["M", "M N", "M,N", " M , N "])
def test_dims_are_always_a_tuple(names):
    found = dslc.dims(names)
    assert [str(d) for d in found] == names.replace(",", " ").split()
    assert all(isinstance(d, annotations.Dim) for d in found)


def test_a_dim_is_a_name():
    with pytest.raises(ValueError, match="'2x' is not a name"):
        dslc.dims("M 2x")
