"""Which names statements assign and read: what a loop carries from iteration to iteration."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any

from dslc.frontend import tree


def targets(node: tree.Expr) -> tuple[str, ...]:
    """The names that an assignment to `node` binds (a subscript binds none)."""
    if isinstance(node, tree.Name):
        return (node.id,)
    if isinstance(node, tree.Sequence):
        return tuple(n for i in node.items for n in targets(i))
    return ()


def assigned(body: Iterable[tree.Statement]) -> tuple[str, ...]:
    """Every name that the statements bind, in order of first binding."""
    found: dict[str, None] = {}
    for statement in body:
        match statement:
            case tree.Assign(target=target) | tree.AugAssign(target=target):
                found.update(dict.fromkeys(targets(target)))
            case tree.For(targets=names, body=inner):
                found.update(dict.fromkeys(n.id for n in names))
                found.update(dict.fromkeys(assigned(inner)))
            case tree.While(body=inner):
                found.update(dict.fromkeys(assigned(inner)))
            case tree.If(then=then, otherwise=otherwise):
                found.update(dict.fromkeys((*assigned(then), *assigned(otherwise))))
    return tuple(found)


def updated_elements(body: Iterable[tree.Statement]) -> tuple[str, ...]:
    """Names whose elements the statements assign, `x[i] = y`: of lists, tensors and buffers."""
    found: dict[str, None] = {}
    for statement in body:
        match statement:
            case (
                tree.Assign(target=tree.Subscript() as target)
                | tree.AugAssign(target=tree.Subscript() as target)
            ):
                base = target.value
                while isinstance(base, tree.Subscript):
                    base = base.value
                if isinstance(base, tree.Name):
                    found[base.id] = None
            case tree.For(body=inner) | tree.While(body=inner):
                found.update(dict.fromkeys(updated_elements(inner)))
            case tree.If(then=then, otherwise=otherwise):
                found.update(dict.fromkeys(updated_elements((*then, *otherwise))))
    return tuple(found)


def reads(node: Any) -> Iterator[str]:
    """Every name that a tree mentions (targets of assignments included)."""
    if isinstance(node, tree.Name):
        yield node.id
    elif isinstance(node, tuple):
        for item in node:
            yield from reads(item)
    elif dataclasses.is_dataclass(node):
        for field in dataclasses.fields(node):
            if field.compare:
                yield from reads(getattr(node, field.name))


def exposed(body: Iterable[tree.Statement]) -> set[str]:
    """Names whose value from before the statements may be read in them."""
    found: set[str] = set()
    done: set[str] = set()
    for statement in body:
        match statement:
            case tree.Assign(target=target, value=value):
                found |= set(reads(value)) - done
                if isinstance(target, tree.Subscript):
                    found |= set(reads(target)) - done
                done |= set(targets(target))
            case tree.If(condition=condition, then=then, otherwise=otherwise):
                found |= (set(reads(condition)) | exposed(then) | exposed(otherwise)) - done
                done |= set(assigned(then)) & set(assigned(otherwise))
            case tree.For(targets=names, iterator=iterator, body=inner):
                found |= (set(reads(iterator)) | (exposed(inner) - {n.id for n in names})) - done
            case tree.While(condition=condition, body=inner):
                found |= (set(reads(condition)) | exposed(inner)) - done
            case _:
                found |= set(reads(statement)) - done
    return found
