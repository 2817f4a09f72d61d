"""Names of dtypes and what they say."""

import pytest
from dslc.compiler.dtypes import INDEX, DType, Kind, all_dtypes, parse_dtype


def test_every_dtype_parses_from_its_name() -> None:
    for dtype in all_dtypes():
        assert parse_dtype(dtype.name) == dtype
        assert hash(parse_dtype(dtype.name)) == hash(dtype)


def test_all_widths_and_all_splits_of_floats_exist() -> None:
    names = {d.name for d in all_dtypes()}
    assert {f"{letter}{bits}" for letter in "iu" for bits in (*range(1, 9), 16, 32, 64)} <= names
    splits = {(b, e) for b in range(3, 9) for e in range(1, b)}
    assert {f"f{b}e{e}m{b - 1 - e}" for b, e in splits} <= names
    assert {"bool", "f16", "bf16", "tf32", "f32", "f64", "e8m0"} <= names
    assert len(names) == len(all_dtypes()) == 22 + len(splits) + 7


@pytest.mark.parametrize("name", ["i9", "u0", "f8e4m4", "f9e4m4", "f8", "F16", "f2e1m0", "u4 ", ""])
def test_other_names_are_not_dtypes(name: str) -> None:
    assert parse_dtype(name) is None


def test_integer_ranges() -> None:
    assert DType("i1", Kind.INT, 1).integer_range == (-1, 0)
    assert DType("u4", Kind.UINT, 4).integer_range == (0, 15)
    assert INDEX.integer_range == (-(2**63), 2**63 - 1)
