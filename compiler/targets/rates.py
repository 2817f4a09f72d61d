"""How fast a machine is: what a prediction of a kernel's time needs to know, as data."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil


@dataclass(frozen=True, slots=True)
class Rates:
    """Rates of the whole machine in SI units; those of one multiprocessor are in its cycles.

    `clock` is that under load, in Hz. `read` and `write` are the bandwidths of device memory that
    programs reach, `cache` that of the level-2 cache of `cache_bytes`, in bytes a second. `latency` and
    `cache_latency` are those of a load that finds its data in memory, and in the cache, `launch` the
    time of an empty kernel in a graph, in seconds. In a cycle, `shared` are bytes of shared memory,
    `remote` those of another unit's, `issue` warp instructions (those that programs reach, with the
    dependences they have), `special` results of the special function unit. `matrix` gives multiply-adds
    in a cycle by unit (the first part of an atom's name) and operand bits, `plain` those of threads; a
    product of the units in `blocking` keeps its scheduler from all other instructions for its time.
    `registers`, `warps`, `blocks` and `shared_bytes` are what a multiprocessor has; a block takes
    `reserved` more bytes than it asks for. `measured` says that predictions were set against times of
    such a machine; the others' rates are those of data sheets.
    """

    clock: float
    read: float
    write: float
    cache: float
    cache_bytes: int
    latency: float
    cache_latency: float
    launch: float
    matrix: tuple[tuple[str, int, float], ...]
    blocking: tuple[str, ...] = ()
    plain: tuple[tuple[str, float], ...] = (("float", 128), ("double", 64), ("int", 64))
    shared: float = 128
    remote: float = 16
    issue: float = 2.5
    special: float = 16
    registers: int = 65536
    warps: int = 64
    blocks: int = 32
    shared_bytes: int = 0
    reserved: int = 1024
    measured: bool = False

    @property
    def block_shared_bytes(self) -> int:
        """What one block may ask for."""
        return self.shared_bytes - self.reserved

    def in_flight(self, units: int) -> int:
        """The bytes that one of so many multiprocessors has under way where memory is busy.

        Little's law, rounded up to a power of two: 650 ns times 4.5 TB/s over 132 are 22 KB.
        """
        return 1 << (ceil(self.latency * self.read / units) - 1).bit_length()

    def multiply_adds(self, atom: str, bits: int) -> float | None:
        """Multiply-adds in a cycle of an atom on operands of so many bits; None where not known."""
        return next((r for u, b, r in self.matrix if u == _unit(atom) and b == bits), None)

    def plain_rate(self, bits: int, is_float: bool) -> float:
        """Multiply-adds in a cycle without a matrix unit, where sums have so many bits."""
        kind = "int" if not is_float else "double" if bits == 64 else "float"
        return dict(self.plain)[kind]

    def is_blocking(self, atom: str) -> bool:
        """Whether nothing else is issued beside an atom's products."""
        return _unit(atom) in self.blocking


@dataclass(frozen=True, slots=True)
class CoreRates:
    """Rates of one core of a CPU in SI units.

    `clock` is that under load, `read` and `cache` the bytes a second that it takes from memory and
    from its second cache, `launch` the seconds of a call. In a cycle it does `elementwise` operations
    on f32, and the multiply-adds that `matrix` gives by the bits of operands.
    """

    clock: float
    read: float
    cache: float
    launch: float
    elementwise: float
    matrix: tuple[tuple[int, float], ...]

    def multiply_adds(self, bits: int) -> float:
        """Multiply-adds in a cycle on operands of so many bits."""
        return next(rate for b, rate in self.matrix if b == bits)


def _unit(atom: str) -> str:
    return atom.partition(".")[0]
