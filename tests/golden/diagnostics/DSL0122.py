# ruff: noqa
from __future__ import annotations

from dslc.frontend import parse_function


def norm(x: f32[N], y: out[np.ndarray()], z):
    pass


parse_function(norm)
