"""The functions of the language, one family a file; importing them registers them."""

from dslc.checker.functions import (
    arithmetic,
    explicit,
    making,
    memory,
    reducing,
    scalars,
    scanning,
    shaping,
    sorting,
)

__all__ = [
    "arithmetic",
    "explicit",
    "making",
    "memory",
    "reducing",
    "scalars",
    "scanning",
    "shaping",
    "sorting",
]
