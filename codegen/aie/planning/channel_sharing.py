"""Which streams take turns on a channel, and the objects that they share.

A core has two DMA channels in. Where it reads more tensors, some come on one FIFO, in the order in
which the core takes them. Objects that are alike share it as they are. Others are widened along their
rows to as many bytes, and the FIFO is one of bytes, which the core views as each tensor's type:

    t: f32[16]  (64 bytes, once a turn)        t: f32[512]
    w: u8[64, 32]  (2048 bytes, each step)     w: u8[64, 32]      objects of 2048 bytes
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import combinations
from typing import TypeAlias

from dslc.codegen.aie.dtypes import WORD, bytes_of
from dslc.codegen.aie.planning.rounds import is_ahead
from dslc.codegen.aie.planning.scopes import Scope
from dslc.codegen.aie.planning.streams import Stream, Weave
from dslc.compiler.diagnostics import error
from dslc.compiler.dtypes import U8, DType
from dslc.compiler.ir.arithmetic.affine import constant
from dslc.compiler.ir.expr import Var

Group = tuple[Stream, ...]
Rule: TypeAlias = Callable[[Group], bool]
_APART = 4  # times that an object is sent for cores that could share it: those of a column
_MOST = 16  # pieces of a window, each of which takes a part of a core's program
_WIDENED = 2  # times the largest object: rows that fit no better are not shared


def sharing(
    streams: list[Stream],
    channels: int,
    runs: Callable[[Scope], int],
    order: Sequence[Rule],
    *,
    last: bool = False,
) -> Iterator[Group]:
    """Streams by the FIFO that they use; where a core has too few channels, some take turns.

    `runs` says how often a scope begins, by which the cheapest pairs are found; `order` are the rules
    that a group keeps, those that are given up last of all first. Of several pairs alike the first is
    joined, or the `last`.
    """
    for output in (False, True):
        groups: list[Group] = [(s,) for s in streams if s.output == output]
        while len(groups) > channels:
            joined = _join(groups, mixed=False)
            for rule in order:
                joined = joined or _join(groups, mixed=True, rule=rule, last=last)
                joined = joined or (None if output else _join_unlike(groups, runs, rule))
            if joined is None:  # objects that fit badly are better than none
                unlike = partial(_join_unlike, groups, runs, _is_any, math.inf)
                joined = _join_whole(groups) if output else unlike()
            if joined is None:
                break
            groups = joined
        yield from groups


def _is_apart(group: Group) -> bool:
    """Whether no two streams alternate within a loop, each iteration a transfer of its own."""
    loops = [s.scope for s in group if s.scope.loop is not None]
    return len(loops) == len(set(loops))


def _is_even(group: Group) -> bool:
    """Whether a core takes as many objects in each scope: the bulk does not come on one channel."""
    scopes = [s.scope for s in group]
    return len({scopes.count(scope) for scope in scopes}) == 1


def _is_any(_: Group) -> bool:
    return True


ORDERS: tuple[tuple[Rule, ...], ...] = (
    (lambda g: _is_even(g) and _is_apart(g), _is_even, _is_any),
    (_is_even, _is_any),
)


def _join(
    groups: list[Group], *, mixed: bool, rule: Rule = _is_even, last: bool = False
) -> list[Group] | None:
    """Two groups of one kind as one, those of the outermost scope first; of several with its `last`.

    With `mixed` they may be of different scopes, or wanted by different cores, if a rule allows it.
    """
    by_depth = sorted(groups, key=lambda g: len(g[0].scope.chain))
    pairs = list(combinations(by_depth, 2))
    if last:
        pairs.sort(key=lambda p: (by_depth.index(p[0]), -by_depth.index(p[1])))
    for group, other in pairs:
        a, b = group[0], other[0]
        if _is_alike(a, b) and (mixed or _in_one_scope(a, b)):
            both = _ordered(group, other)
            if rule(both):
                return _replaced(groups, group, other, both)
    return None


def _join_unlike(
    groups: list[Group], runs: Callable[[Scope], int], rule: Rule, most: float = _WIDENED
) -> list[Group] | None:
    """The two groups as one that move the fewest bytes more, being widened and being apart."""
    best: tuple[int, list[Group]] | None = None
    for group, other in combinations(groups, 2):
        both = _ordered(group, other)
        if _shared_bytes(both) > most * _largest(both)[0] * WORD or not rule(both):
            continue
        more = _bytes(both, both, runs)
        more -= sum(_bytes(g, g, runs) for g in (group, other))
        more += _APART * min(_bytes(g, both, runs) for g in _parted(both))
        if best is None or more < best[0]:
            best = more, _replaced(groups, group, other, both)
    return None if best is None else best[1]


def _join_whole(groups: list[Group]) -> list[Group] | None:
    """Two groups of results that are whole tensors: what lies after one's end in the host's memory is
    padding, so that a row of it may be widened to the other's object.
    """
    for group, other in combinations(groups, 2):
        both = _ordered(group, other)
        largest = max(both, key=lambda s: s.bytes)
        rows = all(s is largest or _rows(s) == 1 for s in both)
        if rows and all(_is_whole(s) for s in both) and largest.bytes == _shared_bytes(both):
            return _replaced(groups, group, other, both)
    return None


def _is_whole(stream: Stream) -> bool:
    """Whether one object is all of a tensor, and comes once in a launch."""
    extents = tuple(constant(n) for n in stream.memory.shape)
    return extents == stream.sizes and stream.scope.parent is None


def _bytes(some: Group, group: Group, runs: Callable[[Scope], int]) -> int:
    """The bytes of some of the streams that share a FIFO."""
    size, pieces = _shared_bytes(group), _pieces(group)
    return sum(runs(s.scope) * size * pieces.get(s, 1) for s in some)


def _parted(group: Group) -> tuple[Group, Group]:
    """The streams that come more often on the group's FIFO than on one of their own, by two ways.

    A FIFO brings all cores that have it the same objects. Where one of its tensors changes along an
    axis of the grid, all of them come once for each step of it; or only those that come ahead of the
    others do, in rounds.
    """
    late = tuple(s for s in group if not is_ahead(s, group))
    apart = tuple(s for s in group if _along((s,)) != _along(group))
    if any(_along((s,)) != _along(late) for s in late):
        return apart, apart
    return apart, tuple(s for s in group if s not in late and not _along((s,)) <= _along(late))


def _along(group: Group) -> frozenset[Var]:
    """The axes of the grid along which some of the streams change."""
    loops = {x.loop.var for s in group for x in s.scope.chain if x.loop is not None}
    return frozenset(v for s in group for v in s.variables) - loops


def _tasks(group: Group, runs: Callable[[Scope], int]) -> int:
    """The tasks of a turn with a loop in which tensors alternate, those of others around it too."""
    most = 0
    for scope in {s.scope for s in group if s.scope.loop is not None}:
        tensors = {s.memory for s in group if s.scope is scope}
        turn = next(s for s in reversed(scope.chain) if s.loop is None)
        if len(tensors) > 1:
            others = {s.memory for s in group} - tensors
            most = max(most, len(tensors) * runs(scope) // max(1, runs(turn)) + len(others))
    return most


def _ordered(group: Group, other: Group) -> Group:
    return tuple(sorted((*group, *other), key=lambda s: s.number))


def _replaced(groups: list[Group], group: Group, other: Group, both: Group) -> list[Group]:
    return [*(g for g in groups if g is not group and g is not other), both]


def _is_alike(a: Stream, b: Stream) -> bool:
    """Whether objects of two streams may come on one FIFO."""
    same = a.memory.dtype == b.memory.dtype and a.elements == b.elements
    return same and _rows(a) * _words(a) == _rows(b) * _words(b)


def _in_one_scope(a: Stream, b: Stream) -> bool:
    """Whether two streams take turns with few transfers, and nothing is lost by it."""
    blocks = a.blocks == b.blocks and (a.blocks is None or a.matrix == b.matrix)
    return a.scope is b.scope and a.scope.loop is None and blocks and a.variables == b.variables


def _words(stream: Stream, pieces: int = 1) -> int:
    """The words of a row of a stream's window, or of a piece of a window that is one row."""
    one = math.prod(stream.sizes[:-1]) == 1
    return -(-stream.sizes[-1] * bytes_of(stream.memory.dtype) // (WORD * (pieces if one else 1)))


def _rows(stream: Stream, pieces: int = 1) -> int:
    """The rows of a stream's window, or of a piece of it."""
    return max(1, math.prod(stream.sizes[:-1]) // pieces)


def _pieces(group: Group) -> dict[Stream, int]:
    """In how many pieces windows come that are larger than the objects that come after them."""
    late = [s for s in group if not is_ahead(s, group)]
    most = max(_rows(s) * _words(s) for s in late)
    pieces = {}
    for stream in group:
        large = _rows(stream) * _words(stream) > most and stream not in late
        fitting = (n for n in range(2, _MOST + 1) if _is_divided(stream, n, most))
        if large and (count := next(fitting, None)) is not None:
            pieces[stream] = count
    return pieces


def _is_divided(stream: Stream, pieces: int, most: int) -> bool:
    """Whether pieces of a window are alike, whole words, and of so many words at the most."""
    sizes = [n for n in stream.sizes if n > 1]
    last = stream.sizes[-1] // (pieces if len(sizes) == 1 else 1)
    whole = bool(sizes) and sizes[0] % pieces == 0 and stream.sizes[-1] > 1
    words = last * bytes_of(stream.memory.dtype) % WORD == 0
    return whole and words and _rows(stream, pieces) * _words(stream, pieces) <= most


def _largest(group: Group) -> tuple[int, int]:
    """The words of the largest object of a group, and what its rows of them must divide."""
    pieces = _pieces(group)
    rows = [_rows(s, pieces.get(s, 1)) for s in group]
    lengths = [_words(s, pieces.get(s, 1)) for s in group]
    return max(n * w for n, w in zip(rows, lengths, strict=True)), math.lcm(*rows)


def _shared_bytes(group: Group) -> int:
    """The bytes of an object that serves all streams of a group."""
    largest, unit = _largest(group)
    return -(-largest // unit) * unit * WORD


def fit(groups: list[Group]) -> None:
    """Make the objects of each group one size.

    Streams that share a FIFO but not their blocks come row by row, and the core makes the blocks; but
    where the core copies those that have none, it puts them into rows again as it does so.
    """
    for group in groups:
        _let_one_be_late(group)
        for stream, pieces in _pieces(group).items():
            stream.divide(pieces)
        if len({(s.blocks, s.matrix, s.memory.dtype) for s in group}) > 1 and not _weave(group):
            for stream in group:
                stream.blocks = None
        if any(not _is_alike(group[0], s) for s in group):
            size = _shared_bytes(group)
            for stream in group:
                stream.widen(size)


def _let_one_be_late(group: Group) -> None:
    """Let what is wanted after a loop come after it: one stream of the same objects and blocks.

    A core need not copy it. In blocks it comes where products alone have their operands so.
    """
    others = [s for s in group if s.blocks is not None]
    kinds = {(s.blocks, s.matrix, s.memory.dtype) for s in others}
    for stream in sorted(group, key=lambda s: -s.bytes):
        own = {(b, stream.matrix, stream.memory.dtype) for b, _, _ in kinds}
        inner = [s for s in group if stream.scope.holds(s.scope)]
        last = max((a.number for s in inner for a in s.parts), default=None)
        if last is None or stream.output or stream.blocks is not None or own != kinds:
            continue
        if all(a.inner is stream.scope and a.number > last and not a.guarded for a in stream.parts):
            if len(kinds) == 1 and _fills_blocks(stream, others[0].blocks):
                stream.blocks, stream.late = others[0].blocks, True
            elif not kinds and all(_is_alike(stream, s) for s in inner):
                stream.late = True
            return


def _fills_blocks(stream: Stream, blocks: tuple[int, int] | None) -> bool:
    """Whether each access takes the window whole, so that it may lie in blocks."""
    shapes = {a.region.shape for a in stream.parts}
    return blocks is not None and len(stream.parts) == 1 and shapes == {stream.matrix}


def _weave(group: Group) -> bool:
    """Let streams without blocks pass in those of the others on their FIFO, if the core can undo it.

    The core copies an object ahead of others on the FIFO anyway. The blocks move pieces of a row of a
    block, 16 bytes of bf16, whatever the elements are.
    """
    blocked = [s for s in group if s.blocks is not None]
    plain = [s for s in group if s.blocks is None]
    kinds = {(s.blocks, s.matrix, s.memory.dtype) for s in blocked}
    if len(kinds) != 1 or any(s.output for s in group):
        return False
    ((blocks, matrix, dtype),) = kinds
    if blocks is None or matrix is None or _shared_bytes(group) != blocked[0].bytes:
        return False
    rows, width = matrix[0], bytes_of(dtype)
    weave = Weave(rows, matrix[1] * width, blocks[0], blocks[1] * width)
    for stream in plain:
        held = all(stream.scope.holds(other.scope) for other in blocked)
        own = math.prod(stream.sizes[:-1])
        if not held or rows % own or not weave.fits(stream):
            return False
    for stream in plain:
        stream.weave = weave
    return True


def objects_of(streams: Group) -> tuple[DType, int]:
    """The element type of the objects that streams share, and how many an object has.

    DSL0552 where whole words have made their objects differ in size.
    """
    sizes = {s.bytes for s in streams}
    if len(sizes) > 1:
        raise error(
            "DSL0552",
            f"tensors {', '.join(s.memory.name for s in streams)} take turns on a channel, "
            "and their objects are of different sizes once they are whole words",
            streams[0].memory.loc,
        )
    (size,), dtypes = sizes, {s.memory.dtype for s in streams}
    dtype = U8 if len(dtypes) > 1 else dtypes.pop()
    return dtype, size // bytes_of(dtype)
