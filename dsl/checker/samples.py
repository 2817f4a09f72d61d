"""Sizes to check a kernel with, for dims that a call will fix.

A kernel that is right for one size alone, as it is that of a tile or of another dim, must not pass:
so the sizes differ from each other and from every number of the source. They meet what the kernel
requires of them.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dslc.checker.choosing import is_broken
from dslc.checker.kernel import new_context
from dslc.checker.signature import declare_constants, declare_dims
from dslc.frontend import tree

if TYPE_CHECKING:
    from dslc.checker.module import Template

_SIZES = (256, 128, 512, 64, 1024, 32, 2048, 16, 8, 192, 384, 96, 768, 48, 4096, 4, 2, 6, 1)
_EQUAL = (256, 128, 64, 4096, 32, 16, 8, 4, 2, 1)
_TRIED = 2000  # products of sizes that requirements are asked about
_GIVEN = 8


def different(
    template: Template, config: Mapping[str, object], dims: Sequence[str]
) -> Iterator[dict[str, int]]:
    """Sizes that are no tile's and no other dim's, larger and smaller dims in either order."""
    numbers = _numbers(template)
    sizes = [n for n in _SIZES if n not in numbers]
    seen: list[dict[str, int]] = []
    for first in range(len(sizes)):
        turned = sizes[first:] + sizes[:first]
        for order in (turned, turned[:1] + turned[:0:-1]):
            sample = next(_allowed(template, config, dims, order), None)
            if sample is not None and sample not in seen:
                seen.append(sample)
                yield sample
            if len(seen) == _GIVEN:
                return


def equal(
    template: Template, config: Mapping[str, object], dims: Sequence[str]
) -> Iterator[dict[str, int]]:
    """One size for all dims, and sizes that the source names: what a kernel may be right for alone."""
    for size in (*_EQUAL, *sorted(_numbers(template))):
        if size > 0:
            yield dict.fromkeys(dims, size)


def _allowed(
    template: Template, config: Mapping[str, object], dims: Sequence[str], sizes: Sequence[int]
) -> Iterator[dict[str, int]]:
    """The products of sizes, each taken once, that break no requirement."""
    products = itertools.permutations(sizes, len(dims))
    for chosen in itertools.islice(products, _TRIED):
        fixed = dict(zip(dims, chosen, strict=True))
        c = new_context(template.scope)
        declare_dims(c, template.head, fixed)
        declare_constants(c, template.head, template.define, config)
        if not any(is_broken(c, require) for require in template.head.requires):
            yield fixed


def _numbers(template: Template) -> set[int]:
    """Every integer of the kernel's source, its choices and the constants that it may read."""
    numbers = {v for v in template.scope.names.values() if isinstance(v, int)}
    numbers |= {v for v in template.consts.values() if isinstance(v, int)}
    numbers |= {v for choices in template.tunes.values() for v in choices if isinstance(v, int)}
    rest: list[Any] = [template.node]
    while rest:
        node = rest.pop()
        if isinstance(node, tree.Literal):
            if isinstance(node.value, int):
                numbers.add(node.value)
        elif isinstance(node, tuple):
            rest += node
        elif dataclasses.is_dataclass(node):
            rest += [getattr(node, f.name) for f in dataclasses.fields(node) if f.name != "loc"]
    return numbers
