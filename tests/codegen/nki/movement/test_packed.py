"""Rows of codes whose bytes are fixed: bytes where all that is read is whole ones, else codes."""

from __future__ import annotations

import dslc
import pytest

SOURCE = """
kernel k(x: {dtype}[M, {width}] packed row, y: out i32[M, {part}]):
    for m in parallel(range(0, M, 32)):
        y[m : m + 32, :] = cast(x[m : m + 32, 0 : {part}], i32)
"""


@pytest.mark.parametrize(
    ("dtype", "width", "part"), [("u4", 33, 32), ("u3", 20, 16), ("u2", 34, 32)]
)
def test_rows_that_end_within_a_byte_are_codes(dtype: str, width: int, part: int) -> None:
    for columns, codes in ((width, ["x"]), (part + 8, [])):
        source = SOURCE.format(dtype=dtype, width=columns, part=part)
        made = dslc.compile(source=source, target="nki:trn2", cache=False).k.specialize(M=64)
        assert made.artifact.launch["codes"] == codes
