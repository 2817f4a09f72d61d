"""Random kernels of the language, as text, against the same lines in NumPy."""

from __future__ import annotations

import pytest

from support.generated.random_sources import differs
from support.machines import require


@pytest.mark.parametrize("target", ["interp", "aarch64:i8mm", "nki:trn2", "aie:npu2"])
def test_the_text_means_what_it_means_in_numpy(target: str) -> None:
    require(target)
    assert [seed for seed in range(6) if differs(target, seed)] == []
