"""Multiply-adds in a cycle of emitted products, by their marked loops.

The generator marks in its text the innermost loop of a product and what belongs to it:

    // LLVM-MCA-BEGIN gemm.main macs=768 k=8     the loop: products of an iteration, its step along K
    // LLVM-MCA-END
    // LLVM-MCA-BEGIN gemm.main_group macs=3072  what runs once for so many multiply-adds of the loop
    // LLVM-MCA-END
    // LLVM-MCA-BEGIN gemm.main_ends             before and after the loop: once for a register tile
    // LLVM-MCA-END
    // LLVM-MCA-BEGIN gemm_out results=16        the epilogue: once for so many results, whatever K is
    // LLVM-MCA-END

What begins with the name before the loop's last point, as `gemm.dot1_b` for `gemm.dot1.12x8`, belongs
to each loop of that product: the epilogue, and the loops that fill panels, which tiles share. Of these
the instructions of a tile at some K are laid out as they are executed, tile after tile, and simulated:
loads of the next tile overlap the epilogue of the last as far as the CPU's window reaches.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dslc.codegen.aarch64.tools.mca import Model
from dslc.compiler.diagnostics import error

DEPTH = 4096  # of K, at which tiles are compared

_BEGIN = re.compile(r"//\s*LLVM-MCA-BEGIN\s+(\S+)((?:\s+\w+=\d+)*)\s*$")
_END = re.compile(r"//\s*LLVM-MCA-END\b")


@dataclass(frozen=True, slots=True)
class Region:
    """A marked part: `macs` or `results` of one run of it, its step along K; its instructions alone."""

    name: str
    macs: int | None
    k: int | None
    lines: tuple[str, ...]
    results: int | None = None


@dataclass(frozen=True, slots=True)
class Loop:
    """A product's loop, what runs once for so many multiply-adds, and what before and after it."""

    body: Region
    groups: tuple[Region, ...]
    before: tuple[Region, ...]
    after: tuple[Region, ...]
    panels: tuple[Region, ...] = ()

    @property
    def product(self) -> str:
        """The product that it belongs to: `gemm.dot1` of `gemm.dot1.12x8`."""
        return self.body.name.rpartition(".")[0]

    @property
    def tile(self) -> int:
        """The results that are summed side by side."""
        assert self.body.macs is not None
        assert self.body.k is not None
        return self.body.macs // self.body.k

    def trace(self, depth: int, *, panels: bool = False) -> list[str]:
        """The instructions of one tile over `depth` elements of K, with its share of `panels`."""
        assert self.body.macs is not None
        lines = [line for r in self.before for line in r.lines]
        done = 0
        for _ in range(self.iterations(depth)):
            lines += self.body.lines
            done += self.body.macs
            for group in (*self.groups, *(self.panels if panels else ())):
                assert group.macs is not None
                times = done // group.macs - (done - self.body.macs) // group.macs
                lines += group.lines * times
        for region in self.after:
            times = 1 if region.results is None else -(-self.tile // region.results)
            lines += region.lines * times
        return lines

    def iterations(self, depth: int) -> int:
        """How often the loop runs."""
        return -(-depth // (self.body.k or 1))


@dataclass(frozen=True, slots=True)
class Throughput:
    """A loop by one model, in multiply-adds a cycle.

    `rate` is that of a tile with its ends and epilogue, `steady` the loop's alone, `bound` the loop's
    if no result were waited for, `whole` a tile's with its share of filling the panels.
    """

    name: str
    model: Model
    tile: int
    rate: float
    steady: float
    bound: float
    whole: float


def throughputs(text: str, models: Sequence[Model], depth: int = DEPTH) -> list[Throughput]:
    """Of the main loop of every product, by each model; DSL0954 where a mark or code cannot be read."""
    return list(each_throughput(text, models, depth))


def each_throughput(text: str, models: Sequence[Model], depth: int = DEPTH) -> Iterator[Throughput]:
    """The same one by one, as they are known; TimeoutError where a model's time is over."""
    for loop in main_loops(text):
        for model in models:
            yield _of(loop, model, depth)


def main_loops(text: str) -> list[Loop]:
    """Of each product the loop of its largest tile: the others are for the edges."""
    by_text: dict[str, Loop] = {}
    for loop in loops(text):
        best = by_text.setdefault(loop.product, loop)
        if loop.tile > best.tile:
            by_text[loop.product] = loop
    return list(by_text.values())


def loops(text: str) -> list[Loop]:
    """The marked loops in order; DSL0954 for marks that do not fit together."""
    regions = list(_regions(text))
    measured = []
    for at, body in enumerate(regions):
        if body.k is None:
            continue
        product = body.name.rpartition(".")[0]
        shared = [r for r in regions if r.k is None and r.name.startswith(f"{product}_")]
        own = [
            (i, r)
            for i, r in enumerate(regions)
            if r.k is None and r.name.startswith(f"{body.name}_")
        ]
        ends = [(i, r) for i, r in own if r.macs is None]
        measured.append(
            Loop(
                body,
                tuple(r for _, r in own if r.macs is not None),
                tuple(r for i, r in ends if i < at),
                (*(r for i, r in ends if i > at), *(r for r in shared if r.results is not None)),
                tuple(r for r in shared if r.macs is not None),
            )
        )
    return measured


def _of(loop: Loop, model: Model, depth: int) -> Throughput:
    results = loop.tile * loop.iterations(depth) * (loop.body.k or 1)
    rate, whole = (
        results / model.marginal(loop.trace(depth, panels=p), 1, 3) for p in (False, True)
    )
    macs = loop.body.macs or 0
    steady = macs / model.marginal(loop.body.lines, 100, 300)
    bound = macs / model.bound(loop.body.lines)
    return Throughput(loop.body.name, model, loop.tile, rate, steady, bound, whole)


def _regions(text: str) -> Iterator[Region]:
    name: str | None = None
    given: dict[str, int] = {}
    lines: list[str] = []
    for line in text.splitlines():
        if begin := _BEGIN.search(line):
            if name is not None:
                raise error("DSL0954", f"the region {begin[1]} begins within {name}")
            name, lines = begin[1], []
            given = {k: int(v) for k, v in re.findall(r"(\w+)=(\d+)", begin[2])}
        elif _END.search(line):
            if name is None:
                raise error("DSL0954", "a region ends that did not begin")
            yield Region(
                name, given.get("macs"), given.get("k"), tuple(lines), given.get("results")
            )
            name = None
        elif name is not None and (code := _instruction(line)):
            lines.append(code)
    if name is not None:
        raise error("DSL0954", f"the region {name} does not end")


def _instruction(line: str) -> str:
    """The instruction of a line, without its comment; nothing of a label or a directive."""
    code = line.partition("//")[0].strip()
    code = re.sub(r"^[\w.$]+:\s*", "", code)
    return "" if code.startswith(".") else code
