"""NeuronMM's tables beside what the simulator of NKI says. Times are modelled, never measured.

    python tests/benchmarks/neuronmm.py [--largest M] [--table N ...]

Its own kernel is written by hand as the paper describes it (neuronmm/trainium_fusion.py), the others
likewise; "ours" is compiled from examples/neuronmm.tile with the same block of rows, in Table 3 with
the blocks that the compiler chooses. The machine is trn1, one core, bf16, as in the paper. Traffic is
in MB of 10^6 bytes, as Table 1 seems to count, or GiB, as Table 3 does. What the paper does not say
(block sizes of its baselines, SBUF shares, spills) is left out.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import dslc
import ml_dtypes
import numpy as np
from dslc.cli.tables.nki import run_of
from dslc.cli.tables.table import plain_table
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compress import aligned_rank
from dslc.runtime.nki_simulator import Run, simulate

HERE = Path(__file__).resolve().parent
TARGET = "nki:trn1"
BF16 = ml_dtypes.bfloat16
Row = tuple[str, float, float | None, float | None]  # what, the paper, the rival by hand, ours

TABLE_4 = {  # B_M: ms, flops a byte
    128: (31.25, 124.12), 256: (16.02, 240.94), 512: (11.02, 455.10), 1024: (10.99, 819.17),
    2048: (11.07, 1280.50),
}  # fmt: skip


def blank(*shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
    """A tensor of which the shape alone matters: it takes no memory."""
    return np.broadcast_to(np.zeros(1, BF16), shape)


@dataclass(frozen=True)
class Figures:
    """What a run comes to: ns, bytes, shares and flops."""

    time: float
    traffic: int
    active: float
    mfu: float
    flops: int
    transposes: int

    @classmethod
    def of(cls, run: Run) -> Figures:
        """Those of a run, which is not kept: it has every instruction."""
        trace, timeline = run.trace, run.timeline
        return cls(
            timeline.total, run.hbm_bytes, timeline.active("PE"), run.of_peak, trace.flops,
            trace.transpose_flops,
        )  # fmt: skip


@cache
def by_hand(name: str, *arguments: int | tuple[int, ...]) -> Figures:
    """A kernel of the folder neuronmm on shapes and numbers."""
    text = (HERE / "neuronmm" / f"{name}.py").read_text(encoding="utf-8")
    given = [blank(*a) if isinstance(a, tuple) else a for a in arguments]
    return Figures.of(simulate(text, name, given, TARGET, file=f"{name}.py", values=False))


@cache
def fused(m: int, k: int, r: int, n: int, block_m: int) -> Figures:
    """NeuronMM's kernel with blocks of columns that suit the room that the strip leaves."""
    block_n = {128: 2048, 256: 1536, 2048: 512}.get(block_m, 1024)
    return by_hand("trainium_fusion", (m, k), (k, r), (r, n), block_m, 512, block_n)


BLOCKS = ((512, 512), (1024, 1024), (2048, 1024))  # BN and BK


def ours(m: int, k: int, r: int, n: int, block_m: int) -> Figures | None:
    """Ours: xuv_to_t with that block of rows, the others best for two strips; None: no room."""
    found = {b: run for b in BLOCKS if (run := compiled(2 * block_m, k, r, n, block_m, *b))}
    if not found:
        return None
    best = min(found, key=lambda b: found[b].time)
    return compiled(m, k, r, n, block_m, *best)


@cache
def compiled(m: int, k: int, r: int, n: int, *blocks: int) -> Figures | None:
    """xuv_to_t with these blocks of M, N and K."""
    library = dslc.compile(HERE.parents[1] / "examples" / "neuronmm.tile", target=TARGET)
    dims = {"M": m, "K": k, "R": r, "N": n}
    choices = dict(zip(("BM", "BN", "BK"), blocks, strict=True))
    try:
        return Figures.of(run_of(library.xuv_to_t.specialize_for(dims, choices), dims))
    except DiagnosticError:
        return None


@cache
def chosen(m: int, k: int, r: int, n: int) -> Figures:
    """xuv_to_t with the blocks that a call without choices gets."""
    library = dslc.compile(HERE.parents[1] / "examples" / "neuronmm.tile", target=TARGET)
    dims = {"M": m, "K": k, "R": r, "N": n}
    return Figures.of(run_of(library.xuv_to_t.specialize_for(dims, {}), dims))


