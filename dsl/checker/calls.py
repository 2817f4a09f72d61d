"""Calls: functions of the language, layouts, and functions of the user, which are inlined."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from dslc.checker import subscript
from dslc.checker.context import Context, expect_dtype, expect_memory
from dslc.checker.failure import fail
from dslc.checker.items import Builtin, Item, KernelName, UserFunction, describe
from dslc.checker.layout_arguments import misfit
from dslc.compiler.diagnostics import DiagnosticError, Label, Loc, did_you_mean
from dslc.compiler.dtypes import DType
from dslc.compiler.ir import Value
from dslc.compiler.layout import LAYOUT_FUNCTIONS, Layout
from dslc.frontend import tree

MAX_CALLS = 64

Gathered: TypeAlias = "tuple[int, Value] | None"


@dataclass(slots=True)
class Argument:
    """One argument of a call, evaluated when the function asks for it."""

    c: Context
    node: tree.Expr
    name: str

    @property
    def loc(self) -> Loc:
        """Where it was written."""
        return self.node.loc

    def item(self) -> Item:
        """Whatever it is."""
        return self.c.evaluate(self.node)

    def tile(self) -> Value:
        """A tile; scalars are refused."""
        item = self.item()
        if isinstance(item, Value):
            return item
        fail("DSL0219", f"{self.name} must be a tile, not {describe(item)}", self.loc)

    def integer(self) -> int:
        """A compile-time integer."""
        return self.c.integer(self.item(), self.loc, self.name)

    def boolean(self) -> bool:
        """A compile-time truth value."""
        item = self.item()
        if isinstance(item, bool):
            return item
        fail("DSL0206", f"{self.name} must be True or False, not {describe(item)}", self.loc)

    def integers(self) -> tuple[int, ...]:
        """A list of compile-time integers; one integer counts as a list of one."""
        item = self.item()
        items = item if isinstance(item, tuple) else (item,)
        return tuple(self.c.integer(i, self.loc, self.name) for i in items)

    def shape(self) -> tuple[int, ...]:
        """A shape: compile-time integers of at least 1."""
        sizes = self.integers()
        for size in sizes:
            if size < 1:
                fail("DSL0204", f"a tile's extent is at least 1, not {size}", self.loc)
        return sizes

    def text(self) -> str:
        """A string."""
        item = self.item()
        if isinstance(item, str):
            return item
        fail("DSL0206", f"{self.name} must be a string, not {describe(item)}", self.loc)

    def dtype(self) -> DType:
        """A dtype."""
        return expect_dtype(self.item(), self.loc)

    def layout(self) -> Layout:
        """A layout."""
        item = self.item()
        if isinstance(item, Layout):
            return item
        fail("DSL0206", f"{self.name} must be a layout, not {describe(item)}", self.loc)

    def region(self, layout: Layout | None = None, gathered: Gathered = None) -> subscript.Access:
        """A region of a tensor or buffer, by slices alone: `t[...]`, or `t` for all of it."""
        found = self.elements(layout, gathered)
        if found.ids and gathered is None:
            fail("DSL0212", f"{self.name} is a region: no tile chooses in it", self.loc)
        return found

    def elements(self, layout: Layout | None = None, gathered: Gathered = None) -> subscript.Access:
        """The same, where tiles of integers may choose as well."""
        node = self.node
        target = node.value if isinstance(node, tree.Subscript) else node
        item = self.c.evaluate(target)
        memory = expect_memory(item, self.loc)
        if not isinstance(node, tree.Subscript | tree.Name):
            fail("DSL0212", f"{self.name} must be a region such as t[i : i + B]", self.loc)
        return subscript.access(self.c, memory, node, self.c.evaluate_index, layout, gathered)


class Known(Argument):
    """An argument that was evaluated already."""

    __slots__ = ("_item",)

    def __init__(self, c: Context, node: object, name: str, item: Item) -> None:
        Argument.__init__(self, c, node, name)  # type: ignore[arg-type]
        self._item = item

    def item(self) -> Item:
        """Whatever it is."""
        return self._item


Handler = Callable[..., Item]
FUNCTIONS: dict[str, Handler] = {}


def function(handler: Handler) -> Handler:
    """Register a function of the language: its parameters are those of the handler after `c`."""
    FUNCTIONS[handler.__name__.rstrip("_")] = handler
    return handler


def call(c: Context, node: tree.Call) -> Item:
    """The result of any call."""
    if isinstance(node.function, tree.Attribute):
        return _compose(c, node)
    if isinstance(node.function, tree.Name) and node.function.id in ("range", "parallel"):
        fail("DSL0215", f"{node.function.id} stands only after `for ... in`", node.loc)
    if isinstance(node.function, tree.Name) and node.function.id == "grid":
        fail("DSL0215", "grid(...) stands once in a kernel, before its turns do anything", node.loc)
    target = c.evaluate(node.function)
    match target:
        case Builtin(name) if name in FUNCTIONS and not _is_layout_call(c, name, node):
            return _call_builtin(c, name, node)
        case Builtin(name):
            return _call_layout(c, name, node)
        case UserFunction():
            return _inline(c, target, node)
        case KernelName():
            fail(
                "DSL0228",
                f"the kernel {target.template.name} can be called only in a program",
                node.loc,
                hint="what kernels share is a function: write it with `def`",
            )
        case DType():
            fail(
                "DSL0219",
                f"{target} is a dtype, not a function",
                node.loc,
                hint=f"write cast(x, {target})",
            )
    fail("DSL0219", f"{describe(target)} is not a function", node.loc)


def bind(node: tree.Call, name: str, params: list[str], required: set[str]) -> dict[str, tree.Expr]:
    """Match arguments to parameters as Python does."""
    if len(node.args) > len(params):
        fail(
            "DSL0205",
            f"{name} takes {len(params)} arguments, not {len(node.args)}",
            node.loc,
            hint=f"{name}({', '.join(params)})",
        )
    bound = dict(zip(params, node.args, strict=False))
    for keyword in node.keywords:
        if keyword.name not in params:
            fail(
                "DSL0205",
                f"{name} has no parameter {keyword.name}",
                keyword.loc,
                hint=did_you_mean(keyword.name, params) or f"{name}({', '.join(params)})",
            )
        if keyword.name in bound:
            fail("DSL0205", f"{name} is given {keyword.name} twice", keyword.loc)
        bound[keyword.name] = keyword.value
    missing = [p for p in params if p in required and p not in bound]
    if missing:
        fail(
            "DSL0205",
            f"{name} needs {', '.join(missing)}",
            node.loc,
            hint=f"{name}({', '.join(params)})",
        )
    return bound


def _call_builtin(c: Context, name: str, node: tree.Call) -> Item:
    handler = FUNCTIONS[name]
    params = list(inspect.signature(handler).parameters.values())[1:]
    variadic = next((p for p in params if p.kind is p.VAR_POSITIONAL), None)
    if variadic is not None:
        for keyword in node.keywords:
            fail("DSL0205", f"{name} has no parameter {keyword.name}", keyword.loc)
        return handler(c, *(Argument(c, a, variadic.name) for a in node.args))
    names = [p.name for p in params]
    layout = None
    if "layout" not in names:
        layout = next((k for k in node.keywords if k.name == "layout"), None)
        rest = tuple(k for k in node.keywords if k is not layout)
        node = tree.Call(node.function, node.args, rest, loc=node.loc)
    required = {p.name for p in params if p.default is p.empty}
    bound = bind(node, name, names, required)
    before = len(c.emit.block)
    result = handler(c, **{n: Argument(c, e, n) for n, e in bound.items()})
    if layout is None:
        return result
    is_new = len(c.emit.block) > before
    wanted = Argument(c, layout.value, "layout").layout()
    return request_layout(c, result, wanted, layout.loc, is_new)


def request_layout(c: Context, result: Item, layout: Layout, loc: Loc, made: bool = True) -> Value:
    """Give a tile the layout that was asked for; one that was there before as a copy."""
    if not isinstance(result, Value):
        fail("DSL0222", f"{describe(result)} takes no layout", loc)
    if layout.shape != result.type.shape:
        fail(
            "DSL0222",
            f"the layout has shape {list(layout.shape)}, the tile {list(result.type.shape)}",
            loc,
            hint="make it larger by factors of local(...) or spatial(...), or the tile smaller",
        )
    return c.emit.with_layout(result, layout) if made else c.emit.convert_layout(result, layout)


# Layouts


def _is_layout_call(c: Context, name: str, node: tree.Call) -> bool:
    """Tell `broadcast(layout, rank)` from `broadcast(tile, shape)` by what the argument looks like."""
    if name not in LAYOUT_FUNCTIONS:
        return False
    first = node.args[0] if node.args else next((k.value for k in node.keywords), None)
    return first is not None and _is_layout(c, first)


def _is_layout(c: Context, node: tree.Expr) -> bool:
    match node:
        case tree.Name(id=name):
            return isinstance(c.names.get(name, c.outer.get(name)), Layout)
        case tree.Binary(op="*" | "/", left=left):
            return _is_layout(c, left)
        case tree.Call(function=tree.Attribute()):
            return True
        case tree.Call(function=tree.Name(id=name)) if name in LAYOUT_FUNCTIONS:
            return name not in FUNCTIONS or _is_layout_call(c, name, node)
    return False


def _layout_value(c: Context, node: tree.Expr) -> Any:
    item = c.evaluate(node)
    return _plain(c, item, node.loc)


def _plain(c: Context, item: Item, loc: Loc) -> Any:
    if isinstance(item, tuple):
        return tuple(_plain(c, i, loc) for i in item)
    if isinstance(item, Layout | bool):
        return item
    return c.integer(item, loc, "the argument of a layout")


def _call_layout(c: Context, name: str, node: tree.Call) -> Layout:
    args = [_layout_value(c, a) for a in node.args]
    keywords = {k.name: _layout_value(c, k.value) for k in node.keywords}
    build = LAYOUT_FUNCTIONS[name]
    if wrong := misfit(build, args, keywords):
        fail("DSL0205", f"{name}: {wrong}", node.loc)
    return _placed(lambda: build(*args, **keywords), node.loc)


def _placed(make: Callable[[], Layout], loc: Loc) -> Layout:
    """A layout operation, whose errors get the place of the expression."""
    try:
        return make()
    except DiagnosticError as e:
        first = e.diagnostics[0]
        fail(first.code, first.message, first.loc or loc, hint=first.hint)


def _compose(c: Context, node: tree.Call) -> Layout:
    assert isinstance(node.function, tree.Attribute)
    name, owner = node.function.name, node.function.value
    if isinstance(owner, tree.Name) and owner.id in ("np", "numpy", "math", "tl", "torch", "jnp"):
        hint = f"write {name}(...)" if name in FUNCTIONS else did_you_mean(name, FUNCTIONS)
        if owner.id not in c.names and owner.id not in c.outer:
            fail("DSL0201", f"the name {owner.id} is not known here", owner.loc, hint=hint)
    left = c.evaluate(owner)
    if not isinstance(left, Layout):
        hint = f"write {name}(x, ...)" if name in FUNCTIONS else did_you_mean(name, FUNCTIONS)
        fail("DSL0219", f"{describe(left)} has no method {name}", node.loc, hint=hint)
    if node.function.name not in LAYOUT_FUNCTIONS:
        fail(
            "DSL0201",
            f"there is no layout function {node.function.name}",
            node.loc,
            hint=did_you_mean(node.function.name, LAYOUT_FUNCTIONS),
        )
    right = _call_layout(c, node.function.name, node)
    return _placed(lambda: left * right, node.loc)


def layout_operator(c: Context, op: str, x: Item, y: Item, loc: Loc) -> Layout | None:
    """`f * g` and `f / g` of layouts; None where neither operand is one."""
    if not isinstance(x, Layout) and not isinstance(y, Layout):
        return None
    if not isinstance(x, Layout) or not isinstance(y, Layout) or op not in ("*", "/"):
        fail("DSL0214", f"{op} does not work on {describe(x)} and {describe(y)}", loc)
    return _placed(lambda: x * y if op == "*" else x / y, loc)


# Functions of the user


def _inline(c: Context, target: UserFunction, node: tree.Call) -> Item:
    f = target.function
    _check_recursion(c, f, node.loc)
    bound = bind(node, f.name, list(f.params), set(f.params) - set(f.params[_required(f) :]))
    return _elaborated(c, target, {p: c.evaluate(e) for p, e in bound.items()}, node.loc)


def apply(
    c: Context, target: UserFunction | Builtin, items: tuple[Item, ...], at: Argument
) -> Item:
    """What a function that was given as an argument makes of items."""
    if isinstance(target, Builtin):
        handler = FUNCTIONS.get(target.name, call)  # a layout's function has no handler
        known = list(inspect.signature(handler).parameters.values())[1:]
        _check_count(
            target.name,
            items,
            at,
            [p.name for p in known],
            sum(p.default is p.empty for p in known),
        )
        return handler(
            c, **{p.name: Known(c, at.node, p.name, i) for p, i in zip(known, items, strict=False)}
        )
    f = target.function
    _check_recursion(c, f, at.loc)
    _check_count(f.name, items, at, list(f.params), _required(f))
    return _elaborated(c, target, dict(zip(f.params, items, strict=False)), at.loc)


def _check_count(
    name: str, items: tuple[Item, ...], at: Argument, params: list[str], required: int
) -> None:
    if not required <= len(items) <= len(params):
        message = f"{name} is called with {len(items)} arguments here"
        fail("DSL0205", message, at.loc, hint=f"{name}({', '.join(params)})")


def _required(f: tree.Function) -> int:
    return len(f.params) - len(f.defaults)


def _check_recursion(c: Context, f: tree.Function, loc: Loc) -> None:
    if f.name in c.calls or len(c.calls) > MAX_CALLS:
        fail(
            "DSL0229",
            f"{f.name} calls itself",
            loc,
            hint="functions are inlined and cannot be recursive",
        )


def _elaborated(c: Context, target: UserFunction, values: dict[str, Item], loc: Loc) -> Item:
    f = target.function
    c.inline(loc)
    outer = (c.names, c.outer, c.calls)
    c.outer = target.scope.names
    c.names = {}
    for name, default in zip(f.params[_required(f) :], f.defaults, strict=True):
        if name not in values:
            values[name] = c.evaluate(default)
    c.names = values
    c.calls = (*c.calls, f.name)
    try:
        return c.elaborators.function(c, f)
    except DiagnosticError as e:
        raise e.within(Label(loc, f"in the call of {f.name}")) from None
    finally:
        c.names, c.outer, c.calls = outer
