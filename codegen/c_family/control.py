"""Structured control flow and scalars."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import replace

from dslc.codegen.c_family.emission import Emission, Emitter
from dslc.codegen.c_family.registers import Tile
from dslc.compiler.dtypes import Kind
from dslc.compiler.ir import Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.traverse import Body

Handed = Value | ex.Expr

_INT = 1 << 31


def let(e: Emission, s: ins.Let) -> None:
    """A scalar gets a name."""
    text = e.scalar(s.value)
    head = e.declare(s.var, wide=e.is_wide(s.value))
    e.out.line(f"const {head} = {text};")
    e.facts.define(s.var, s.value)


def copy(e: Emission, to: Tile, source: Tile) -> None:
    """Registers to registers."""
    if to.name == source.name:
        return
    with e.out.loop("i", to.words):
        e.out.line(f"{to.name}[i] = {source.name}[i];")


def _open(
    e: Emission,
    pairs: Sequence[tuple[Value | ex.Var, Handed | None]],
    narrow: Container[Value | ex.Var] = (),
) -> None:
    """Declare what a statement hands on, with its first values; `narrow` indices fit in an int."""
    for name, first in pairs:
        if isinstance(name, Value):
            tile = e.new(name)
            if isinstance(first, Value):
                copy(e, tile, e.tile(first))
            continue
        text = None if first is None else e.scalar(_expr(first))
        head = e.declare(name, wide=name.dtype.kind is Kind.INDEX and name not in narrow)
        e.out.line(f"{head};" if text is None else f"{head} = {text};")


def _expr(handed: Handed) -> ex.Expr:
    assert not isinstance(handed, Value)
    return handed


def _assign(e: Emission, pairs: Sequence[tuple[Value | ex.Var, Handed]]) -> None:
    """Give names their new values, all at once."""
    scalars = [(name, e.scalar(_expr(new))) for name, new in pairs if not isinstance(name, Value)]
    tiles = [
        (e.tile(name), e.tile(new))
        for name, new in pairs
        if isinstance(name, Value) and isinstance(new, Value)
    ]
    copies = [(to, source) for to, source in tiles if to.name != source.name]
    if len(scalars) > 1 or (scalars and copies):
        for k, (name, text) in enumerate(scalars):
            assert isinstance(name, ex.Var)
            e.out.line(f"const auto next_{e.variables[name]} = {text};")
            scalars[k] = (name, f"next_{e.variables[name]}")
    _copy_all(e, copies)
    for name, text in scalars:
        assert isinstance(name, ex.Var)
        e.out.line(f"{e.variables[name]} = {text};")


def _copy_all(e: Emission, copies: list[tuple[Tile, Tile]]) -> None:
    """Copies that happen at once: what none of the others reads is written first, a ring is cut."""
    while copies:
        read = {source.name for _, source in copies}
        ready = next((pair for pair in copies if pair[0].name not in read), None)
        if ready is not None:
            copies.remove(ready)
            copy(e, *ready)
            continue
        held = copies[0][0]
        kept = held.renamed(e.out.name(held.name))
        e.out.line(f"{kept.declaration};")
        copy(e, kept, held)
        copies = [(to, kept if source.name == held.name else source) for to, source in copies]


def _remainders(e: Emission, s: ins.For) -> dict[ex.Var, int]:
    """What a loop carries that is a remainder of a number in every iteration, as a ring's slot is."""
    remainders = {}
    for c in s.carried:
        if isinstance(c.inner, ex.Var) and c.inner.dtype.kind is Kind.INDEX:
            number = _remainder_of(e, c, s.body)
            if number is not None:
                remainders[c.inner] = number
    for c in s.carried:  # the slot that is filled next is the one that was read
        number = remainders.get(c.yielded) if isinstance(c.yielded, ex.Var) else None
        first = c.init.value if isinstance(c.init, ex.Const) else -1
        if number is not None and isinstance(c.inner, ex.Var) and 0 <= first < number:
            remainders[c.inner] = number
    return remainders


