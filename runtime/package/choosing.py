"""Which specialisation serves a call: it must fit, and of those that fit the nearest is taken."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from dslc.compiler.diagnostics import DiagnosticError, error
from dslc.runtime.expression import holds, names_of
from dslc.runtime.package.index import IndexedKernel, IndexedSpecialization

Sizes = Mapping[str, int]


def fitting(
    made: Iterable[IndexedSpecialization], config: Mapping[str, object], sizes: Sizes
) -> list[IndexedSpecialization]:
    """Those with these choices whose fixed dims and requirements no known size contradicts."""
    return [
        m
        for m in made
        if all(m.config.get(name) == value for name, value in config.items())
        and all(sizes.get(dim, size) == size for dim, size in m.fixed.items())
        and all(_may_hold(text, sizes) for text in m.requires)
    ]


def nearest(
    made: Iterable[IndexedSpecialization], sizes: Sizes, alignments: Mapping[str, int] | None = None
) -> IndexedSpecialization | None:
    """The best of those that fit: by alignment, by dims that were compiled in, by expected sizes.

    `alignments` are the tensors that begin at multiples of fewer bytes than 16. A size counts by its
    power of two. Of equals the first is taken.
    """
    loose = alignments or {}

    def rank(m: IndexedSpecialization) -> tuple[int, ...]:
        unfit = sum(m.alignments.get(name, 16) > n for name, n in loose.items())
        needless = sum(name not in loose for name in m.alignments)
        return unfit, needless, -len(m.fixed), distance(m.sizes, sizes)

    return min(made, key=rank, default=None)


def distance(expected: Sizes, sizes: Sizes) -> int:
    """How many powers of two a call lies from what a specialisation is meant for, over all dims."""
    return sum(abs(_power(sizes[d]) - _power(n)) for d, n in expected.items() if d in sizes)


def _power(size: int) -> int:
    """The number of the power of two from which on no size is greater: 4 for 9 to 16."""
    return max(0, size - 1).bit_length()


def nothing_fits(
    kernel: IndexedKernel, made: Sequence[IndexedSpecialization], where: str
) -> DiagnosticError:
    """DSL0747, with what there is."""
    listed = ", ".join(dict.fromkeys(map(described, made))) or "none"
    text = f"no {kernel.name} of the package was compiled for this call on {where}"
    return error("DSL0747", text, hint=f"it has {listed}")


def described(made: IndexedSpecialization) -> str:
    """`(N=4096, BM=16)`."""
    chosen = [f"{n}={v}" for n, v in {**made.fixed, **made.config}.items()]
    return f"({', '.join([*chosen, *(f'{n} unaligned' for n in made.alignments)])})"


def _may_hold(condition: str, sizes: Sizes) -> bool:
    """Whether a condition is not known to fail; it may need more than the dims."""
    names = names_of(condition)
    return not names <= sizes.keys() or holds(condition, sizes)
