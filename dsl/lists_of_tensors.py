"""Arguments that are lists of tensors: each item is the argument of a parameter of its own.

k([a, b], s)     k(ps=[a, b], s=2.0)     ->     k(ps_0=a, ps_1=b, s=2.0)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")


def item_names(name: str, count: int) -> tuple[str, ...]:
    """The parameters of a list, or the dims of its items."""
    return tuple(f"{name}_{i}" for i in range(count))


def has_lists(names: Sequence[str]) -> bool:
    """Whether any of these parameters may be the first item of a list."""
    return any(name.endswith("_0") for name in names)


def spread_arguments(
    names: Sequence[str],
    args: Sequence[T],
    kwargs: Mapping[str, T],
    items: Callable[[T], Sequence[T] | None],
    wrong: Callable[[str], Exception],
) -> tuple[list[T], dict[str, T]]:
    """Arguments for parameters `names` with those that are lists spread over the items' parameters.

    `items` gives those of an argument, None for one that is no list; `wrong` makes the error of a list
    that is too short or too long.
    """

    def of(name: str, arg: T) -> Sequence[T] | None:
        several = items(arg) if f"{name}_0" in names else None
        count = next(i for i in range(len(names) + 1) if f"{name}_{i}" not in names)
        if several is not None and len(several) != count:
            raise wrong(f"{name} is a list of {count} tensors, not of {len(several)}")
        return several

    flat: list[T] = []
    for arg in args:
        name = names[len(flat)] if len(flat) < len(names) else ""
        several = of(name[:-2], arg) if name.endswith("_0") else None
        flat += [arg] if several is None else several
    named: dict[str, T] = {}
    for name, arg in kwargs.items():
        several = of(name, arg) if name not in names else None
        if several is None:
            named[name] = arg
        else:
            named.update(zip(item_names(name, len(several)), several, strict=True))
    return flat, named
