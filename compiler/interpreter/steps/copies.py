"""Asynchronous copies: read when they are issued, written when their group is waited for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from dslc.compiler.diagnostics import error
from dslc.compiler.dtypes.storage import Array
from dslc.compiler.interpreter.scope import TURN, Frame, Scope, Site, Step
from dslc.compiler.interpreter.steps.arrivals import at_barrier
from dslc.compiler.interpreter.windows import Window, compile_window
from dslc.compiler.ir import instructions as ins

if TYPE_CHECKING:
    from dslc.compiler.interpreter.tensors import Tensor
    from dslc.compiler.interpreter.turn import Turn


@dataclass(frozen=True, slots=True, eq=False)
class Copy:
    """A copy under way: the codes that will stand in `window` of `tensor`."""

    tensor: Tensor
    window: Window
    codes: Array
    source: Tensor
    held: Window
    site: Site

    def start(self, turn: Turn) -> None:
        """The source is read and the destination is written from now on."""
        for observer in self.tensor.observers:
            observer.reserve(turn, self.window, self.site)
        if not self.held.empty:
            for observer in self.source.observers:
                observer.hold(turn, self.held, self.site)

    @property
    def bytes(self) -> int:
        """What the copy moves, out of bounds or not."""
        return int(np.prod(self.window.shape)) * self.tensor.memory.dtype.bits // 8

    def land(self, turn: Turn) -> None:
        """Write the destination."""
        for observer in self.tensor.observers:
            observer.free(turn, self.window, True)
        if not self.held.empty:
            for observer in self.source.observers:
                observer.free(turn, self.held, False)
        self.tensor.write(turn, self.window, self.codes, self.site)


@dataclass(slots=True)
class Copies:
    """A turn's copies: those that no group holds yet, and the groups under way, oldest first."""

    loose: list[Copy] = field(default_factory=list)
    groups: list[list[Copy]] = field(default_factory=list)

    def commit(self) -> None:
        """The loose copies form a group."""
        self.groups.append(self.loose)
        self.loose = []

    def wait(self, turn: Turn, pending: int) -> None:
        """The oldest groups land until `pending` are left."""
        while len(self.groups) > pending:
            for copy in self.groups.pop(0):
                copy.land(turn)

    def check_over(self, title: str) -> None:
        """DSL0605 for a copy that nobody waited for."""
        left = [c for group in (*self.groups, self.loose) for c in group]
        if left:
            missing = "committed" if left[0] in self.loose else "waited for"
            raise error(
                "DSL0605",
                f"the copy into {left[0].tensor.memory.name} is never {missing}, in {title}",
                left[0].site.loc,
                hint="end with commit() and wait(0): what has not landed is lost",
            )


def copy_async(scope: Scope, i: ins.CopyAsync) -> Step:
    """Read the source now; out of bounds gives 0."""
    site = scope.site("the copy", i.loc, i.layout, awaited=i.barrier is not None)
    sources = compile_window(scope, i.src, site)
    targets = compile_window(scope, i.dst, site)
    src, dst = scope.slot(i.src.memory), scope.slot(i.dst.memory)
    start = _in_group if i.barrier is None else at_barrier(scope, i.barrier, i)
    multicast = i.multicast

    def step(f: Frame) -> None:
        turn, source = f[TURN], f[src]
        window = sources(f, source.shape)
        if window.empty:
            codes = np.zeros(window.shape, source.codes.dtype)
        else:
            codes = window.fill(source.read(turn, window, site), source.codes.dtype.type(0))
        for to in turn.cluster.others(turn, site.verb, site.loc) if multicast else (f,):
            target = to[dst]
            if target is None:
                text = f"{site.verb} reaches {i.dst.memory.name} before it begins, in {turn.title}"
                raise error("DSL0612", text, site.loc, hint="begin with `sync cluster`")
            into = targets(f, target.shape)
            if not into.empty:
                copy = Copy(target, into, into.part(codes), source, window, site)
                copy.start(to[TURN])
                start(f, copy, to)

    return step


def _in_group(f: Frame, copy: Copy, _: Frame) -> None:
    f[TURN].copies.loose.append(copy)


def commit_group(scope: Scope, i: ins.CommitGroup) -> Step:
    """The copies since the last commit form a group."""

    def step(f: Frame) -> None:
        f[TURN].copies.commit()

    return step


def wait_group(scope: Scope, i: ins.WaitGroup) -> Step:
    """Until at most `pending` groups are under way."""
    pending = i.pending

    def step(f: Frame) -> None:
        f[TURN].copies.wait(f[TURN], pending)

    return step


def sync(scope: Scope, i: ins.Sync) -> Step:
    """A barrier of the turn's threads."""

    def step(f: Frame) -> None:
        f[TURN].barriers += 1

    return step


def memory_barrier(scope: Scope, i: ins.MemoryBarrier) -> Step:
    """A barrier of the turn's threads, or of each warp's, between what they do to tensors."""
    warp = i.warp

    def step(f: Frame) -> None:
        f[TURN].met.pass_barrier(warp)

    return step


def nothing(scope: Scope, i: ins.AwaitPartner | ins.HandOver) -> Step:
    """Halves that alternate compute what they compute."""

    def step(f: Frame) -> None:
        pass

    return step
