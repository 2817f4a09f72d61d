"""What a kernel does, instruction by instruction, with what each one waits for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field

from dslc.runtime.nki_simulator.accesses import Accesses
from dslc.runtime.nki_simulator.tensors import Tensor

COMPUTE = ("PE", "ACT", "DVE", "Pool")
DMA_QUEUES = ("load", "store", "move")  # into the chip, out of it, within a memory
SEQUENCER = "SP"  # loads of registers, for which the sequencers of the engines wait


@dataclass(frozen=True, slots=True)
class Rows:
    """A transfer's descriptors: contiguous rows, the bytes of each, the share of the DMA rate."""

    count: int
    bytes: int
    rate: float = 1.0


@dataclass(frozen=True, slots=True)
class Step:
    """One instruction. `after` are those whose writes it waits for, `over` those whose reads.

    `busy` is how long its engine is taken, in ns, `latency` how much later its result is there. `ports`
    are memory ports that engines share.
    """

    name: str
    queue: str
    line: int
    busy: float
    latency: float
    after: tuple[int, ...]
    over: tuple[int, ...]
    rows: Rows | None = None
    ports: tuple[str, ...] = ()


@dataclass(slots=True)
class Tile:
    """One allocation on the chip: bytes of a partition, and who touches it when.

    Tiles of one `slot` are the same memory: those of a compiled loop's body in each of its iterations.
    """

    name: str
    space: str
    bytes: int
    line: int
    accesses: Accesses
    slot: object = None


@dataclass(slots=True)
class Trace:
    """Everything that a run did. Bytes are those that pass between HBM and the chip."""

    steps: list[Step] = field(default_factory=list)
    tiles: list[Tile] = field(default_factory=list)
    ordered: dict[int, set[int]] = field(default_factory=dict)  # by depends_on
    counts: Counter[str] = field(default_factory=Counter)
    hbm_read: int = 0
    hbm_written: int = 0
    flops: int = 0
    transpose_flops: int = 0

    def issue(
        self, name: str, queue: str, line: int, busy: float, latency: float,
        reads: tuple[Tensor, ...], writes: tuple[Tensor, ...], rows: Rows | None = None,
        ports: tuple[str, ...] = (), awaited: Collection[int] = (),
    ) -> int:  # fmt: skip
        """Add an instruction, which waits for those `awaited`, too; its number."""
        number = len(self.steps)
        after: set[int] = set(awaited)
        over: set[int] = set()
        for tensor in reads:
            if not tensor.storage.given:
                after.update(tensor.storage.accesses.read(tensor.box, number, queue))
        in_order = queue in COMPUTE  # an engine's own reads and writes before are over by its order
        for tensor in writes:
            writers, readers = tensor.storage.accesses.write(tensor.box, number, queue)
            if in_order:
                writers = [w for w in writers if self.steps[w].queue != queue]
                readers = [r for r in readers if r != number and self.steps[r].queue != queue]
            after.update(writers)
            over.update(readers)
        after.discard(number)
        over.discard(number)
        step = Step(name, queue, line, busy, latency, tuple(after), tuple(over), rows, ports)
        self.steps.append(step)
        self.counts[name] += 1
        return number
