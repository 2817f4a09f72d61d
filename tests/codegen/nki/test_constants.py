"""Constant tiles: of small floats they are codes, as their tensors are."""

from __future__ import annotations

import pytest

from support.oracle.profiles import profile
from support.oracle.running import run
from support.oracle.table import rest


@pytest.mark.parametrize("dtype", ["f4e2m1", "f6e2m3", "f8e3m4", "f8e4m3", "f8e5m2", "i8", "f16"])
def test_a_number_everywhere(dtype: str) -> None:
    programs = [p for names, p in rest(profile("nki:trn2"), dtype) if names == ("full",)]
    assert [run("nki:trn2", p).kind for p in programs] == ["right"]
