"""The table of a generator: which function emits an instruction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

E = TypeVar("E")


def table(*families: Mapping[type, E]) -> dict[type, E]:
    """The families of emitters as one; ValueError where two are for one instruction."""
    joined: dict[type, E] = {}
    for family in families:
        if twice := joined.keys() & family.keys():
            raise ValueError(f"two emitters for {', '.join(k.__name__ for k in twice)}")
        joined |= family
    return joined
