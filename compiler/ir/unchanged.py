"""Nodes of which nothing changed stay the same objects."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def each(items: tuple[T, ...], f: Callable[[T], T]) -> tuple[T, ...]:
    """The items after `f`; the tuple itself where none changed."""
    return kept(items, [f(x) for x in items])


def kept(old: tuple[T, ...], new: list[T]) -> tuple[T, ...]:
    """The new items, as the old tuple where they are the same."""
    same = len(old) == len(new) and all(a is b for a, b in zip(old, new, strict=True))
    return old if same else tuple(new)


def replaced(node: T, **changes: object) -> T:
    """`dataclasses.replace`, or the node itself where nothing changes."""
    if all(getattr(node, name) is value for name, value in changes.items()):
        return node
    changed: T = dataclasses.replace(node, **changes)  # type: ignore[type-var]
    return changed
