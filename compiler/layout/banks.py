"""Bank conflicts: how many cycles a shared memory takes to serve a warp's access.

A memory is divided into banks; word w lies in bank w % count, and in one cycle a bank serves one word
(to any number of lanes). A machine splits a wide access of a warp into phases of fixed lanes; a
phase takes as many cycles as the busiest bank has different words. The data of the machines are in
`dslc.compiler.targets`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from dslc.compiler.diagnostics import error
from dslc.compiler.layout.access import addresses, vector_width
from dslc.compiler.layout.layout import Layout

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class BankAccess:
    """How accesses of `bits` a lane are served: the number of banks and the lanes of each phase."""

    bits: int
    banks: int
    phases: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class BankModel:
    """The banks of one memory: words of `word_bytes`, warps of `warp_size` lanes.

    `loads` and `stores` have a row for each width of access, ascending; a narrower access than the
    first row's is served like that row (lanes that touch one word share it). `max_bits` is the widest
    access.
    """

    word_bytes: int
    warp_size: int
    loads: tuple[BankAccess, ...]
    stores: tuple[BankAccess, ...]

    @property
    def max_bits(self) -> int:
        """The widest access of one lane."""
        return self.loads[-1].bits

    def access(self, bits: int, store: bool = False) -> BankAccess:
        """The row that serves an access of that many bits a lane."""
        rows = self.stores if store else self.loads
        for row in rows:
            if bits <= row.bits:
                return row
        raise error("DSL0314", f"an access of {bits} bits is wider than {rows[-1].bits}")


@dataclass(frozen=True, slots=True)
class Conflicts:
    """What a tile's access costs: `ways` is 1 where it is free of conflicts.

    `ways` is the most cycles that any phase takes, `cycles` those of all phases of all accesses, and
    `phases` how many there are: cycles == phases means no conflict. `access_bits` is the width of each
    lane's access.
    """

    ways: int
    cycles: int
    phases: int
    access_bits: int


def bank_conflicts(
    register: Layout,
    memory: Layout,
    bits: int,
    banks: BankModel,
    offset: Sequence[int] | None = None,
    *,
    store: bool = False,
    width: int | None = None,
) -> Conflicts:
    """The cost of moving a register tile to or from a memory, elements of `bits` bits.

    The tile lies at `offset` of the memory. Each lane moves `width` elements at once, by default as
    many as the layouts allow. DSL0314 where an element does not fill whole bytes and no access does.
    """
    if width is None:
        width = vector_width(register, memory, bits, banks.max_bits, offset)
    moved = width * bits
    if register.locals % width:
        raise error("DSL0314", f"{register} does not move {width} elements at once")
    if moved % 8:
        raise error("DSL0314", f"an access of {moved} bits is not whole bytes")
    first = addresses(register, memory, offset)[:, ::width] * bits // 8
    return address_conflicts(first, moved, banks, store=store)


def address_conflicts(
    first: NDArray[np.int64], bits: int, banks: BankModel, *, store: bool = False
) -> Conflicts:
    """The cost of accesses of `bits` a lane to the bytes that begin at `first`: [threads, accesses]."""
    row = banks.access(bits, store)
    words = _words(first, bits // 8, banks.word_bytes)
    cycles = np.concatenate(
        [
            _cycles(words[start : start + banks.warp_size], phase, row.banks)
            for start in range(0, len(first), banks.warp_size)
            for phase in row.phases
        ]
    )
    cycles = cycles[cycles > 0]
    return Conflicts(int(cycles.max()), int(cycles.sum()), int(cycles.size), bits)


def _words(first: NDArray[np.int64], size: int, word: int) -> NDArray[np.int64]:
    """The words that each access touches, int64 of shape [threads, accesses, words]."""
    count = max(1, size // word)
    return first[..., None] // word + np.arange(count)


def _cycles(words: NDArray[np.int64], phase: Sequence[int], banks: int) -> NDArray[np.int64]:
    """The cycles of one phase, one number for each access of the warp; 0 where no lane takes part."""
    lanes = [lane for lane in phase if lane < words.shape[0]]
    accesses = words.shape[1]
    if not lanes:
        return np.zeros(accesses, dtype=np.int64)
    touched = np.sort(words[lanes].transpose(1, 0, 2).reshape(accesses, -1), axis=1)
    distinct = np.ones(touched.shape, dtype=bool)
    distinct[:, 1:] = touched[:, 1:] != touched[:, :-1]
    keys = np.arange(accesses)[:, None] * banks + touched % banks
    counts = np.bincount(keys[distinct], minlength=accesses * banks)
    busiest: NDArray[np.int64] = counts.reshape(accesses, banks).max(axis=1)
    return busiest
