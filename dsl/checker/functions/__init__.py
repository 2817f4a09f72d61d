"""The functions of the language, one family a file; importing them registers them."""

from dslc.checker.functions import (
    arithmetic,
    explicit,
    making,
    memory,
    reducing,
    scalars,
    shaping,
)

__all__ = ["arithmetic", "explicit", "making", "memory", "reducing", "scalars", "shaping"]
