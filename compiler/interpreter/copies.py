"""Asynchronous copies: read when they are issued, written when their group is waited for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from dslc.compiler.dtypes.storage import Array
from dslc.compiler.interpreter.scope import TURN, Frame, Scope, Site, Step
from dslc.compiler.interpreter.windows import Window, compile_window
from dslc.compiler.ir import instructions as ins

if TYPE_CHECKING:
    from dslc.compiler.interpreter.tensors import Tensor
    from dslc.compiler.interpreter.turn import Turn


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy under way: the codes that will stand in `window` of `tensor`."""

    tensor: Tensor
    window: Window
    codes: Array
    site: Site

    def land(self, turn: Turn) -> None:
        """Write the destination."""
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


def copy_async(scope: Scope, i: ins.CopyAsync) -> Step:
    """Read the source now; out of bounds gives 0."""
    site = scope.site("the copy", i.loc)
    sources = compile_window(scope, i.src, site)
    targets = compile_window(scope, i.dst, site)
    src, dst = scope.slot(i.src.memory), scope.slot(i.dst.memory)

    def step(f: Frame) -> None:
        turn, source, target = f[TURN], f[src], f[dst]
        window = sources(f, source.shape)
        if window.empty:
            codes = np.zeros(window.shape, source.codes.dtype)
        else:
            codes = window.fill(source.read(turn, window, site), source.codes.dtype.type(0))
        into = targets(f, target.shape)
        if not into.empty:
            turn.copies.loose.append(Copy(target, into, into.part(codes), site))

    return step


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
