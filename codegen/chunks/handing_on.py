"""In which order a loop's next tiles may take the places of those that it carries."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence

from dslc.compiler.ir import Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.traverse import Use, names_in, uses_of

Lazy = Mapping[Value, ins.Stmt]


def order_of(
    waiting: Sequence[ins.Carried], lazy: Lazy, homes: Container[Value]
) -> Iterator[tuple[ins.Carried, bool]]:
    """Each of them, and whether it may be computed where the carried one lies.

    It may once nothing to come reads what is there, if each of its elements reads the carried tile at
    its own place alone.
    """
    left = list(waiting)
    reads = {c: read_by(c.yielded, lazy, homes) for c in left}
    while left:
        ready = next(
            (c for c in left if not any(c.inner in reads[d] for d in left if d is not c)), None
        )
        c = ready or left[0]
        left.remove(c)
        own = c.inner not in reads[c] or is_in_place(c, lazy, homes)
        yield c, ready is not None and own


def read_by(use: Use, lazy: Lazy, homes: Container[Value]) -> set[Value | ex.Var]:
    """The tiles and scalars that computing a use reads, as far as nothing was computed before."""
    names: set[Value | ex.Var] = set()
    stack = list(names_in(use))
    while stack:
        name = stack.pop()
        if name in names:
            continue
        names.add(name)
        if isinstance(name, Value) and name not in homes:
            stack += [n for u in uses_of(lazy[name]) for n in names_in(u)]
    return names


def is_in_place(c: ins.Carried, lazy: Lazy, homes: Container[Value]) -> bool:
    """Whether each element of the next iteration's tile reads the carried one at its place alone."""
    if not isinstance(c.yielded, Value):
        return True
    stack = [c.yielded]
    while stack:
        value = stack.pop()
        if value is c.inner or value in homes:
            continue
        stmt = lazy[value]
        inner = [v for u in uses_of(stmt) for v in names_in(u) if isinstance(v, Value)]
        if isinstance(stmt, ins.ELEMENTWISE):
            stack += inner
        elif any(c.inner in read_by(v, lazy, homes) for v in inner):
            return False
    return True
