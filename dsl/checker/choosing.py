"""The choices of a kernel's tunes that its requirements leave.

    tune BM = 64 | 32
    tune BN = 64 | 128
    require BN % 128 == 0

takes BN = 64 away: where nothing is chosen the kernel is that of BM = 64, BN = 128 on every machine.
A requirement that asks for more than choices, constants and known dims is for the call to meet.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dslc.checker import names
from dslc.checker.context import Context
from dslc.checker.expressions import condition, evaluate
from dslc.checker.failure import Poisoned, fail
from dslc.checker.items import Item
from dslc.checker.signature import Head, declare_consts, declare_dims, parse_value
from dslc.compiler.diagnostics import DiagnosticError, Loc
from dslc.frontend import tree

_MOST = 4000  # choices that are tried
_SHOWN = 6


@dataclass(frozen=True, slots=True)
class _Broken:
    """A requirement and the choices that break it."""

    require: tree.Require
    choices: Mapping[str, Item]

    def __str__(self) -> str:
        given = ", ".join(f"{n} = {v}" for n, v in self.choices.items())
        return f"{given}: {self.require.text}"


def choose(
    c: Context,
    head: Head,
    define: Mapping[str, Item],
    fixed: Mapping[str, int],
    config: Mapping[str, object],
    loc: Loc,
) -> dict[str, object]:
    """A choice of every tune, those of `config` as they are: the first that no requirement forbids.

    `c` is empty, over the names of the module. DSL0217 where none is left. Where `config` chooses all,
    it is taken at its word.
    """
    open_tunes = [t for t in head.tunes if t.name not in config]
    requires = linked(head)
    given: dict[str, object] = {t.name: config[t.name] for t in head.tunes if t.name in config}
    if not open_tunes:
        return given
    declare_dims(c, head, fixed)
    declare_consts(c, head, define)
    choices = {t.name: _choices(c, t) for t in open_tunes}
    c.diagnostics.clear()  # elaboration reports them
    if requires:
        firsts = _first(c, given, choices, requires, loc)
    else:
        firsts = {n: values[0] for n, values in choices.items() if values}
    return {
        t.name: {**given, **firsts}[t.name] for t in head.tunes if t.name in {**given, **firsts}
    }


def linked(head: Head) -> list[tree.Require]:
    """The requirements that are about tunes."""
    tunes = {t.name for t in head.tunes}
    return [r for r in head.requires if tunes & {*names.reads(r.condition)}]


def _choices(c: Context, tune: tree.Tune) -> Sequence[Item]:
    with c.recover(()):
        return [evaluate(c, e) for e in tune.choices]
    return ()


def _first(
    c: Context,
    given: Mapping[str, object],
    choices: Mapping[str, Sequence[Item]],
    requires: Sequence[tree.Require],
    loc: Loc,
) -> dict[str, Item]:
    """The first product of choices, found one tune after another: what is broken is not extended."""
    c.names.update({n: parse_value(v) for n, v in given.items()})
    order = list(choices)
    later = {n: k for k, n in enumerate(order)}
    # A requirement is looked at once the last tune that it reads has its choice.
    reads = [{*names.reads(r.condition)} for r in requires]
    at = [max((later.get(n, -1) for n in read), default=-1) for read in reads]
    broken: list[_Broken] = []
    looked = 0

    def holds(depth: int) -> bool:
        for require, read, last in zip(requires, reads, at, strict=True):
            if last == depth and is_broken(c, require):
                chosen = sorted(n for n in read if n in choices or n in given)
                broken.append(_Broken(require, {n: c.names[n] for n in chosen}))
                return False
        return True

    def products(depth: int) -> Iterator[dict[str, Item]]:
        nonlocal looked
        if depth == len(order):
            yield {n: c.names[n] for n in order}
            return
        for value in choices[order[depth]]:
            looked += 1
            if looked > _MOST:
                return
            c.names[order[depth]] = value
            if holds(depth):
                yield from products(depth + 1)

    if not holds(-1):  # what is given is wrong by itself: elaboration says so
        return {n: values[0] for n, values in choices.items() if values}
    first_product = next(products(0), None)
    if first_product is not None:
        return first_product
    many = f" among the first {_MOST}" if looked > _MOST else ""
    told = [str(b) for b in dict.fromkeys(map(str, broken))]
    more = f" (and {len(told) - _SHOWN} more)" if len(told) > _SHOWN else ""
    fail(
        "DSL0217",
        f"the requirements leave no choice of {', '.join(order)}{many}",
        broken[0].require.loc if broken else loc,
        hint=f"broken are {'; '.join(told[:_SHOWN])}{more}",
    )


def is_broken(c: Context, require: tree.Require) -> bool:
    """Whether it is known not to hold; what cannot be told is left to elaboration and the call."""
    try:
        return condition(c, evaluate(c, require.condition), require.condition.loc) is False
    except (DiagnosticError, Poisoned):
        return False
