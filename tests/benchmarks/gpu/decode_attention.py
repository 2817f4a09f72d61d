"""A token's attention over long caches beside torch's: 64 heads of 128, 8 of keys, f16.

    python tests/benchmarks/gpu/decode_attention.py --json found.json
    python tests/benchmarks/gpu/decode_attention.py --batches 1,16 --lengths 8192

Ours is examples/attention_decode.tile, kernel by kernel in a graph, and the same with keys and values
of f8e4m3 and in pages of 64. `floor` is the time of keys and values at 4.53 TB/s.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parent
if __name__ == "__main__":  # tests import it too
    sys.path[0] = str(HERE.parent)

import dslc  # noqa: E402
import torch  # noqa: E402
from gpu.measure import copies_beyond_cache, relative_error, replays  # noqa: E402
from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402
from torch.nn.functional import scaled_dot_product_attention  # noqa: E402

EXAMPLE = HERE.parents[2] / "examples" / "attention_decode.tile"
CACHES = HERE / "ours" / "decode_caches.tile"
HEADS, KEY_HEADS, WIDTH, PAGE = 64, 8, 128, 64
UNITS, MOST_PARTS = 132, 64
BYTES_A_SECOND = 4.53e12
SHAPE = {"S": 1, "HQ": HEADS, "HK": KEY_HEADS, "D": WIDTH}
Launch = Callable[[int], object]
Sets = list[list[torch.Tensor]]


class Problem:
    """Queries, caches that rotate beyond the L2 cache, lengths, and the exact result of the first."""

    def __init__(self, batch: int, length: int, *, ragged: bool = False) -> None:
        self.batch, self.length = batch, length
        shape = (batch, length, KEY_HEADS, WIDTH)
        self.bytes = 4 * batch * length * KEY_HEADS * WIDTH
        count = copies_beyond_cache(self.bytes)
        self.sets: Sets = [[_normal(shape) for _ in "kv"] for _ in range(count)]
        self.q = _normal((batch, 1, HEADS, WIDTH))
        self.past = torch.full((batch,), length - 1, dtype=torch.int32, device="cuda")
        if ragged:
            self.past = torch.randint(length, (batch,), dtype=torch.int32, device="cuda")
            read = int((self.past + 1).sum())
            self.bytes = 4 * read * KEY_HEADS * WIDTH

    def expected(self, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        """In f32, sequence by sequence."""
        rows = []
        for b in range(self.batch):
            n = int(self.past[b]) + 1
            keys, values = (x[b, :n].transpose(0, 1).float() for x in (k, v))
            q = self.q[b, 0].view(KEY_HEADS, -1, WIDTH).float()
            rows.append(scaled_dot_product_attention(q, keys, values).reshape(1, HEADS, WIDTH))
        return torch.stack(rows)


def _normal(shape: tuple[int, ...]) -> torch.Tensor:
    return torch.randn(shape, device="cuda", dtype=torch.float16)


def timed(launch: Launch, copies: int) -> float:
    """Microseconds, the median of replays of a graph."""
    launch(0)
    return round(median(replays(launch, copies, count=9)), 1)


def ours(
    problem: Problem, parts: Any, sets: Sets, *more: torch.Tensor, units: int = UNITS
) -> tuple[float, float]:
    """Microseconds of both kernels, and the error."""
    batch, scale = problem.batch, WIDTH**-0.5
    count = max(1, min(MOST_PARTS, units // (batch * KEY_HEADS)))
    shape = (batch, count, 1, HEADS)
    o = torch.full((*shape, WIDTH), torch.nan, device="cuda")
    top, total = (torch.full(shape, torch.nan, device="cuda") for _ in range(2))
    y = torch.full_like(problem.q, torch.nan)
    library = dslc.compile(EXAMPLE, target="cuda")
    join = library.join_parts.specialize(B=batch, S=1, HQ=HEADS, D=WIDTH, P=count)

    def launch(i: int) -> None:
        parts(problem.q, *sets[i], *more, problem.past, scale, o, top, total)
        join(o, top, total, y)

    us = timed(launch, len(sets))
    launch(0)
    return us, relative_error(y, problem.expected(*problem.sets[0]))


def rows(batch: int, length: int) -> dict[str, Any]:
    """Everything for a size."""
    problem = Problem(batch, length)
    found: dict[str, Any] = {"floor": round(problem.bytes / BYTES_A_SECOND * 1e6, 1)}
    for name, backend in (
        ("flash", SDPBackend.FLASH_ATTENTION),
        ("cudnn", SDPBackend.CUDNN_ATTENTION),
    ):

        def rival(i: int, backend: SDPBackend = backend) -> None:
            k, v = (x.transpose(1, 2) for x in problem.sets[i])
            with sdpa_kernel(backend):
                scaled_dot_product_attention(problem.q.transpose(1, 2), k, v, enable_gqa=True)

        found[name] = timed(rival, len(problem.sets))
    example, caches = (dslc.compile(p, target="cuda") for p in (EXAMPLE, CACHES))
    found["f16"] = ours(problem, example.attention_parts.specialize(**SHAPE), problem.sets)
    pages = length // PAGE
    table = torch.randperm(batch * pages, device="cuda").int().view(batch, pages)
    paged = []
    for k, v in problem.sets:
        made = [torch.empty_like(x).view(-1, PAGE, KEY_HEADS, WIDTH) for x in (k, v)]
        for page, x in zip(made, (k, v), strict=True):
            page[table.view(-1).long()] = x.reshape(-1, PAGE, KEY_HEADS, WIDTH)
        paged.append(made)
    found["pages"] = ours(problem, caches.paged_parts.specialize(**SHAPE), paged, table)
    del paged
    small = [[x.to(torch.float8_e4m3fn) for x in one] for one in problem.sets]
    problem.sets = [[x.half() for x in small[0]]]  # what the result is compared with
    made = caches.cast_parts.specialize(["k", "v"], **SHAPE)
    found["f8"] = ours(problem, made, small)
    found["f8 twice"] = ours(problem, made, small, units=2 * UNITS)  # turns a multiprocessor
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batches", default="1,4,16,64")
    parser.add_argument("--lengths", default="1024,4096,16384,65536")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    torch.manual_seed(0)
    every: dict[str, Any] = {}
    print("| batch | keys | floor us | flash | cuDNN | f16 | pages of 64 | f8 |")
    print("|---|---|---|---|---|---|---|---|")
    for batch in map(int, options.batches.split(",")):
        for length in map(int, options.lengths.split(",")):
            if batch * length > 1 << 21:
                continue  # 17 GB of caches
            found = rows(batch, length)
            every[f"{batch} x {length}"] = found
            floor = found["floor"]
            cells = [
                f"{us} ({floor * share / us:.0%})"
                for us, share in (
                    (found["f16"][0], 1.0),
                    (found["pages"][0], 1.0),
                    (found["f8"][0], 0.5),
                )
            ]
            rivals = f"{found['flash']} | {found['cudnn']}"
            print(f"| {batch} | {length} | {floor} | {rivals} | {' | '.join(cells)} |", flush=True)
            torch.cuda.empty_cache()
            if options.json:
                options.json.write_text(json.dumps(every, indent=1) + "\n", encoding="utf-8")
    ragged = Problem(16, 8192, ragged=True)
    made = dslc.compile(EXAMPLE, target="cuda").attention_parts.specialize(**SHAPE)
    for units in (UNITS, 2 * UNITS, 4 * UNITS):
        us, _ = ours(ragged, made, ragged.sets, units=units)
        share = ragged.bytes / BYTES_A_SECOND / us * 1e6
        print(f"lengths of 1 to 8192, batch 16, UNITS = {units}: {us} us, {share:.0%}")


if __name__ == "__main__":
    main()
