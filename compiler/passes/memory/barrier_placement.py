"""Where the barriers of a body stand: as few as keep every pair of accesses apart that needs one.

In a row of statements a barrier goes before the first one that needs it, as late as can be: no row has
fewer. A loop's body is a ring. If a second round meets no conflict it has none; else each statement is
tried as the one behind a barrier, and what the rest of the ring needs is placed from there on. Bodies
within come first, so that what a loop needs of the statements around it is one barrier before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias

from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import constant, difference
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.traverse import Body
from dslc.compiler.ir.unchanged import kept, replaced
from dslc.compiler.passes.memory.access_paths import Met, Way
from dslc.compiler.passes.memory.access_relation import Need, Relations
from dslc.compiler.passes.memory.ordered_accesses import Access, Loop

Open: TypeAlias = dict[tuple[Access, Loop | None], Need]
"""Accesses since which no barrier of the block has come, of this or an earlier iteration of a loop."""
Barriers: TypeAlias = dict[int, Need]
"""Which barrier stands before the statement of a number."""


@dataclass(frozen=True, slots=True)
class Item:
    """A statement, in whose bodies barriers stand by now."""

    stmt: Stmt
    way: Way


class Placing:
    """Places barriers in the bodies of a kernel, whose accesses these are."""

    def __init__(self, relations: Relations, accesses: Mapping[Stmt, Sequence[Access]]) -> None:
        self.relations, self.accesses = relations, accesses

    def body(self, body: Body) -> Body:
        """The body of a kernel with its barriers; the body itself where it needs none."""
        items = self._items(body)
        return self._with(body, items, self._row(items)[0])

    def _items(self, body: Body) -> list[Item]:
        return [self._item(s) for s in body]

    def _item(self, stmt: Stmt) -> Item:
        match stmt:
            case ins.For():
                items = self._items(stmt.body)
                at = self._ring(items, stmt)
                way = self._along(items, at)
                if not _has_a_iteration(stmt):
                    way = Way().either(way)
                return Item(replaced(stmt, body=self._with(stmt.body, items, at)), way)
            case ins.While():
                return self._while(stmt)
            case ins.If():
                then, otherwise = self._items(stmt.then), self._items(stmt.otherwise)
                x, y = self._row(then)[0], self._row(otherwise)[0]
                branch = replaced(
                    stmt,
                    then=self._with(stmt.then, then, x),
                    otherwise=self._with(stmt.otherwise, otherwise, y),
                )
                return Item(branch, self._along(then, x).either(self._along(otherwise, y)))
            case ins.WarpSpecialize():
                return Item(stmt, Way())
            case _:
                return Item(stmt, self._instruction(stmt))

    def _while(self, stmt: ins.While) -> Item:
        head, rest = self._items(stmt.before), self._items(stmt.body)
        at = self._ring([*head, *rest], stmt)
        late = {i - len(head): n for i, n in at.items() if i >= len(head)}
        loop = replaced(
            stmt,
            before=self._with(stmt.before, head, at),
            body=self._with(stmt.body, rest, late),
        )
        asked, again = self._along(head, at), self._along(rest, late)
        return Item(loop, asked.either(asked.then(again).then(asked)))

    def _instruction(self, stmt: ins.Instruction) -> Way:
        own: Met = dict.fromkeys(self.accesses.get(stmt, ()), Need.NONE)
        match stmt:
            case ins.MemoryBarrier(warp=warp):
                return Way(through=Need.WARP if warp else Need.BLOCK)
            case ins.SemaphoreRelease():
                return Way(last=own, through=Need.BLOCK)
            case ins.AtomicRmw() if stmt.is_counter:
                return Way(last=own, through=Need.BLOCK)
        return Way(own, own)

    # Rows and rings

    def _row(
        self, items: Sequence[Item], opened: Open | None = None, at: Barriers | None = None
    ) -> tuple[Barriers, Open]:
        """The barriers that a row needs beside those `at` their places, and what is open after it."""
        placed: Barriers = {}
        opened = dict(opened or {})
        for number, item in enumerate(items):
            opened = _beyond(opened, (at or {}).get(number, Need.NONE))
            need = self._need(opened, item.way.first)
            if need:
                placed[number] = need
                opened = _beyond(opened, need)
            opened = _beyond(opened, item.way.through)
            opened.update(((a, None), n) for a, n in item.way.last.items())
        return placed, opened

    def _need(self, opened: Open, met: Met) -> Need:
        strongest = Need.NONE
        for (access, loop), since in opened.items():
            for other, before in met.items():
                need = self.relations.need(access, other, loop)
                if need > max(since, before, strongest):
                    strongest = need
        return strongest

    def _ring(self, items: Sequence[Item], loop: Loop) -> Barriers:
        if self._holds(items, loop, {}):
            return {}
        tried = [
            self._from(items, loop, start, level)
            for start, item in enumerate(items)
            if item.way.first or item.way.last
            for level in sorted({Need.WARP, self.relations.most})
        ]
        # Without a barrier of the block some are none: what is open would have to be so twice.
        able = [at for at in tried if self._holds(items, loop, at)]
        return min(able, key=lambda at: sorted(at.values(), reverse=True))

    def _from(self, items: Sequence[Item], loop: Loop, start: int, level: Need) -> Barriers:
        """The barriers of a ring with one of a level before a statement."""
        behind, opened = self._row(items[start:])
        before, _ = self._row(items[:start], _earlier(opened, loop))
        return {start: level} | {i + start: n for i, n in behind.items()} | before

    def _holds(self, items: Sequence[Item], loop: Loop, at: Barriers) -> bool:
        """Whether these barriers are enough, in an iteration and from iteration to iteration."""
        missing, opened = self._row(items, at=at)
        again, _ = self._row(items, _earlier(opened, loop), at)
        return not missing and not again

    def _along(self, items: Sequence[Item], at: Barriers) -> Way:
        """The way through a row with its barriers."""
        ways = (Way(through=at.get(i, Need.NONE)).then(item.way) for i, item in enumerate(items))
        return reduce(Way.then, ways, Way())

    def _with(self, body: Body, items: Sequence[Item], at: Barriers) -> Body:
        return kept(body, list(self._written(items, at)))

    def _written(self, items: Sequence[Item], at: Barriers) -> Iterator[Stmt]:
        for number, item in enumerate(items):
            if need := at.get(number, Need.NONE):
                warp = self.relations.warp if need is Need.WARP else 0
                yield ins.MemoryBarrier(warp, loc=item.stmt.loc)
            yield item.stmt


def _beyond(opened: Open, barrier: Need) -> Open:
    if barrier is Need.BLOCK:
        return {}
    return {k: max(n, barrier) for k, n in opened.items()} if barrier else opened


def _earlier(opened: Open, loop: Loop) -> Open:
    """The same in the iteration after."""
    open_before: Open = {}
    for (access, _), since in opened.items():
        key = (access, loop)
        open_before[key] = min(since, open_before.get(key, since))
    return open_before


def _has_a_iteration(loop: ins.For) -> bool:
    distance, step = difference(loop.stop, loop.start), constant(loop.step)
    return distance is not None and step is not None and distance * step > 0
