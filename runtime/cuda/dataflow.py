"""Which calls of a program wait for which, and where its buffers lie.

A call waits for an earlier one if either writes a tensor that the other touches. Two buffers may share
bytes where all calls that touch the one wait, however indirectly, for all that touch the other: so
sharing never makes calls wait that need not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_ALIGN = 256  # bytes, as the driver aligns memory


@dataclass(frozen=True, slots=True)
class Uses:
    """The tensors that a call reads and writes, by the program's names."""

    reads: frozenset[str]
    writes: frozenset[str]

    @property
    def touched(self) -> frozenset[str]:
        """All of them."""
        return self.reads | self.writes


def ancestors(calls: Sequence[Uses]) -> list[frozenset[int]]:
    """For each call the numbers of those that it waits for, however indirectly."""
    closures: list[frozenset[int]] = []
    for call in calls:
        before: set[int] = set()
        for i, other in enumerate(calls[: len(closures)]):
            if call.writes & other.touched or call.touched & other.writes:
                before |= {i, *closures[i]}
        closures.append(frozenset(before))
    return closures


def direct(ancestry: Sequence[frozenset[int]]) -> list[tuple[int, ...]]:
    """For each call those that it waits for directly: none that another of them waits for."""
    return [
        tuple(sorted(before - frozenset().union(*(ancestry[i] for i in before))))
        for before in ancestry
    ]


def place(
    sizes: Mapping[str, int], calls: Sequence[Uses], ancestry: Sequence[frozenset[int]]
) -> tuple[dict[str, int], int]:
    """The offset of each buffer, large ones first at the lowest that is free, and the bytes in all."""
    users = {
        name: frozenset(i for i, call in enumerate(calls) if name in call.touched) for name in sizes
    }

    def apart(a: str, b: str) -> bool:
        """Whether no call that touches one can run while the other is in use."""
        return any(
            all(x in ancestry[y] for x in users[first] for y in users[last])
            for first, last in ((a, b), (b, a))
        )

    offsets: dict[str, int] = {}
    total = 0
    for name in sorted(sizes, key=lambda n: (-sizes[n], n)):
        taken = sorted((offsets[n], offsets[n] + sizes[n]) for n in offsets if not apart(n, name))
        at = 0
        for start, end in taken:
            if start - at >= sizes[name]:
                break
            at = max(at, -(-end // _ALIGN) * _ALIGN)
        offsets[name] = at
        total = max(total, at + sizes[name])
    return offsets, total
