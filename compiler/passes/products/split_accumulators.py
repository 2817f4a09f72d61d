"""Accumulator splitting: products of groups in pieces. Serves W4A8 with groups of 128: gain 29 %.

That is for tiles whose sums registers do not hold beside the running ones. The gain is that on an H200
over the largest tile that fits whole (743 to 766 TFLOP/s, then 983 to 988; decision 41).

Before (tests/ir/split-accumulators/example.tir):

    %acc_5 = for k in range(0, K, 64) carry (%acc_1 : f32[128, 256] `...` = %acc) {
      %part = load @a[m : +128, k : +64!] : f16[128, 64]
      ...
      %part_3 = dot %part, %part_2, atom="wgmma.m64n128k16.ss.swap" : f32[128, 256] `...`
      wait_dots pending=0
      ...
      %acc_4 = fma %part_3, %acc_3, %acc_1 : f32[128, 256] `...`
      yield %acc_4
    }

After:

    %acc_9, %acc_10 = for k in range(0, K, 64) carry (...) {
      ...
      %part = load @a[m : +64, k : +64!] : f16[64, 64]
      %part_3 = dot %part, %part_2, atom="wgmma.m64n64k16.ss.swap" : f32[64, 256] `...`
      wait_dots pending=0
      ...
      %acc_6 = fma %part_3, %acc_5, %acc_2 : f32[64, 256] `...`
      %part_4 = load @a[m + 64 : +64, k : +64!] : f16[64, 64]
      %part_5 = dot %part_4, %part_2, atom="wgmma.m64n64k16.ss.swap" : f32[64, 256] `...`
      wait_dots pending=0
      ...
      %acc_8 = fma %part_5, %acc_7, %acc_3 : f32[64, 256] `...`
      yield %acc_6, %acc_8
    }
    %acc_11 = concat %acc_9, %acc_10, axis=0 : f32[128, 256] `...`

A product that begins anew in every iteration, and is scaled onto sums that the loop carries, needs a
second set of registers for as long as the unit works. Pieces along the unit's n have one set for all:
the other warpgroup multiplies while one scales. A tile of twice the size reads its weights half as
often, and what makes them ready is done half as often.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.instructions import Carried, Stmt
from dslc.compiler.ir.program import Kernel, TileProgram
from dslc.compiler.ir.rewrite import Rewriter, map_kernels
from dslc.compiler.ir.traverse import Name, definitions, operands, use_counts, walk, writes
from dslc.compiler.ir.values import Value
from dslc.compiler.passes.pipelining.prefetchable_loads import is_explicit, thread_bytes
from dslc.compiler.passes.products.async_products import in_registers
from dslc.compiler.passes.products.partial_tiles import RaggedError, TileParts
from dslc.compiler.passes.simplification.dead_code import remove_dead_code
from dslc.compiler.targets import Target
from dslc.compiler.targets.target import SWAP, Atom

_LEAST = 64  # columns of a piece: with fewer the unit waits for its left operand
_ASIDE = 128 * 40  # registers that producer warps keep
_MOST, _STEP = 240, 8  # registers of a thread at most, by how many
_BESIDE = 24  # registers for addresses and counters


@dataclass(frozen=True, slots=True)
class SplitAccumulators:
    """Divides the asynchronous products of groups whose sums do not fit beside the running ones."""

    target: Target
    name: str = "split-accumulators"

    def __call__(self, program: TileProgram) -> TileProgram:
        """The program with such products in pieces."""
        return map_kernels(program, self._kernel)

    def _kernel(self, kernel: Kernel) -> Kernel:
        if kernel.threads is None or self.target.rates is None or is_explicit(kernel):
            return kernel
        body = _Divider(kernel, self.target, self.target.rates.registers).body(kernel.body)
        return kernel if body is kernel.body else remove_dead_code(replace(kernel, body=body))


@dataclass(frozen=True, slots=True)
class _Group:
    """A loop's one asynchronous product, and the sums that it is scaled onto."""

    loop: ins.For
    dot: ins.Dot
    carried: Carried
    inner: Value
    init: Value
    yielded: Value
    result: Value

    @property
    def swap(self) -> str:
        """The suffix of the instruction where its left operand is the program's right one."""
        return SWAP if (self.dot.atom or "").endswith(SWAP) else ""

    @property
    def axis(self) -> int:
        """The axis of the sums along the unit's n."""
        return 0 if self.swap else 1


