"""Arrays of others by DLPack: whether a kernel may write them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from dslc.runtime.cuda import arrays


@pytest.mark.parametrize("module", ["jaxlib.xla_extension", "cupy"])
@pytest.mark.parametrize("read_only", [False, True])
def test_arrays_of_jax_are_never_written(
    module: str, read_only: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    tensor = SimpleNamespace(
        address=64, shape=(2, 3), strides=None, dtype=np.dtype(np.float32), device=0,
        read_only=read_only, owner=None,
    )  # fmt: skip
    monkeypatch.setattr(arrays, "read_tensor", lambda _value, _stream: tensor)
    given = type("Array", (), {"__module__": module})()
    found = arrays._from_dlpack(given, 0)
    assert found.read_only == (read_only or module.startswith("jax"))
    assert (found.address, found.shape, found.strides) == (64, (2, 3), (3, 1))
