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
    bound: dict[str, None] = {}
    for statement in body:
        match statement:
            case tree.Assign(target=target) | tree.AugAssign(target=target):
                bound.update(dict.fromkeys(targets(target)))
            case tree.For(targets=names, body=inner):
                bound.update(dict.fromkeys(n.id for n in names))
                bound.update(dict.fromkeys(assigned(inner)))
            case tree.While(body=inner):
                bound.update(dict.fromkeys(assigned(inner)))
            case tree.If(then=then, otherwise=otherwise):
                bound.update(dict.fromkeys((*assigned(then), *assigned(otherwise))))
    return tuple(bound)


def updated_elements(body: Iterable[tree.Statement]) -> tuple[str, ...]:
    """Names whose elements the statements assign, `x[i] = y`: of lists, tensors and buffers."""
    updated: dict[str, None] = {}
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
                    updated[base.id] = None
            case tree.For(body=inner) | tree.While(body=inner):
                updated.update(dict.fromkeys(updated_elements(inner)))
            case tree.If(then=then, otherwise=otherwise):
                updated.update(dict.fromkeys(updated_elements((*then, *otherwise))))
    return tuple(updated)


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
    read: set[str] = set()
    done: set[str] = set()
    for statement in body:
        match statement:
            case tree.Assign(target=target, value=value):
                read |= set(reads(value)) - done
                if isinstance(target, tree.Subscript):
                    read |= set(reads(target)) - done
                done |= set(targets(target))
            case tree.If(condition=condition, then=then, otherwise=otherwise):
                read |= (set(reads(condition)) | exposed(then) | exposed(otherwise)) - done
                done |= set(assigned(then)) & set(assigned(otherwise))
            case tree.For(targets=names, iterator=iterator, body=inner):
                read |= (set(reads(iterator)) | (exposed(inner) - {n.id for n in names})) - done
            case tree.While(condition=condition, body=inner):
                read |= (set(reads(condition)) | exposed(inner)) - done
            case _:
                read |= set(reads(statement)) - done
    return read
