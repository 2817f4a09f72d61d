"""Groups of copies to LDS, and waits for them.

The unit retires loads in order, and a wave counts its own: until no more than N are under way,
`s_waitcnt vmcnt(N)`. A wait that leaves groups under way so allows the fewest loads that such groups
have, if they have them: at the end of a loop groups are empty, and then all must land.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

from dslc.codegen.c_family.emission import Emission, Emitter
from dslc.codegen.hip.copies import direct
from dslc.compiler.ir import Kernel
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.traverse import Body, bodies, walk

_MOST_WAITED = 63  # loads that vmcnt counts


@dataclass(frozen=True, slots=True)
class Group:
    """The statements that a commit closes, and under which condition all of `loads` are made."""

    copies: tuple[ins.CopyAsync, ...]
    condition: ex.Expr | None = None


def commit(e: Emission, s: ins.CommitGroup) -> None:
    """A group ends here: count how many in a row were whole."""
    if not _counts(e):
        return
    condition = _groups(e.kernel)[s].condition
    whole = "true" if condition is None else e.scalar(condition)
    name = e.bases.counter("whole")
    e.out.line(f"{name} = {whole} ? {name} + 1 : 0;")


def wait(e: Emission, s: ins.WaitGroup) -> None:
    """Until at most so many groups are under way: by their loads, if the last ones were whole."""
    loads = min(_MOST_WAITED, s.pending * _group_loads(e))
    if not s.pending or not _counts(e):
        e.out.line("copy_wait<0>();")
        return
    with e.out.block(f"if ({e.bases.counter('whole')} >= {s.pending})"):
        e.out.line(f"copy_wait<{loads}>();")
    with e.out.block("else"):
        e.out.line("copy_wait<0>();")


def _counts(e: Emission) -> bool:
    """Whether groups stay under way at a wait, and have loads to tell them by."""
    waits = (s for s in walk(e.kernel.body) if isinstance(s, ins.WaitGroup))
    return any(s.pending for s in waits) and _group_loads(e) > 0


def _group_loads(e: Emission) -> int:
    """The fewest loads that any whole group of the kernel has, in every wave."""
    counts = []
    for group in _groups(e.kernel).values():
        units = [direct(e, copy) for copy in group.copies]
        counts.append(sum(u.loads for u in units if u is not None))
    return min(counts, default=0)


@functools.lru_cache(maxsize=8)
def _groups(kernel: Kernel) -> dict[ins.CommitGroup, Group]:
    """By its commit each group of a kernel: what is copied before it in the same body.

    That is without a condition, or under the one condition of a branch.
    """
    groups: dict[ins.CommitGroup, Group] = {}
    todo: list[Body] = [kernel.body]
    for body in todo:  # which grows meanwhile
        todo += [inner for s in body for inner in bodies(s)]
        plain: list[ins.CopyAsync] = []
        branches: list[ins.If] = []
        for stmt in body:
            if isinstance(stmt, ins.CommitGroup):
                one = branches[0] if len(branches) == 1 and not plain else None
                copies = _copies(one.then) if one is not None else tuple(plain)
                groups[stmt] = Group(copies, one.condition if one is not None else None)
                plain, branches = [], []
            elif isinstance(stmt, ins.CopyAsync):
                plain.append(stmt)
            elif isinstance(stmt, ins.If) and _copies(stmt.then):
                branches.append(stmt)
    return groups


def _copies(body: Body) -> tuple[ins.CopyAsync, ...]:
    return tuple(s for s in body if isinstance(s, ins.CopyAsync))


EMITTERS: dict[type, Emitter] = {ins.CommitGroup: commit, ins.WaitGroup: wait}
