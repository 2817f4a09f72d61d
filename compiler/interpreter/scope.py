"""The frame of a running turn and the names that are known while a kernel is prepared.

A kernel is turned once into closures over a *frame*, a list with one slot for each tile, scalar and
memory; slot 0 holds the turn. A tile in a frame is never modified in place.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from dslc.compiler.diagnostics import Loc
from dslc.compiler.dtypes.storage import Array
from dslc.compiler.interpreter.uses import Uses
from dslc.compiler.ir import Memory, Value
from dslc.compiler.ir.expr import Var
from dslc.compiler.layout import Layout

Frame: TypeAlias = list[Any]
Step: TypeAlias = Callable[[Frame], None]
Name: TypeAlias = Value | Var | Memory

TURN = 0


@dataclass(frozen=True, slots=True)
class Blocked:
    """Why a turn cannot go on: the element that it waits for, and whether it may go on by now.

    No memory is a barrier of a cluster.
    """

    memory: Memory | None
    element: tuple[int, ...] | None
    is_ready: Callable[[], bool]
    loc: Loc | None = None


Flow: TypeAlias = Callable[[Frame], Generator[Blocked, None, None]]  # a step that may have to wait


@dataclass(frozen=True, slots=True)
class Site:
    """A statement as diagnostics speak of it: its number in the kernel, its place and what it does.

    `owners` says for an access which thread moves each element of its tile: -1 where several do, None
    where no layout tells. What is `awaited` has happened for all threads when it lands.
    """

    number: int
    verb: str
    loc: Loc | None
    owners: Array | None = None
    awaited: bool = False


@dataclass(slots=True)
class Scope:
    """The slots of one kernel's frame.

    `poisoned` are the tiles that may hold undefined elements, `loc` is that of the statement which is
    being compiled, `is_aside` says whether warps aside run it, and `clusters` whether turns of a
    cluster run side by side.
    """

    check: bool
    uses: Uses = field(default_factory=Uses)
    poisoned: frozenset[Value] = frozenset()
    slots: dict[Name, int] = field(default_factory=dict)
    masks: dict[Value, int] = field(default_factory=dict)
    size: int = 1
    sites: list[Site] = field(default_factory=list)
    loc: Loc | None = None
    is_aside: bool = False
    clusters: bool = False
    in_memory: dict[Value, int] = field(
        default_factory=dict
    )  # slots of what a late Dot still reads

    def slot(self, name: Name) -> int:
        """The slot of a tile, a scalar or a memory."""
        if name not in self.slots:
            self.slots[name] = self._new()
        return self.slots[name]

    def mask(self, value: Value) -> int | None:
        """The slot of a tile's mask of undefined elements (None or bool), where it may have one."""
        if value not in self.poisoned:
            return None
        if value not in self.masks:
            self.masks[value] = self._new()
        return self.masks[value]

    def hold(self, value: Value) -> int:
        """The slot of the part of a memory that a tile without a layout is."""
        self.in_memory[value] = self._new()
        return self.in_memory[value]

    def site(
        self, verb: str, loc: Loc | None, layout: Layout | None = None, *, awaited: bool = False
    ) -> Site:
        """A new statement; `layout` is that of the tile which it moves to or from memory."""
        owners = owners_of(layout) if self.check and layout is not None else None
        self.sites.append(Site(len(self.sites) + 1, verb, loc, owners, awaited))
        return self.sites[-1]

    def _new(self) -> int:
        self.size += 1
        return self.size - 1


def owners_of(layout: Layout) -> Array:
    """The thread of each element of a tile, -1 where several threads hold it; of the tile's shape."""
    owners = np.full(layout.shape, -1, np.int32)
    if layout.is_injective:
        threads = np.arange(layout.threads, dtype=np.int32)[:, None]
        table = layout.table()
        owners[tuple(np.moveaxis(table, -1, 0))] = np.broadcast_to(threads, table.shape[:2])
    return owners