def ms(figures: Figures | None) -> float | None:
    """The time in ms."""
    return None if figures is None else figures.time / 1e6


def table_1() -> Iterator[Row]:
    """X [2048, 2048], U [2048, 2048], V [2048, 8192], blocks of 512 columns."""
    sequential = by_hand("sequential", (2048, 2048), (2048, 2048), (2048, 8192), 1024, 1024)
    naive = by_hand("naive_fusion", (2048, 2048), (2048, 2048), (2048, 8192), 128, 512, 512)
    one = ours(2048, 2048, 2048, 8192, 1024)
    yield "sequential, ms", 1.57, ms(sequential), ms(one)
    yield "sequential, GFLOP", 85.90, sequential.flops / 1e9, one and one.flops / 1e9
    yield "sequential, MB", 298.66, sequential.traffic / 1e6, one and one.traffic / 1e6
    yield "naive fusion, ms", 18.06, ms(naive), ms(one)
    yield "naive fusion, GFLOP", 343.60, naive.flops / 1e9, one and one.flops / 1e9
    yield "naive fusion, MB", 3140.42, naive.traffic / 1e6, one and one.traffic / 1e6


def table_3(largest: int) -> Iterator[Row]:
    """X [M, 8192], U [8192, 4096], V [4096, 16384], the result transposed: means over M."""
    lengths = [1 << i for i in range(10, 16) if 1 << i <= largest]
    rivals = [fused(m, 8192, 4096, 16384, 1024) for m in lengths]
    mine = [chosen(m, 8192, 4096, 16384) for m in lengths]
    for m, rival, own in zip(lengths, rivals, mine, strict=True):
        yield f"M = {m}: ms", float("nan"), ms(rival), ms(own)
    paper = largest >= 32768

    def row(what: str, said: float, figure: str, scale: float) -> Row:
        def mean(runs: Sequence[Figures]) -> float:
            return sum(getattr(f, figure) / scale for f in runs) / len(runs)

        return what, said if paper else float("nan"), mean(rivals), mean(mine)

    yield row("latency, ms", 27.63, "time", 1e6)
    yield row("traffic, GiB", 2.47, "traffic", 2**30)
    yield row("PE active, %", 99.21, "active", 0.01)
    yield row("MFU, %", 85.20, "mfu", 0.01)
    yield row("TFLOP", 2.18, "flops", 1e12)
    yield row("transposes, GFLOP", 22.55, "transposes", 1e9)


def table_4() -> Iterator[Row]:
    """X [4096, 7168], U [7168, 4096], V [4096, 18432] by the block of rows."""
    for block, (time, intensity) in TABLE_4.items():
        rival, own = (f(4096, 7168, 4096, 18432, block) for f in (fused, ours))
        yield f"B_M = {block}: ms", time, ms(rival), ms(own)
        yield (
            f"B_M = {block}: flops/byte",
            intensity,
            *(run and run.flops / run.traffic for run in (rival, own)),
        )


def table_6() -> Iterator[Row]:
    """Ranks of Llama-3.2-1B at a ratio of 0.2."""
    for name, k, n in (("up, gate", 2048, 8192), ("down", 8192, 2048)):
        rank = float(aligned_rank(k, n, 0.2))
        yield f"{name}: rank", 1280, rank, rank


def cell(value: float | None) -> str:
    if value is None:
        return "-"
    return "" if value != value else f"{value:.4g}" if value < 100 else f"{value:.1f}"


def ratio(of: float | None, to: float | None) -> str:
    return f"{of / to:.3f}" if of and to and to == to else ""


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description="NeuronMM's tables, modelled.")
    parser.add_argument("--largest", type=int, default=8192, help="M of Table 3 (the paper: 32768)")
    parser.add_argument("--table", type=int, nargs="*", choices=(1, 3, 4, 6), default=(1, 3, 4, 6))
    options = parser.parse_args()
    tables = {1: table_1(), 3: table_3(options.largest), 4: table_4(), 6: table_6()}
    header = ("", "paper", "by hand", "ratio", "ours", "to paper", "to by hand")
    for number in options.table:
        rows = [
            (
                what,
                cell(said),
                cell(hand),
                ratio(hand, said),
                cell(own),
                ratio(own, said),
                ratio(own, hand),
            )
            for what, said, hand, own in tables[number]
        ]
        print(f"Table {number} (modelled)\n{plain_table(header, rows, right=range(1, 7))}\n")


if __name__ == "__main__":
    main()
