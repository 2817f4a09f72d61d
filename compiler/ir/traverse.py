"""What a statement is made of, told from its dataclass: one table serves every pass and the text form.

Each field of an instruction has a part, by its annotation: `out: Value` is a result, `x: Value` an
operand, `region: Region` a place in memory. An annotation that the table does not know is an error at
once, so that a new instruction cannot be half supported.
"""

from __future__ import annotations

import dataclasses
import enum
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias, get_args

from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.expr import Expr, Read, Var
from dslc.compiler.ir.instructions import Carried, Instruction, Joined, Stmt
from dslc.compiler.ir.values import Memory, Region, Value

Body: TypeAlias = tuple[Stmt, ...]
Name: TypeAlias = Value | Var
Use: TypeAlias = Value | Expr

INSTRUCTIONS: tuple[type[Instruction], ...] = get_args(Instruction)
STATEMENTS: tuple[type[Stmt], ...] = (*INSTRUCTIONS, ins.For, ins.While, ins.If, ins.WarpSpecialize)


class Part(enum.Enum):
    """What a field of an instruction is."""

    RESULT = "result"  # the tile that it defines
    SCALAR = "scalar"  # the variable that it defines
    MEMORY = "memory"  # the memory that it begins
    VALUE = "value"  # a tile, or None
    VALUES = "values"  # a tuple of tiles
    EXPR = "expr"  # a scalar expression, or None
    MIXED = "mixed"  # a tuple of tiles and expressions
    REGION = "region"
    ATTRIBUTE = "attribute"  # numbers, flags, words and layouts known at compile time
    LOC = "loc"


_PARTS = {
    "Value": Part.VALUE,
    "Value | None": Part.VALUE,
    "tuple[Value, ...]": Part.VALUES,
    "Expr": Part.EXPR,
    "Expr | None": Part.EXPR,
    "tuple[Value | Expr, ...]": Part.MIXED,
    "Region": Part.REGION,
    "Region | None": Part.REGION,
    "Memory": Part.MEMORY,
    "Var": Part.SCALAR,
    "str": Part.ATTRIBUTE,
    "str | None": Part.ATTRIBUTE,
    "int": Part.ATTRIBUTE,
    "bool": Part.ATTRIBUTE,
    "tuple[int, ...]": Part.ATTRIBUTE,
    "Layout | None": Part.ATTRIBUTE,
    "Loc | None": Part.LOC,
}


@dataclasses.dataclass(frozen=True, slots=True)
class Field:
    """A field of an instruction: its name, its part, its annotation, and whether it may be left out."""

    name: str
    part: Part
    annotation: str
    optional: bool
    default: object = None


def _fields(kind: type[Instruction]) -> tuple[Field, ...]:
    fields = []
    for f in dataclasses.fields(kind):
        annotation = str(f.type)
        part = Part.RESULT if f.name == "out" else _PARTS[annotation]
        optional = f.default is not dataclasses.MISSING
        fields.append(Field(f.name, part, annotation, optional, f.default if optional else None))
    return tuple(fields)


_FIELDS: dict[type, tuple[Field, ...]] = {kind: _fields(kind) for kind in INSTRUCTIONS}
_DEFINING: dict[type, tuple[str, ...]] = {
    kind: tuple(f.name for f in found if f.part in (Part.RESULT, Part.SCALAR))
    for kind, found in _FIELDS.items()
}
_REGIONS: dict[type, tuple[str, ...]] = {
    kind: tuple(f.name for f in found if f.part is Part.REGION) for kind, found in _FIELDS.items()
}


def fields(kind: type[Instruction]) -> tuple[Field, ...]:
    """The fields of an instruction class, in order."""
    return _FIELDS[kind]


def bodies(stmt: Stmt) -> tuple[Body, ...]:
    """The nested bodies of a loop, an If or a WarpSpecialize."""
    match stmt:
        case ins.For() | ins.WarpSpecialize():
            return (stmt.body,)
        case ins.While():
            return (stmt.before, stmt.body)
        case ins.If():
            return (stmt.then, stmt.otherwise)
        case _:
            return ()


def handed(stmt: Stmt) -> tuple[Carried | Joined, ...]:
    """The carried values of a loop, the joined ones of an If."""
    match stmt:
        case ins.For() | ins.While():
            return stmt.carried
        case ins.If():
            return stmt.joined
        case _:
            return ()


def results(stmt: Stmt) -> tuple[Name, ...]:
    """The tiles and scalars that may be read after the statement."""
    if isinstance(stmt, ins.For | ins.While | ins.If | ins.WarpSpecialize):
        return tuple(h.result for h in handed(stmt))
    defined = [getattr(stmt, n) for n in _DEFINING[type(stmt)]]
    return tuple(r for r in defined if r is not None)


def tile_of(stmt: Stmt) -> Value | None:
    """The tile that an instruction defines, if it defines one."""
    out = getattr(stmt, "out", None)
    return out if isinstance(out, Value) else None


def inner_names(stmt: Stmt) -> tuple[Name, ...]:
    """The names that only the statement's own bodies see."""
    match stmt:
        case ins.For():
            return (stmt.var, *(c.inner for c in stmt.carried))
        case ins.While():
            return tuple(c.inner for c in stmt.carried)
        case _:
            return ()


