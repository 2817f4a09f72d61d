"""A failing program made small by delta debugging over its tree.

small = shrink(program, lambda p: run("interp", p).kind == "wrong")

A change is kept if the smaller program still fails; those that make no sense are refused by the
oracle or the compiler, and so are not kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from support.oracle.dtypes import DTYPES
from support.oracle.tree import (
    Affine,
    Expr,
    For,
    If,
    Program,
    Scatter,
    Shape,
    Stmt,
    Store,
    Sub,
    While,
    expressions_of,
    mapped,
    statements,
    walk,
    with_expressions,
)

Body = tuple[Stmt, ...]


def shrink(program: Program, fails: Callable[[Program], bool], tries: int = 2000) -> Program:
    """A small program that fails still, after so many tries at most."""
    progress = True
    while progress and tries > 0:
        progress = False
        for candidate in smaller(program):
            tries -= 1
            if tries < 0:
                break
            candidate = _without_unused(candidate)  # noqa: PLW2901
            if candidate != program and _still(candidate, fails):
                program, progress = candidate, True
                break
    return program


def _still(candidate: Program, fails: Callable[[Program], bool]) -> bool:
    try:
        return fails(candidate)
    except Exception:  # a change that makes no sense
        return False


def smaller(p: Program) -> Iterator[Program]:
    """Programs with one thing less, those with much less first."""
    yield from (replace(p, body=b) for b in _bodies(p.body))
    for i, (name, _, _) in enumerate(p.grid):
        fixed = replace(p, body=_without_name(p.body, name))
        yield replace(fixed, grid=p.grid[:i] + p.grid[i + 1 :])
    for i, t in enumerate(p.tensors):
        for plain in ({"strided": False}, {"packed": False}, {"draw": "plain"}):
            yield replace(p, tensors=(*p.tensors[:i], replace(t, **plain), *p.tensors[i + 1 :]))  # type: ignore[arg-type]
    for i, (dim, size) in enumerate(p.dims):
        for less in dict.fromkeys((1, size // 2, size - 1)):
            if 0 < less < size:
                yield replace(p, dims=(*p.dims[:i], (dim, less), *p.dims[i + 1 :]))
    for extent in sorted(_extents(p), reverse=True):
        for less in dict.fromkeys((1, extent // 2, extent - 1)):
            if 0 < less < extent:
                yield _with_extent(p, extent, less)
    for name, _, value in p.scalars:
        yield replace(p, body=_without_name(p.body, name))
        if value:
            new = tuple((n, d, 0 if n == name else v) for n, d, v in p.scalars)
            yield replace(p, scalars=new)


def _bodies(body: Body) -> Iterator[Body]:
    for i in reversed(range(len(body))):
        yield body[:i] + body[i + 1 :]
    for i, stmt in enumerate(body):
        for new in _statements(stmt):
            yield body[:i] + new + body[i + 1 :]


def _statements(stmt: Stmt) -> Iterator[Body]:
    """What may stand in place of a statement."""
    match stmt:
        case For():
            yield _without_name(stmt.body, stmt.name)
            if stmt.options:
                yield (replace(stmt, options=""),)
            if stmt.start.terms or stmt.stop.terms:
                fixed = replace(stmt, start=Affine(), stop=Affine(2), step=1)
                yield (fixed,)
            yield from ((replace(stmt, body=b),) for b in _bodies(stmt.body))
        case While():
            yield _without_name(stmt.body, stmt.name)
            yield from ((replace(stmt, body=b),) for b in _bodies(stmt.body))
        case If():
            yield stmt.then
            yield stmt.otherwise
            yield from ((replace(stmt, then=b),) for b in _bodies(stmt.then))
            yield from ((replace(stmt, otherwise=b),) for b in _bodies(stmt.otherwise))
        case Store() | Scatter():
            yield from ((replace(stmt, subs=subs),) for subs in _subs(stmt.subs))
    if isinstance(stmt, Store) and stmt.where is not None:
        yield (replace(stmt, where=None),)
    found = expressions_of(stmt)
    for i, e in enumerate(found):
        for new in _expressions(e):
            yield (with_expressions(stmt, (*found[:i], new, *found[i + 1 :])),)


def _expressions(e: Expr) -> Iterator[Expr]:
    """The expression with one node in it made simpler."""
    for arg in walk(e):
        if arg is not e and (arg.dtype, arg.shape) == (e.dtype, e.shape):
            yield arg
    if e.op not in ("full", "number", "zeros", "variable", "affine"):
        one = 1.0 if DTYPES[e.dtype].is_float else DTYPES[e.dtype].kind == "bool" or 1
        if e.shape and DTYPES[e.dtype].greatest >= 1:
            yield Expr("full", e.dtype, e.shape, (Expr("number", e.dtype, (), (), (one,)),))
        for arg in e.args:
            if arg.shape == e.shape and arg.dtype != e.dtype and e.op != "cast":
                yield Expr("cast", e.dtype, e.shape, (arg,), (False,))
    if e.op == "cast" and e.data[0]:
        yield replace(e, data=(False,))
    if e.op == "load":
        tensor, subs, other = e.data
        if e.args:
            yield replace(e, args=())
        if other is not None:
            yield replace(e, data=(tensor, subs, None))
        yield from (replace(e, data=(tensor, new, other)) for new in _subs(subs))
    for i, arg in enumerate(e.args):
        for new in _expressions(arg):
            yield replace(e, args=(*e.args[:i], new, *e.args[i + 1 :]))


def _subs(subs: tuple[Sub, ...]) -> Iterator[tuple[Sub, ...]]:
    for i, sub in enumerate(subs):
        for new in (replace(sub, start=Affine()), replace(sub, step=1),
                    replace(sub, start=Affine(0, sub.start.terms)),
                    replace(sub, end=None)):  # fmt: skip
            if new != sub:
                yield (*subs[:i], new, *subs[i + 1 :])


def _without_name(body: Body, name: str) -> Body:
    """The statements with a scalar taken as 0."""

    def less(a: Affine) -> Affine:
        return Affine(a.constant, tuple(t for t in a.terms if t[1] != name))

    return _remade(body, less, lambda s: s)


def _remade(
    body: Body, affine: Callable[[Affine], Affine], shape: Callable[[Shape], Shape]
) -> Body:
    """The statements with other index expressions and other extents."""

    def subs(some: tuple[Sub, ...]) -> tuple[Sub, ...]:
        return tuple(
            replace(
                s,
                start=affine(s.start),
                length=shape((s.length,))[0],
                end=s.end and affine(s.end),
            )
            for s in some
        )

    def change(e: Expr) -> Expr:
        data = tuple(
            affine(d) if isinstance(d, Affine)
            else subs(d) if isinstance(d, tuple) and d and isinstance(d[0], Sub) else d
            for d in e.data
        )  # fmt: skip
        return Expr(e.op, e.dtype, shape(e.shape), tuple(map(change, e.args)), data)

    out: list[Stmt] = []
    for stmt in mapped(body, change):
        new = stmt
        match stmt:
            case Store() | Scatter():
                new = replace(stmt, subs=subs(stmt.subs))
            case For():
                inner = _remade(stmt.body, affine, shape)
                new = replace(stmt, start=affine(stmt.start), stop=affine(stmt.stop), body=inner)
            case While():
                inner = _remade(stmt.body, affine, shape)
                new = replace(stmt, start=affine(stmt.start), body=inner)
            case If():
                branches = (_remade(b, affine, shape) for b in (stmt.then, stmt.otherwise))
                new = replace(stmt, **dict(zip(("then", "otherwise"), branches, strict=True)))
            case _ if hasattr(stmt, "shape"):
                new = replace(stmt, shape=shape(stmt.shape))
        out.append(new)
    return tuple(out)


def _extents(p: Program) -> set[int]:
    found = {n for stmt in statements(p.body) for e in expressions_of(stmt) for x in walk(e)
             for n in x.shape}  # fmt: skip
    return found | {n for t in p.tensors for n in t.extents if isinstance(n, int)}


def _with_extent(p: Program, old: int, new: int) -> Program:
    def shape(some: Shape) -> Shape:
        return tuple(new if e == old else e for e in some)

    tensors = tuple(
        replace(t, extents=tuple(new if e == old else e for e in t.extents)) for t in p.tensors
    )
    grid = tuple((n, d, new if b == old else b) for n, d, b in p.grid)
    return replace(p, tensors=tensors, grid=grid, body=_remade(p.body, lambda a: a, shape))


def _without_unused(p: Program) -> Program:
    """Without parameters that nothing names; a dim keeps one tensor that gives its value."""
    from support.oracle.printer import source

    text = source(replace(p, tensors=(), scalars=(), dims=()))
    kept = [t for t in p.tensors if f"{t.name}[" in text]
    scalars = tuple(s for s in p.scalars if _named(s[0], text))
    used = {e for t in kept for e in t.extents} | {d for _, d, _ in p.grid}
    dims = tuple(d for d in p.dims if d[0] in used)
    for name, _ in dims:
        if not any(name in t.extents for t in kept):
            kept += [t for t in p.tensors if name in t.extents][:1]
    loose = tuple(n for n in p.loose if any(t.name == n for t in kept))
    names = {t.name for t in kept}
    return replace(
        p, tensors=tuple(t for t in p.tensors if t.name in names), scalars=scalars, dims=dims,
        loose=loose,
    )  # fmt: skip


def _named(name: str, text: str) -> bool:
    import re

    return re.search(rf"\b{name}\b", text) is not None