class _Divider(Rewriter):
    def __init__(self, kernel: Kernel, target: Target, registers: int) -> None:
        super().__init__()
        self.threads, self.target = kernel.threads or 1, target
        self.room = min(_MOST, (registers - _ASIDE) // self.threads // _STEP * _STEP)
        self.known = definitions(kernel.body)

    def statement(self, stmt: Stmt) -> Iterable[Stmt]:
        """A loop with its product in pieces, what these begin with, and the sums put together."""
        group = _group(stmt) if isinstance(stmt, ins.For) else None
        if group is not None:
            try:
                return self._divided(group)
            except (DiagnosticError, RaggedError):  # a thread would have no part of a piece
                pass
        return super().statement(stmt)

    def _divided(self, group: _Group) -> list[Stmt]:
        wide, narrow = self._atoms(group)
        count, axis = wide.n // narrow.n, group.axis
        if count == 1:
            return [group.loop]
        size = group.dot.out.type.shape[axis] // count
        loop, before, body, carried = group.loop, list[Stmt](), list[Stmt](), list[Carried]()
        body += (s for s in loop.body if not isinstance(s, ins.WaitDots))
        for number in range(count):
            piece = _Piece(group, number * size, size, narrow.name + group.swap)
            first = piece.tile(group.init, axis)
            defining = self.known.get(group.init)
            if isinstance(defining, ins.Full):
                before.append(replace(defining, out=first))
            else:
                before.append(replace(piece.extract(group.init, axis), out=first))
            yielded = piece.of(group.yielded, axis)
            body += piece.steps
            carried.append(Carried(replace(piece.inner), piece.inner, first, yielded))
        sums = tuple(c.result for c in carried if isinstance(c.result, Value))
        every = [x for c in loop.carried for x in (carried if c is group.carried else [c])]
        return [
            *before,
            replace(loop, body=tuple(body), carried=tuple(every)),
            ins.Concat(group.result, sums, axis, loc=loop.loc),
        ]

    def _atoms(self, group: _Group) -> tuple[Atom, Atom]:
        """The instruction, and that for the fewest pieces of which one fits into registers."""
        dot = group.dot
        wide = self.target.atom((dot.atom or "").removesuffix(SWAP))
        if wide is None or wide.b is not None:
            raise RaggedError
        held = [c.inner for c in group.loop.carried if isinstance(c.inner, Value)]
        beside = _BESIDE + sum(map(self._words, (*held, *in_registers(dot))))
        for count in range(1, wide.n // _LEAST + 1):
            fits = beside + self._words(dot.out) // count <= self.room
            for atom in self.target.atoms if fits and wide.n % count == 0 else ():
                same = (atom.m, atom.k, atom.a, atom.b, atom.types) == (
                    wide.m,
                    wide.k,
                    wide.a,
                    wide.b,
                    wide.types,
                )
                if same and atom.n * count == wide.n:
                    return wide, atom
        raise RaggedError

    def _words(self, value: Value) -> int:
        return thread_bytes(value, self.threads) // 4


class _Piece(TileParts):
    """The product and the sums of some of the columns."""

    def __init__(self, group: _Group, start: int, size: int, atom: str) -> None:
        super().__init__(start, size)
        self.group, self.atom = group, atom
        self.known = definitions(group.loop.body)
        self.counts = use_counts((group.loop,))
        self.inner = self.tile(group.inner, group.axis)

    def source(self, value: Value) -> Stmt | None:
        """What makes a tile in the loop."""
        return self.known.get(value)

    def end(self, value: Value, axis: int) -> Value | None:
        """The piece of the running sums, that of the product, and what the unit reads for it."""
        if value is self.group.inner:
            return self.inner
        if value is self.group.dot.out:
            return self._product(axis)
        load = self.known.get(value)
        if isinstance(load, ins.Load) and value.type.layout is None:
            out = self.tile(value, axis)
            self.steps.append(replace(load, out=out, region=self.region(load.region, axis)))
            return out
        return None

    def _product(self, axis: int) -> Value:
        dot, out = self.group.dot, self.tile(self.group.dot.out, axis)
        a, b = (self.of(dot.a, 0), dot.b) if axis == 0 else (dot.a, self.of(dot.b, 1))
        self.steps.append(replace(dot, out=out, a=a, b=b, atom=self.atom))
        self.steps.append(ins.WaitDots(0, loc=dot.loc))
        return out


def _group(loop: ins.For) -> _Group | None:
    """The product and the sums of a loop, if all that reads either is on the way between them."""
    async_dots = [s for s in walk(loop.body) if isinstance(s, ins.Dot) and s.is_async]
    if len(async_dots) != 1 or async_dots[0] not in loop.body or async_dots[0].acc is not None:
        return None
    if any(writes(s) for s in walk(loop.body)):
        return None
    counts, known = use_counts((loop,)), definitions(loop.body)
    for c in loop.carried:
        match c:
            case Carried(Value() as result, Value() as inner, Value() as init, Value() as yielded):
                chain = _chain(yielded, async_dots[0].out.type.shape, known, counts)
                if {inner, async_dots[0].out} <= chain:
                    return _Group(loop, async_dots[0], c, inner, init, yielded, result)
    return None


def _chain(
    value: Value, shape: tuple[int, ...], known: Mapping[Name, Stmt], counts: Counter[Name]
) -> set[Value]:
    """The tiles of a shape that a tile is made of elementwise, each for one reader."""
    if counts[value] != 1 or value.type.shape != shape:
        return set()
    defining = known.get(value)
    parts = operands(defining) if isinstance(defining, ins.ELEMENTWISE) else ()
    return {value, *(x for v in parts for x in _chain(v, shape, known, counts))}