def entering(stmt: Stmt) -> tuple[Use, ...]:
    """The tiles and expressions read before any nested body runs, subscripts of regions included."""
    match stmt:
        case ins.For(start=start, stop=stop, step=step):
            return (start, stop, step, *(c.init for c in stmt.carried))
        case ins.While():
            return tuple(c.init for c in stmt.carried)
        case ins.If():
            return (stmt.condition,)
        case ins.WarpSpecialize():
            return ()
        case _:
            return tuple(_instruction_uses(stmt))


def leaving(stmt: Stmt) -> tuple[tuple[Use, ...], ...]:
    """Per nested body, what is read at its end: yields, joins and a While's condition."""
    match stmt:
        case ins.For():
            return (tuple(c.yielded for c in stmt.carried),)
        case ins.While():
            return (stmt.condition,), tuple(c.yielded for c in stmt.carried)
        case ins.If():
            then = tuple(j.then for j in stmt.joined)
            return then, tuple(j.otherwise for j in stmt.joined)
        case ins.WarpSpecialize():
            return ((),)
        case _:
            return ()


def uses_of(stmt: Stmt) -> tuple[Use, ...]:
    """Everything that the statement reads itself, its nested bodies' statements apart."""
    return (*entering(stmt), *(u for group in leaving(stmt) for u in group))


def operands(stmt: Stmt) -> tuple[Value, ...]:
    """The tiles that the statement reads itself, those in expressions included."""
    return tuple(v for use in uses_of(stmt) for v in values_in(use))


def expressions(stmt: Stmt) -> tuple[Expr, ...]:
    """The scalar expressions of the statement itself."""
    return tuple(u for u in uses_of(stmt) if not isinstance(u, Value))


def regions(stmt: Stmt) -> tuple[Region, ...]:
    """The regions of memory that the statement touches itself."""
    if isinstance(stmt, ins.For | ins.While | ins.If | ins.WarpSpecialize):
        return ()
    present = (getattr(stmt, n) for n in _REGIONS[type(stmt)])
    return tuple(region for region in present if region is not None)


def memories(stmt: Stmt) -> tuple[Memory, ...]:
    """The memories that the statement touches itself; an Alloc's own counts."""
    if isinstance(stmt, ins.Alloc):
        return (stmt.memory,)
    return tuple(r.memory for r in regions(stmt))


def reads(stmt: Stmt) -> tuple[Region, ...]:
    """The regions whose elements the statement reads."""
    match stmt:
        case ins.Load() | ins.Gather() | ins.SemaphoreWait() | ins.AtomicRmw() | ins.AwaitPhase():
            return (stmt.region,)
        case ins.CopyAsync():
            return (stmt.src,)
        case _:
            return ()


def writes(stmt: Stmt) -> tuple[Region, ...]:
    """The regions whose elements the statement writes."""
    match stmt:
        case ins.Store() | ins.Scatter() | ins.SemaphoreRelease() | ins.AtomicRmw():
            return (stmt.region,)
        case ins.CopyAsync():
            return (stmt.dst,)
        case _:
            return ()


def values_in(use: Use) -> Iterator[Value]:
    """The tiles of a use: itself, or those that an expression reads."""
    if isinstance(use, Value):
        yield use
    else:
        for node in ex.walk(use):
            if isinstance(node, Read):
                yield node.value


def names_in(use: Use) -> Iterator[Name]:
    """The tiles and variables of a use."""
    if isinstance(use, Value):
        yield use
        return
    for node in ex.walk(use):
        if isinstance(node, Read):
            yield node.value
        elif isinstance(node, Var):
            yield node


def walk(body: Iterable[Stmt]) -> Iterator[Stmt]:
    """Every statement, a compound one before what it holds."""
    for stmt in body:
        yield stmt
        for nested in bodies(stmt):
            yield from walk(nested)


def definitions(body: Iterable[Stmt]) -> Mapping[Name, Stmt]:
    """Which statement defines a tile or scalar; loop variables and carried ones are the loop's."""
    return {n: s for s in walk(body) for n in (*results(s), *inner_names(s))}


def users(body: Iterable[Stmt]) -> Mapping[Name, list[Stmt]]:
    """The statements that read a tile or scalar, one entry a mention."""
    readers: defaultdict[Name, list[Stmt]] = defaultdict(list)
    for stmt in walk(body):
        for use in uses_of(stmt):
            for name in names_in(use):
                readers[name].append(stmt)
    return readers


def use_counts(body: Iterable[Stmt]) -> Counter[Name]:
    """How often each tile or scalar is read."""
    return Counter({name: len(stmts) for name, stmts in users(body).items()})


def _instruction_uses(stmt: Instruction) -> Iterator[Use]:
    for f in fields(type(stmt)):
        value = getattr(stmt, f.name)
        if value is None:
            continue
        match f.part:
            case Part.VALUE | Part.EXPR:
                yield value
            case Part.VALUES | Part.MIXED:
                yield from value
            case Part.REGION:
                yield from value.subscripts
