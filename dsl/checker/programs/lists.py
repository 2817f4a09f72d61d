"""Lists of tensors: parameters that stand for several, `ps: inout list[f32[N], 4]`.

    kernel k(ps: inout list[f32[N], 2], s: f32):        kernel k(ps_0: inout f32[N_0],
        for i in static(range(2)):                               ps_1: inout f32[N_1], s: f32):
            ps[i][0:8] = ps[i][0:8] * s             ->      for i in static(range(2)):
                                                                (ps_0, ps_1)[i][0:8] = ...

Every machine has such kernels: a list is a table of addresses and extents among the arguments of a
launch. A dim that stands in lists alone is one for each item, so that `N` is the list of these dims.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping
from typing import Any

from dslc.checker.failure import fail
from dslc.checker.names import reads
from dslc.frontend import tree
from dslc.lists_of_tensors import item_names

_LIST = "list"
MOST = 64  # items: a launch has room for some hundred arguments
_FORM = "write ps: inout list[f32[N], 4]"


def spread(
    node: Any, known: Collection[str], integer: Callable[[tree.Expr], int]
) -> tree.Kernel | tree.Program:
    """The kernel with a parameter for each item of its lists.

    `known` are the names that are no dims; `integer` gives the length of a list.
    """
    lists = {p.name: p for p in node.params if is_list(p)}
    if not lists:
        made: tree.Kernel | tree.Program = node
        return made
    counts = {name: _count(p, integer) for name, p in lists.items()}
    shared = {n for p in node.params if not is_list(p) for n in reads((p.dims, p.strides))}
    own: dict[str, int] = {}
    for name, param in lists.items():
        for dim in reads((_item(param)[1], param.strides)):
            if dim in shared or dim in known:
                continue
            if own.setdefault(dim, counts[name]) != counts[name]:
                text = f"{dim} is a dim of lists of {own[dim]} and of {counts[name]} tensors"
                fail("DSL0203", text, param.loc, hint="give the lists one length, or two dims")
    items = {n: item_names(n, count) for n, count in {**counts, **own}.items()}
    taken = {p.name for p in node.params if not is_list(p)} | {*known, *shared}
    for name, several in items.items():
        if clash := taken & {*several}:
            fail("DSL0216", f"an item of {name} is {clash.pop()} already", node.loc)
    params: list[tree.Param] = []
    for param in node.params:
        if not is_list(param):
            params.append(param)
            continue
        dtype, dims = _item(param)
        for number, name in enumerate(items[param.name]):
            renamed = {d: items[d][number] for d in own}
            params.append(
                dataclasses.replace(
                    param,
                    name=name,
                    dtype=dtype,
                    dims=_mapped(dims, renamed),
                    strides=_mapped(param.strides, renamed),
                )
            )
    return dataclasses.replace(  # type: ignore[no-any-return]
        node, params=tuple(params), body=_mapped(node.body, items)
    )


def named(node: tree.Kernel | tree.Program) -> list[str]:
    """The names of a kernel's own constants and choices."""
    return [s.name for s in node.body if isinstance(s, tree.Const | tree.Tune)]


def is_list(param: tree.Param) -> bool:
    """Whether a parameter stands for several tensors."""
    return isinstance(param.dtype, tree.Name) and param.dtype.id == _LIST


def _item(param: tree.Param) -> tuple[tree.Expr, tuple[tree.Expr, ...]]:
    """The dtype and dims of a list's items."""
    item = param.dims[0] if param.dims else None
    if not isinstance(item, tree.Subscript) or len(param.dims or ()) != 2 or param.optional:
        fail("DSL0238", f"{param.name} is no list of tensors of one type", param.loc, hint=_FORM)
    if any(isinstance(d, tree.Slice) for d in item.items):
        fail("DSL0238", f"{param.name}: a dim is no slice", param.loc, hint=_FORM)
    return item.value, tuple(d for d in item.items if not isinstance(d, tree.Slice))


def _count(param: tree.Param, integer: Callable[[tree.Expr], int]) -> int:
    _item(param)
    count = integer((param.dims or ())[1])
    if not 1 <= count <= MOST:
        text = f"{param.name} is a list of 1 to {MOST} tensors, not of {count}"
        fail("DSL0238", text, param.loc)
    return count


def _mapped(node: Any, names: Mapping[str, str | tuple[str, ...]]) -> Any:
    """A tree in which names are other names, or lists of them."""
    if isinstance(node, tree.Name) and node.id in names:
        other = names[node.id]
        if isinstance(other, str):
            return tree.Name(other, loc=node.loc)
        return tree.Sequence(tuple(tree.Name(n, loc=node.loc) for n in other), loc=node.loc)
    if isinstance(node, tuple):
        return tuple(_mapped(n, names) for n in node)
    if dataclasses.is_dataclass(node) and not isinstance(node, type):
        parts = {
            f.name: _mapped(getattr(node, f.name), names)
            for f in dataclasses.fields(node)
            if f.compare and f.init
        }
        return dataclasses.replace(node, **parts)
    return node
