"""Rows of codes whose bytes are fixed: whole bytes, or refused."""

from __future__ import annotations

import dslc
import pytest

from support.packages import failure

SOURCE = """
kernel k(x: {dtype}[M, {width}] packed row, y: out i32[M, {part}]):
    for m in parallel(range(0, M, 32)):
        y[m : m + 32, :] = cast(x[m : m + 32, 0 : {part}], i32)
"""


@pytest.mark.parametrize(
    ("dtype", "width", "part"), [("u4", 33, 32), ("u3", 20, 16), ("u2", 34, 32)]
)
def test_rows_that_end_within_a_byte_are_refused(dtype: str, width: int, part: int) -> None:
    source = SOURCE.format(dtype=dtype, width=width, part=part)
    kernel = dslc.compile(source=source, target="nki:trn2", cache=False).k
    found = failure(lambda: kernel.specialize(M=64))
    assert found.code == "DSL0590"
    assert "whole bytes" in found.message
    whole = SOURCE.format(dtype=dtype, width=part + 8, part=part)
    assert dslc.compile(source=whole, target="nki:trn2", cache=False).k.specialize(M=64)
