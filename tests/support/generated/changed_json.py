"""JSON data with other values in some places, for readers that must be strict."""

from __future__ import annotations

import json
import random
from typing import Any


def changed(value: Any, data: bytes) -> Any:
    """A copy of JSON data in which a few values became others: the bytes decide which."""
    draw = random.Random(data)
    copy = json.loads(json.dumps(value))
    for _ in range(draw.randrange(1, 4) if data else 0):
        holder, key = _place(copy, draw)
        if holder is None:
            return _value(copy, draw)
        if isinstance(holder, dict) and draw.random() < 0.2:
            del holder[key]
        elif isinstance(holder, dict) and draw.random() < 0.1:
            holder[draw.choice(["x", "", "files", "..", "kind", "é" * 70])] = holder[key]
        else:
            holder[key] = _value(holder[key], draw)
    return copy


def _place(value: Any, draw: random.Random) -> tuple[Any, Any]:
    holder = key = None
    while isinstance(value, dict | list) and value and (holder is None or draw.random() < 0.85):
        holder, key = (
            value,
            draw.choice(sorted(value) if isinstance(value, dict) else range(len(value))),
        )
        value = value[key]
    return holder, key


def _value(old: Any, draw: random.Random) -> Any:
    plain = [
        None, True, 0, 1, -1, 2**31, 2**63, 10**30, 0.5, 1e300, "", "x", "a/../b", "\0", "é", "N" * 300,
        [], {}, [[]], [None], {"x": 1}, "cdiv(N, 0)", "1 << 62", "(" * 99, "N * N * N", "cuda:sm_90a",
        "u4", "row",
    ]  # fmt: skip
    if isinstance(old, str) and old and draw.random() < 0.4:
        at = draw.randrange(len(old))
        return old[:at] + draw.choice(["", "(", "*", "0", "N", "/", "\n", "9" * 40]) + old[at + 1 :]
    if isinstance(old, int) and draw.random() < 0.4:
        return old + draw.choice([-1, 1, 7, -old, 2**40])
    if isinstance(old, list) and draw.random() < 0.4:
        return [*old, *old[:1]] if draw.random() < 0.5 else old[1:]
    return draw.choice(plain)
