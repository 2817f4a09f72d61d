# ruff: noqa
from __future__ import annotations

import math

from dslc.frontend import parse_function

weights = bytearray(8)


def k(x: f32[N], y: out[f32[N]]):
    y[0:8] = x[0:8] * weights
    y[8:16] = math.tau * math.taw
    y[16:24] = x[0:8] @ x[0:8]


parse_function(k)
