"""Sessions on a GPU: buffers in its memory, rows of them, launches over both."""

from __future__ import annotations

import dslc
import numpy as np
import pytest

pytestmark = pytest.mark.gpu
_SOURCE = """
kernel scaled(x: f32[M, N], g: f32[N], y: out f32[M, N]):
    for m in parallel(range(0, M, 8)):
        y[m : m + 8, :] = x[m : m + 8, :] * g[:] + 1.0
"""


def test_results_stay_on_the_gpu() -> None:
    library, session = dslc.compile(_SOURCE, target="cuda", cache=False), dslc.Session("cuda")
    g = np.linspace(1, 2, 32, dtype=np.float32)
    weights = session.weights("layer", {"g": g})
    loaded = session.traffic.written
    table = session.memory.empty((128, 32), "f32")
    first = session.dispatch(library.scaled, "first", g=weights["g"], M=64)
    second = session.dispatch(
        library.scaled, "second", g=weights["g"], x=first["y"], y=table.rows(32, 96)
    )
    x = np.random.default_rng(0).standard_normal((64, 32)).astype(np.float32)
    for _ in range(3):
        first(x=x)
        second()
    assert (session.traffic.written, session.traffic.read) == (loaded + 3 * x.nbytes, 0)
    found = table.read()
    np.testing.assert_allclose(found[32:96], (x * g + 1) * g + 1, rtol=1e-5)
    assert not found[:32].any()
    assert not found[96:].any()