def _remainder_of(e: Emission, c: ins.Carried, body: Body) -> int | None:
    """The number; a loop inside may have carried the remainder on."""
    match c.yielded:
        case ex.Binary("mod", _, ex.Const(n)):
            number = int(n)
        case ex.Var() as result:
            inside = (i for s in body if isinstance(s, ins.For) for i in s.carried)
            own = next((i for i in inside if i.result is result and i.init == c.inner), None)
            if own is None or not isinstance(own.yielded, ex.Binary):
                return None
            return _remainder_of(e, replace(own, init=c.init), ())
        case _:
            return None
    match c.init:
        case ex.Const(first):
            return number if 0 <= first < number < _INT else None
        case ex.Var() as first:
            return number if e.remainders.get(first) == number else None
    return None


def _share(e: Emission, result: Value | ex.Var, inner: Value | ex.Var) -> None:
    """The result of a loop lives where the loop carried it."""
    if isinstance(result, Value):
        assert isinstance(inner, Value)
        e.alias(result, e.tile(inner))
        return
    assert isinstance(inner, ex.Var)
    e.variables[result] = e.variables[inner]
    if inner in e.wide:
        e.wide.add(result)
    if inner in e.remainders:
        e.remainders[result] = e.remainders[inner]


def for_loop(e: Emission, s: ins.For, last: Callable[[], None] = lambda: None) -> None:
    """A counted loop with what it carries; `last` writes what a machine wants at the body's end."""
    frame = e.enter(s)
    counters = _remainders(e, s)
    e.remainders |= counters
    _open(e, [(c.inner, c.init) for c in s.carried], counters)
    start, stop, step = (e.scalar(x) for x in (s.start, s.stop, s.step))
    wide = e.is_wide(s.start) or e.is_product(s.stop)
    outside, e.facts = e.facts, e.facts.copy()
    e.facts.assume_range(s.var, s.start, s.stop, s.step)
    for c in s.carried:
        e.facts.assume_invariant(c, s.body, after=False)
    head = e.declare(s.var, wide=wide)
    name = e.variables[s.var]
    up = f"++{name}" if step == "1" else f"{name} += {step}"
    e.out.line(f"#pragma unroll {s.unroll or 1}")
    with e.out.block(f"for ({head} = {start}; {name} < {stop}; {up})"), e.repeated():
        e.body(s.body)
        last()
        _assign(e, [(c.inner, c.yielded) for c in s.carried])
    e.facts = outside
    e.leave(frame)
    for c in s.carried:
        _share(e, c.result, c.inner)
        e.facts.assume_invariant(c, s.body, after=True)


def while_loop(e: Emission, s: ins.While) -> None:
    """A loop on a condition computed at its head."""
    _open(e, [(c.inner, c.init) for c in s.carried])
    outside, e.facts = e.facts, e.facts.copy()
    for c in s.carried:
        e.facts.assume_invariant(c, s.body, after=False)
    with e.out.block("while (true)"), e.repeated():
        e.body(s.before)
        e.out.line(f"if (!({e.scalar(s.condition)})) break;")
        e.body(s.body)
        _assign(e, [(c.inner, c.yielded) for c in s.carried])
    e.facts = outside
    for c in s.carried:
        _share(e, c.result, c.inner)
        e.facts.assume_invariant(c, s.body, after=True)


def branch(e: Emission, s: ins.If) -> None:
    """Two branches and what they join."""
    _open(e, [(j.result, None) for j in s.joined])
    outside = e.facts
    before, after = e.shared_use, e.shared_use
    for k, (body, word) in enumerate(
        ((s.then, f"if ({e.scalar(s.condition)})"), (s.otherwise, "else"))
    ):
        handed = [(j.result, j.otherwise if k else j.then) for j in s.joined]
        if k and not body and not handed:
            continue
        e.facts = outside.copy()
        e.facts.assume(s.condition, k == 0)
        e.shared_use = before
        with e.out.block(word):
            e.body(body)
            _assign(e, handed)
        after |= e.shared_use
    e.facts, e.shared_use = outside, after


EMITTERS: dict[type, Emitter] = {
    ins.Let: let,
    ins.For: for_loop,
    ins.While: while_loop,
    ins.If: branch,
}
