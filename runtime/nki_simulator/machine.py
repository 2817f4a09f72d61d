"""NeuronCores as data: memories, clocks, transfer rates (Neuron architecture guides, trn1 to trn3)."""

from __future__ import annotations

from dataclasses import dataclass

PARTITIONS = 128
PSUM_BANKS = 8
BANK_BYTES = 2048
DMA_ENGINES = 16
MIN_CYCLES = (
    64  # the shortest interval between two instructions of an engine, and its write latency
)
PE_DEPTH = 128  # rows of the array that a partial sum passes before it is in PSUM


@dataclass(frozen=True, slots=True)
class NeuronCore:
    """One core. Clocks in GHz by engine, `dma` in bytes a nanosecond over the 16 engines.

    `load_cycles` is what a product waits for its stationary operand: the documentation says that 128
    columns load four times as fast as they stream (32 cycles); on trn1 84 cycles reproduce the times of
    NeuronMM's Table 4. `row_ns` is what one descriptor (a contiguous row) costs one DMA engine beside
    its bytes: 45 ns reproduce the same table on trn1; for the others it is the time of
    512 bytes, below which the documentation calls a row inefficient. `issue_ns` is what generating the
    descriptors of a transfer takes its queue, `dma_latency_ns` passes from the last byte until an
    engine that waits for it goes on.
    """

    name: str
    version: int
    sbuf_bytes: int
    clocks: dict[str, float]
    dma: float
    load_cycles: int
    moving_limit: int = 512
    row_ns: float = 0.0
    issue_ns: float = 0.0
    dma_latency_ns: float = 1300.0
    transpose_rate: float = 0.9  # of the DMA rate, HBM to SBUF
    sbuf_transpose_rate: float = 0.5
    peak: float = 0.0  # bf16 flops a nanosecond

    @property
    def psum_bytes(self) -> int:
        """Of PSUM in each partition."""
        return PSUM_BANKS * BANK_BYTES


def _clocks(pe: float, vector: float, scalar: float) -> dict[str, float]:
    return {"PE": pe, "DVE": vector, "ACT": scalar, "Pool": scalar}


# Of SBUF the runtime keeps 16 KiB and 264 bytes a partition on v3 and v4 (nki-library's budget).
_RESERVED = 16384 + 264
# trn1: peak = 128 * 128 * 2 * 2.8 GHz; a DMA transpose of the v2 engines moves at half their rate.
TRN1 = NeuronCore(
    "trn1", 2, 192 * 1024, _clocks(2.8, 1.12, 1.4), 272.0, 84,
    row_ns=45.0, transpose_rate=0.5, peak=91.75e3,
)  # fmt: skip
TRN2 = NeuronCore(
    "trn2", 3, 224 * 1024 - _RESERVED, _clocks(2.4, 0.96, 1.2), 368.0, 32,
    row_ns=512 * DMA_ENGINES / 368, issue_ns=600.0, peak=78.64e3,
)  # fmt: skip
TRN3 = NeuronCore(
    "trn3", 4, 256 * 1024 - _RESERVED, _clocks(2.4, 1.2, 1.2), 528.0, 32,
    moving_limit=8192, row_ns=512 * DMA_ENGINES / 528, issue_ns=600.0, peak=78.64e3,
)  # fmt: skip

CORES = {core.name: core for core in (TRN1, TRN2, TRN3)}


def find_core(target: str) -> NeuronCore:
    """The core of `trn2` or `nki:trn2`; KeyError for another name."""
    return CORES[target.rpartition(":")[2]]
