"""What one call has in memory: its arguments' table, the arrays, the scratch."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TypeAlias

from dslc.runtime.aarch64_emulator.errors import EmulationError
from dslc.runtime.aarch64_emulator.memory import READ, WRITE, Array, Memory, Placed, Side, distance

Word: TypeAlias = "int | Array"
"""An argument of a kernel: a word of 64 bits, or an array, whose address it becomes."""

_SCRATCH_ALIGN = 64
_NEAR = 1 << 20  # bytes from an array within which an address is told by it


class Frame:
    """Arguments placed for a call; `finish` copies the results back, `release` gives up the memory.

    `written` are the numbers of arrays that the kernel writes; the others are read-only for it.
    """

    def __init__(
        self,
        memory: Memory,
        words: Sequence[Word],
        written: Collection[int],
        scratch: int,
        side: Side,
    ) -> None:
        self._memory = memory
        self._placed: dict[int, Placed] = {}
        arrays = [(i, w) for i, w in enumerate(words) if not isinstance(w, int)]
        for i, array in arrays:  # one that is given twice is one array
            same = [j for j, other in arrays if other is array]
            first = self._placed.get(same[0])
            output = any(j in written for j in same)
            self._placed[i] = first or Placed(memory, array, output, side)
        values = [self._placed[i].address if i in self._placed else w for i, w in enumerate(words)]
        data = b"".join((int(v) & 0xFFFFFFFFFFFFFFFF).to_bytes(8, "little") for v in values)
        self._table = memory.take(len(data), READ)
        at = self._table.content.size - len(data)
        self._table.content[at:] = memoryview(data)
        self.table = self._table.address + at
        room = -(-scratch // _SCRATCH_ALIGN) * _SCRATCH_ALIGN
        self._scratch = memory.take(room, READ | WRITE)
        self.scratch = self._scratch.address + self._scratch.content.size - room

    def finish(self, names: Sequence[str]) -> None:
        """Copy the results to the caller's arrays; EmulationError where bytes beside one changed."""
        hurt = [i for i, placed in self._unique() if not placed.finish()]
        if hurt:
            raise EmulationError(f"the kernel writes outside {_name(names, hurt[0])}")

    def release(self) -> None:
        """Give up the memory."""
        for _, placed in self._unique():
            placed.release()
        self._memory.give_back(self._table)
        self._memory.give_back(self._scratch)

    def _unique(self) -> list[tuple[int, Placed]]:
        """The arrays, each by the first of its numbers."""
        first: dict[Placed, int] = {}
        for i, placed in self._placed.items():
            first.setdefault(placed, i)
        return [(i, placed) for placed, i in first.items()]

    def describe(self, address: int, names: Sequence[str]) -> str:
        """An address by the array, or the scratch, that is next to it."""
        spans = [(p.distance(address), _name(names, i)) for i, p in self._placed.items()]
        end = self._scratch.address + self._scratch.content.size
        spans.append((distance(address, self.scratch, end), "its scratch"))
        away, name = min(spans, key=lambda span: abs(span[0]))
        if abs(away) > _NEAR:
            return f"at address {address:#x}"
        if away == 0:
            return f"within {name}, which it may only read"
        where = "behind the end" if away > 0 else "before the beginning"
        return f"{abs(away)} bytes {where} of {name}"


def _name(names: Sequence[str], number: int) -> str:
    return names[number] if number < len(names) else f"argument {number}"
