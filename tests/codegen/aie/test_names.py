"""Names of a core's values are not those of buffers, which end by their tile's column and row."""

from __future__ import annotations

import re

import pytest
from dslc.codegen.aie.printing.builder import Builder


@pytest.mark.parametrize("hint", ["x", "x_1", "x_3_2", "3_2", "x_1_v"])
def test_no_name_of_a_value_ends_as_a_buffers(hint: str) -> None:
    out = Builder(0)
    names = [out.name(hint) for _ in range(4)]
    assert len(set(names)) == 4
    assert not any(re.search(r"_\d+_\d+$", name) for name in names)
