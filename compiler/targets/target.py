"""What a machine is to the compiler: data, not behaviour."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from dslc.compiler.interned import Interned
from dslc.compiler.layout import BankModel, Layout, local, permute
from dslc.compiler.targets.rates import CoreRates, Rates

SWAP = ".swap"


def chip_of(name: str) -> str:
    """The architecture that a GPU's target names, without its family and its number of units."""
    return name.partition(":")[2].partition(".")[0]


@dataclass(frozen=True, slots=True)
class MemorySpace:
    """A memory of the machine: `bytes` per `unit` (a block's share, a partition, a core)."""

    name: str
    bytes: int
    unit: str


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Atom(Interned):
    """One instruction of a matrix unit: d[m, n] = a[m, k] b[k, n] + c[m, n].

    `types` lists the dtype names (a, b, accumulator) that it takes. The layouts spread each operand
    over the unit's threads; an operand that the unit reads from memory has none. With `scaled`, it
    multiplies each block of so many elements along k by a power of two, one a lane of each operand.
    """

    name: str
    m: int
    n: int
    k: int
    types: tuple[tuple[str, str, str], ...]
    a: Layout | None
    b: Layout | None
    c: Layout
    scaled: int = 0

    @property
    def threads(self) -> int:
        """How many threads issue it together."""
        return self.c.threads

    def takes(self, a: str, b: str) -> bool:
        """Whether it multiplies elements of these dtype names."""
        return any((a, b) == pair[:2] for pair in self.types)

    def scales(self) -> tuple[Layout, Layout]:
        """How the scales of a and b lie, where it is `scaled`: a lane has those of its own blocks."""
        assert self.a is not None
        assert self.b is not None
        return self.a / local(1, self.scaled), self.b / local(self.scaled, 1)

    @property
    def swapped(self) -> Atom:
        """The same instruction on exchanged operands: d^T = b^T a^T, named with the suffix `.swap`.

        Its m is the instruction's n: `a` of the program goes in as the instruction's b, transposed.
        """
        return _swapped(self)


@functools.lru_cache(1024)
def _swapped(atom: Atom) -> Atom:
    def transposed(layout: Layout | None) -> Layout | None:
        return None if layout is None else permute(layout, (1, 0))

    types = tuple((b, a, c) for a, b, c in atom.types)
    name = atom.name.removesuffix(SWAP) if atom.name.endswith(SWAP) else atom.name + SWAP
    a, b, c = transposed(atom.b), transposed(atom.a), permute(atom.c, (1, 0))
    return Atom(name, atom.n, atom.m, atom.k, types, a, b, c, atom.scaled)


@dataclass(frozen=True, slots=True)
class Target:
    """A machine by its name, such as `cuda:sm_90a`, or `cuda:sm_90a.114` with other `units`.

    `warp_size` is the number of threads that can exchange registers (1 where none can), `threads` the
    most threads of a turn. `memories` are listed from the smallest to the largest unit; `banks` are
    those of the memory that plays `shared`. `units` is how many turns run at once (multiprocessors,
    cores). A specialisation made for a call relies on the greatest of `divisors` that divides each dim.
    `rates` say how fast it is, where that is known, of a CPU `core_rates`.
    `bulk_copies` tells of a unit that copies boxes of tensors to shared memory by itself,
    `matrix_stores` of instructions by which a warp stores fragments to shared memory as rows,
    `matrix_loads` of those by which lanes read rows there for each other, along whichever axis a tile
    lies. `static` says that a call's kernel is compiled for the sizes of all its dims: the machine's
    compiler unrolls it. `linear_copies` are the bytes that a lane may copy to shared memory by itself,
    where those of a warp land in the order of its lanes. `part_of_warp` is where a turn may have fewer
    threads than a warp, `product_warps` are those that share a large product. `packed_atomics` is where
    pairs of halves are added to memory at once, so that parts of a sum may be added there.
    `dependent_launches` is where a launch may begin before the one before it has ended, and waits.
    `clusters` is the most blocks that share what they copy in bulk, and read each other's memory.
    """

    name: str
    family: str
    title: str
    warp_size: int
    threads: int
    memories: tuple[MemorySpace, ...]
    atoms: tuple[Atom, ...] = ()
    banks: BankModel | None = None
    units: int = 1
    divisors: tuple[int, ...] = ()
    rates: Rates | None = None
    core_rates: CoreRates | None = None
    bulk_copies: bool = False
    matrix_stores: bool = False
    matrix_loads: bool = False
    static: bool = False
    linear_copies: tuple[int, ...] = ()
    part_of_warp: bool = False
    product_warps: int = 8
    packed_atomics: bool = False
    dependent_launches: bool = False
    clusters: int = 1

    @property
    def chip(self) -> str:
        """`sm_90a` of `cuda:sm_90a` and of `cuda:sm_90a.114`."""
        return chip_of(self.name)

    @property
    def is_rated(self) -> bool:
        """Whether the time of a kernel can be predicted."""
        return self.rates is not None or self.core_rates is not None

    def memory(self, name: str) -> MemorySpace | None:
        """The memory of that name."""
        return next((m for m in self.memories if m.name == name), None)

    def atom(self, name: str) -> Atom | None:
        """The atom of that name; with the suffix `.swap`, the atom on exchanged operands."""
        named = next((a for a in self.atoms if a.name == name.removesuffix(SWAP)), None)
        return named.swapped if named is not None and name.endswith(SWAP) else named
