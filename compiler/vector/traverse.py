"""Walking over statements: what they write, what they read, what is inside them.

The fields of an instruction's class say what they are: Register is written, Operand (or none, or a
tuple of them) is read, all else is an attribute.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

from dslc.compiler.vector.function import Block, For, If, Instruction, Stmt, While
from dslc.compiler.vector.values import Operand, Register


@dataclass(frozen=True, slots=True)
class Shape:
    """The fields of an instruction's class by what they are, each in the order of the class."""

    reads: tuple[str, ...]
    optional_reads: tuple[str, ...]
    read_lists: tuple[str, ...]
    attributes: tuple[str, ...]
    has_result: bool


_SHAPES: dict[Any, Shape] = {}


def shape(kind: Any) -> Shape:
    """How an instruction's class is built."""
    if kind not in _SHAPES:
        _SHAPES[kind] = _read_shape(kind)
    return _SHAPES[kind]


def _read_shape(kind: Any) -> Shape:
    types = {f.name: str(f.type) for f in fields(kind) if f.name != "loc"}
    of = {t: tuple(n for n in types if types[n] == t) for t in types.values()}
    reads = of.get("Operand", ())
    optional = of.get("Operand | None", ())
    lists = of.get("tuple[Operand, ...]", ())
    others = tuple(n for n in types if n not in (*reads, *optional, *lists, "out"))
    return Shape(reads, optional, lists, others, "out" in types)


def results(stmt: Stmt) -> tuple[Register, ...]:
    """The registers that a statement writes for those after it."""
    if isinstance(stmt, (For, While, If)):
        return stmt.outs
    return (stmt.out,) if shape(type(stmt)).has_result else ()  # type: ignore[union-attr]


def operands(stmt: Stmt) -> tuple[Operand, ...]:
    """What a statement reads itself, in order; what its blocks read is not among it."""
    match stmt:
        case For():
            return (stmt.begin, stmt.end, *stmt.starts)
        case While():
            return stmt.starts
        case If():
            return (stmt.condition,)
    form = shape(type(stmt))
    read: list[Operand] = [getattr(stmt, name) for name in form.reads]
    read += [x for name in form.optional_reads if (x := getattr(stmt, name)) is not None]
    for name in form.read_lists:
        read += getattr(stmt, name)
    return tuple(read)


def blocks(stmt: Stmt) -> tuple[Block, ...]:
    """The blocks of a statement."""
    match stmt:
        case For():
            return (stmt.block,)
        case While():
            return (stmt.test, stmt.block)
        case If():
            return (stmt.then, stmt.otherwise)
    return ()


def entering(stmt: Stmt) -> tuple[Register, ...]:
    """The registers that a statement defines for its blocks."""
    match stmt:
        case For():
            return (stmt.var, *stmt.carried)
        case While():
            return stmt.carried
    return ()


def walk(body: Iterable[Stmt]) -> Iterator[Stmt]:
    """Every statement, those of blocks after the one that holds them."""
    for stmt in body:
        yield stmt
        for block in blocks(stmt):
            yield from walk(block.body)


def with_operands(stmt: Instruction, change: Callable[[Operand], Operand]) -> Instruction:
    """The instruction with what it reads changed; itself where nothing changes."""
    form = shape(type(stmt))
    new: dict[str, Any] = {}
    for name in (*form.reads, *form.optional_reads):
        old = getattr(stmt, name)
        if old is not None and (now := change(old)) is not old:
            new[name] = now
    for name in form.read_lists:
        new[name] = tuple(change(x) for x in getattr(stmt, name))
    return replace(stmt, **new) if new else stmt
