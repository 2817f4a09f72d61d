"""Loops that the compiler runs: over `static(range(...))`, lists, `zip` and `enumerate`.

    for i in static(range(4)):            # i is the number 0, then 1, 2, 3
        acc[i] += dot(a, b[i])
    for x, y in zip([p, q], [r, s]): ...

Their bodies are elaborated once for each item. What a list holds is carried by the loops of the machine
element by element, under names like `acc[0]`.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice

from dslc.checker.context import MAX_ITEMS, Context
from dslc.checker.failure import fail
from dslc.checker.items import Item, Lost, describe
from dslc.frontend import tree

WORDS = ("static", "zip", "enumerate")


def known_items(c: Context, node: tree.Expr, *, unrolled: bool = False) -> tuple[Item, ...] | None:
    """What a loop over `node` goes over, where that is known; None for a loop of the machine.

    Where all loops are `unrolled`, a plain `range` is known as well.
    """
    if isinstance(node, tree.Call):
        word = node.function.id if isinstance(node.function, tree.Name) else ""
        return _numbers(c, node) if unrolled and word == "range" else _of_call(c, node)
    if isinstance(node, tree.Name | tree.Sequence | tree.Subscript | tree.Conditional):
        item = c.elaborators.expression(c, node, False)
        if isinstance(item, tuple):
            return item
        hint = "a loop over numbers: for i in range(n); over a list: for x in [a, b]"
        fail("DSL0215", f"a for loop cannot go over {describe(item)}", node.loc, hint=hint)
    return None


def unroll(c: Context, node: tree.For, items: tuple[Item, ...]) -> None:
    """Elaborate the body for each item; its counters have no value afterwards."""
    before = {t.id: c.names.get(t.id) for t in node.targets}
    errors = len(c.diagnostics)
    for item in items:
        for statement in node.body:
            c.inline(statement.loc)
        _bind(c, node, item)
        c.elaborators.statements(c, node.body)
        if len(c.diagnostics) > errors:
            break  # the next item's would say the same
    for name, item in before.items():
        lost = Lost("is the variable of this loop and has no value after it", node.loc)
        c.names[name] = lost if item is None else item


def _of_call(c: Context, node: tree.Call) -> tuple[Item, ...] | None:
    word = node.function.id if isinstance(node.function, tree.Name) else ""
    if word == "range" or word not in WORDS:
        return None
    if node.keywords:
        fail("DSL0205", f"{word} takes no options", node.keywords[0].loc)
    if word == "zip":
        lists = [_listed(c, a) for a in node.args]
        if not lists or len({len(x) for x in lists}) > 1:
            sizes = " and ".join(str(len(x)) for x in lists) or "none"
            fail("DSL0205", f"zip takes lists of one length, not of {sizes}", node.loc)
        return tuple(zip(*lists, strict=True))
    if len(node.args) != 1:
        fail("DSL0205", f"{word} takes one argument, not {len(node.args)}", node.loc)
    items = _listed(c, node.args[0])
    return tuple(enumerate(items)) if word == "enumerate" else items


def _listed(c: Context, node: tree.Expr) -> tuple[Item, ...]:
    """The items of an argument: a list, or a range of known numbers."""
    if isinstance(node, tree.Call) and isinstance(node.function, tree.Name):
        if node.function.id == "range":
            return _numbers(c, node)
        if node.function.id in WORDS:
            listed = _of_call(c, node)
            assert listed is not None
            return listed
    item = c.elaborators.expression(c, node, False)
    if not isinstance(item, tuple):
        fail("DSL0215", f"a list or a range(...) is wanted, not {describe(item)}", node.loc)
    return item


def _numbers(c: Context, node: tree.Call) -> tuple[Item, ...]:
    if node.keywords or not 1 <= len(node.args) <= 3:
        fail("DSL0205", "a range at compile time takes 1 to 3 numbers and no options", node.loc)
    bounds = [
        c.integer(c.elaborators.expression(c, a, False), a.loc, "a bound of a loop at compile time")
        for a in node.args
    ]
    if len(bounds) == 3 and bounds[2] == 0:
        hint = "write how far an iteration goes, such as 1"
        fail("DSL0224", "the step of a range is not 0", node.args[2].loc, hint=hint)
    items = tuple(islice(range(*bounds), MAX_ITEMS + 1))
    if len(items) > MAX_ITEMS:
        fail("DSL0232", f"a loop at compile time has at most {MAX_ITEMS} items", node.loc)
    return items


def _bind(c: Context, node: tree.For, item: Item) -> None:
    names = [t.id for t in node.targets]
    if len(names) == 1:
        c.names[names[0]] = item
        return
    if not isinstance(item, tuple) or len(item) != len(names):
        fail("DSL0215", f"{len(names)} names are given {describe(item)}", node.loc)
    c.names.update(zip(names, item, strict=True))


# What lists hold, by names of their elements


def leaves(name: str, item: Item) -> dict[str, Item]:
    """The elements of a list, of lists in it too, under names like `acc[0]`; an item under its own."""
    if not isinstance(item, tuple):
        return {name: item}
    parts = (leaves(f"{name}[{i}]", part) for i, part in enumerate(item))
    return {key: value for part in parts for key, value in part.items()}


def rebuilt(name: str, like: Item, found: Mapping[str, Item]) -> Item:
    """The item with the structure of `like` whose elements have those names."""
    if isinstance(like, tuple):
        return tuple(rebuilt(f"{name}[{i}]", part, found) for i, part in enumerate(like))
    return found[name]


def plain_name(name: str) -> str:
    """A name of an element as the IR may have it: `acc_0`."""
    return name.replace("[", "_").replace("]", "")
