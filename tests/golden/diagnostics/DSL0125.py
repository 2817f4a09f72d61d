# ruff: noqa
from __future__ import annotations

from dslc.frontend import parse_function


def k(x: f32[N], y: out[f32[N]]):
    y[0:G] = x[0:G]


parse_function(k, const={"G": b"8"}, tune={"B": [8, object]})
