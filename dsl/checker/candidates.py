"""The values of a `tune` without values: from what its name is the step of, and from the machine.

    tune BM
    tune BK

    for m, n in parallel(range(0, M, BM), range(0, N, BN)):    # BM: rows of a tile
        for k in range(0, K, BK):                              # BK: the depth of a product

Tiles of products are whole units of the machine's matrix instructions, and as deep as lines of memory
are long. Which of the values a call takes, its sizes decide: by prediction, or by what was tuned for
them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from dslc.checker.failure import fail
from dslc.checker.names import reads
from dslc.compiler.diagnostics import Loc
from dslc.compiler.targets import Target
from dslc.frontend import tree

_DEPTHS = (64, 32, 128)  # elements of 16 bits: a line of a GPU's memory, its half, its double
_LINES = (4, 1, 16)  # rows of elements that have no product
_SPANS = (1024, 256, 4096)  # elements of such a row
_ODD = (80, 96, 112, 160, 192, 224)  # columns that leave fewer multiprocessors idle at some sizes


def filled(node: tree.Kernel | tree.Program, machine: Target | None) -> Any:
    """The kernel with values in every `tune`; DSL0236 where a name without values is no step."""
    if not any(isinstance(s, tree.Tune) and not s.choices for s in node.body):
        return node
    uses = dict(_uses(node))
    body: list[tree.Statement] = []
    for statement in node.body:
        if isinstance(statement, tree.Tune) and not statement.choices:
            if statement.name not in uses:
                fail(
                    "DSL0236",
                    f"nothing says which values {statement.name} may have",
                    statement.loc,
                    hint=f"it is the step of no range: write them, tune {statement.name} = 1 | 2 | 4",
                )
            values = _values(uses[statement.name], machine)
            literals = tuple(tree.Literal(v, loc=statement.loc) for v in values)
            body.append(dataclasses.replace(statement, choices=literals))
        else:
            body.append(statement)
    return dataclasses.replace(node, body=tuple(body))


def _values(use: str, machine: Target | None) -> tuple[int, ...]:
    if use == "line":
        return _LINES
    if use == "span":
        return _SPANS
    if machine is not None and machine.warp_size == 1 and machine.atoms and machine.static:
        return _of_an_engine(use, machine)
    if machine is not None and machine.warp_size == 1:
        return {"rows": (16, 1, 64), "columns": (64, 128, 256), "depth": _DEPTHS}[use]
    rows = max(16, min((a.m for a in machine.atoms), default=16)) if machine is not None else 16
    match use:
        case "rows":
            return (4 * rows, rows, 2 * rows, 8 * rows, 16 * rows)
        case "columns":
            odd = _ODD if machine is not None and machine.bulk_copies else ()
            return (128, 64, 256, 32, *odd)
    return _DEPTHS


def _of_an_engine(use: str, machine: Target) -> tuple[int, ...]:
    """Of a machine whose compiler unrolls everything: whole units, of small ones a few."""
    sizes = {"rows": [a.m for a in machine.atoms], "columns": [a.n for a in machine.atoms]}
    unit = max(sizes.get(use, [a.k for a in machine.atoms]))
    # An array of 128 x 512 is one unit; cores with instructions of 8 x 8 take tiles of some 32.
    return (unit, unit // 4, unit // 2) if unit >= 128 else (32, 64, 16)


def _uses(node: tree.Kernel | tree.Program) -> Iterator[tuple[str, str]]:
    """The names that are steps of ranges, and what they are steps of."""
    has_product = any(_is_call(n, "dot") for n in _nodes(node.body))
    spans = _spans(node.body)
    for loop in (n for n in _nodes(node.body) if isinstance(n, tree.For)):
        iterator: Any = loop.iterator
        if _is_call(iterator, "range"):
            for name in _step(iterator):
                yield name, "depth" if has_product else "span"
        elif _is_call(iterator, "parallel"):
            for i, axis in enumerate(iterator.args):
                is_last = i == len(iterator.args) - 1 and i > 0
                for name in _step(axis):
                    line = "span" if name in spans else "line"
                    yield name, ("columns" if is_last else "rows") if has_product else line


def _step(call: Any) -> Iterator[str]:
    if _is_call(call, "range") and len(call.args) == 3 and isinstance(call.args[2], tree.Name):
        yield call.args[2].id


def _spans(body: Any) -> set[str]:
    """The names in slices of last axes, and of no others."""
    last: set[str] = set()
    others: set[str] = set()
    for node in (n for n in _nodes(body) if isinstance(n, tree.Subscript)):
        last.update(reads(node.items[-1]))
        others.update(reads(node.items[:-1]))
    return last - others


def _is_call(node: Any, name: str) -> bool:
    return (
        isinstance(node, tree.Call)
        and isinstance(node.function, tree.Name)
        and node.function.id == name
    )


def _nodes(node: Any) -> Iterator[Any]:
    """Every node below, and itself."""
    if isinstance(node, tuple):
        for item in node:
            yield from _nodes(item)
    elif dataclasses.is_dataclass(node) and not isinstance(node, Loc):
        yield node
        for field in dataclasses.fields(node):
            yield from _nodes(getattr(node, field.name))
