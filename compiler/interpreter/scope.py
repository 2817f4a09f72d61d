"""The frame of a running turn and the names that are known while a kernel is prepared.

A kernel is turned once into closures over a *frame*, a list with one slot for each tile, scalar and
memory; slot 0 holds the turn. A tile in a frame is never modified in place.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from dslc.compiler.diagnostics import Loc
from dslc.compiler.dtypes.storage import Array
from dslc.compiler.interpreter.uses import Uses
from dslc.compiler.ir import Memory, Value
from dslc.compiler.ir.expr import Var
from dslc.compiler.layout import Layout, owners

Frame: TypeAlias = list[Any]
Step: TypeAlias = Callable[[Frame], None]
Name: TypeAlias = Value | Var | Memory

Trap: TypeAlias = Literal["nan", "inf"]
"""What stops a launch when it is stored: NaNs alone, or infinities as well."""

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
    where no layout tells; `warps` which warp. What is `awaited` has happened for all threads when it
    lands. An addition `fetches` where it gives what stood there before.
    """

    number: int
    verb: str
    loc: Loc | None
    owners: Array | None = None
    awaited: bool = False
    warps: Array | None = None
    fetches: bool = False


@dataclass(slots=True)
class Scope:
    """The slots of one kernel's frame.

    `poisoned` are the tiles that may hold undefined elements, `loc` is that of the statement which is
    being compiled, `is_producer` says whether producer warps run it, and `clusters` whether turns of a
    cluster run side by side. `threads` run a turn, of which so many are a `warp` where some barrier is
    one of warps.
    """

    check: bool
    uses: Uses = field(default_factory=Uses)
    poisoned: frozenset[Value] = frozenset()
    slots: dict[Name, int] = field(default_factory=dict)
    masks: dict[Value, int] = field(default_factory=dict)
    size: int = 1
    sites: list[Site] = field(default_factory=list)
    loc: Loc | None = None
    is_producer: bool = False
    clusters: bool = False
    threads: int = 1
    warp: int = 0
    trap: Trap | None = None
    records: bool = False
    private: frozenset[Memory] = frozenset()  # buffers of a turn
    trace: int | None = None  # the slot of what is known of NaNs
    in_memory: dict[Value, int] = field(
        default_factory=dict
    )  # slots of what an asynchronous Dot still reads

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

    def trace_slot(self) -> int:
        """The slot of what a turn knows of its NaNs and infinities."""
        if self.trace is None:
            self.trace = self._new()
        return self.trace

    def hold(self, value: Value) -> int:
        """The slot of the part of a memory that a tile without a layout is."""
        self.in_memory[value] = self._new()
        return self.in_memory[value]

    def site(
        self,
        verb: str,
        loc: Loc | None,
        layout: Layout | None = None,
        *,
        awaited: bool = False,
        once: bool = False,
        fetches: bool = False,
    ) -> Site:
        """A new statement; `layout` is that of the tile which it moves to or from memory.

        Of the threads that hold copies of an element the first alone moves it where it does so `once`.
        """
        checked = layout if self.check else None
        threads = None if checked is None else owners(checked, first=once)
        warps = (
            owners(checked, self.warp, first=once) if checked is not None and self.warp else None
        )
        self.sites.append(Site(len(self.sites) + 1, verb, loc, threads, awaited, warps, fetches))
        return self.sites[-1]

    def _new(self) -> int:
        self.size += 1
        return self.size - 1
