"""Statements: assignments, branches and effects; loops are in loops.py."""

from __future__ import annotations

from dataclasses import replace

from dslc.checker import arithmetic, loops, names
from dslc.checker.arithmetic import OPERATORS, as_expr
from dslc.checker.calls import Argument
from dslc.checker.context import Context, expect_memory
from dslc.checker.expressions import condition, evaluate, list_index
from dslc.checker.failure import fail
from dslc.checker.functions.memory import ATOMIC, atomic_update, value_for
from dslc.checker.items import EXPRESSIONS, Builtin, Item, Lost, describe, is_number
from dslc.checker.subscript import access, check_updatable, check_writable, read, write
from dslc.compiler.diagnostics import Loc
from dslc.compiler.ir import Memory, Role, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.frontend import tree

_INLINE_NODES = 8  # scalars up to this size are repeated where they are read


def run(c: Context, body: tuple[tree.Statement, ...]) -> None:
    """Elaborate statements into the current block, noting errors and going on."""
    for statement in body:
        with c.recover(names.assigned((statement,))):
            outer = c.emit.loc
            c.emit.loc = statement.loc
            try:
                execute(c, statement)
            finally:
                c.emit.loc = outer
                c.emit.hint = ""


def execute(c: Context, statement: tree.Statement) -> None:
    """Elaborate one statement."""
    match statement:
        case tree.Assign(target=target, value=value):
            _assign(c, target, value, statement.loc)
        case tree.AugAssign(target=target, op=op, value=value):
            _update(c, target, op, value, statement.loc)
        case tree.For():
            loops.for_loop(c, statement)
        case tree.While():
            loops.while_loop(c, statement)
        case tree.If():
            _if(c, statement)
        case tree.ExprStatement(value=value):
            _effect(c, value)
        case tree.Assert():
            _assert(c, statement)
        case tree.Pass():
            pass
        case tree.Return():
            raise AssertionError("the front-ends let return stand only last in a function")
        case tree.Const() | tree.Tune() | tree.Require():
            fail("DSL0216", "declarations come first in a kernel", statement.loc)


def _effect(c: Context, value: tree.Expr) -> None:
    assert isinstance(value, tree.Call), "the front-ends refuse expressions without an effect"
    result = evaluate(c, value)
    if isinstance(result, Value | Memory) and _is_pure(c, value):
        fail(
            "DSL0219", "the result of this call is not used", value.loc, hint="assign it to a name"
        )


def _is_pure(c: Context, node: tree.Call) -> bool:
    """Whether a call only computes: a function of the user may store before it returns."""
    function = node.function
    return (
        isinstance(function, tree.Name)
        and function.id not in ATOMIC
        and isinstance(c.lookup(function), Builtin)
    )


# Assignments


def _assign(c: Context, target: tree.Expr, value: tree.Expr, loc: Loc) -> None:
    match target:
        case tree.Name(id=name):
            c.emit.hint = name
            bind(c, name, evaluate(c, value), loc)
            _tell(c, target)
        case tree.Sequence(items=items):
            _unpack(c, items, evaluate(c, value), loc)
        case tree.Subscript():
            item = evaluate(c, target.value)
            if isinstance(item, tuple):
                _set_element(c, target, item, evaluate(c, value), loc)
            else:
                _store(c, target, item, value)
        case _:
            fail(
                "DSL0216",
                "this cannot be assigned to",
                target.loc,
                hint="assign to a name or to a region t[i : i + B]",
            )


def _unpack(c: Context, items: tuple[tree.Expr, ...], value: Item, loc: Loc) -> None:
    parts = value if isinstance(value, tuple) else None
    if parts is None or len(parts) != len(items):
        names = "1 name is" if len(items) == 1 else f"{len(items)} names are"
        hint = "write it without the comma" if len(items) == 1 and parts is None else None
        fail("DSL0216", f"{names} assigned from {describe(value)}", loc, hint=hint)
    for item, part in zip(items, parts, strict=True):
        if not isinstance(item, tree.Name):
            fail("DSL0216", "only names can be unpacked into", item.loc)
        bind(c, item.id, part, loc)
        _tell(c, item)


def _tell(c: Context, name: tree.Name) -> None:
    """Tell the observer what a name that was just bound stands for."""
    if c.observer is not None:
        c.observer.name(name.loc, c.names[name.id])


def bind(c: Context, name: str, item: Item, loc: Loc) -> None:
    """Give a name its item; a scalar that is more than index arithmetic is computed once."""
    if item is None:
        fail("DSL0219", "this call gives no value", loc)
    if name in c.dims or isinstance(c.names.get(name), Memory):
        what = "a dim" if name in c.dims else "a tensor"
        fail("DSL0216", f"{name} is {what} and cannot be assigned", loc, hint="choose another name")
    if isinstance(item, EXPRESSIONS):
        known = c.known(item)
        item = known if known is not None else _named(c, name, item)
    c.names[name] = item


def _named(c: Context, name: str, item: ex.Expr) -> ex.Expr:
    nodes = list(ex.walk(item))
    if c.inline_scalars or (
        len(nodes) <= _INLINE_NODES and not any(isinstance(n, ex.Read) for n in nodes)
    ):
        return item
    var = c.emit.fresh_var(name, item.dtype)
    c.emit.emit(ins.Let(var, item, loc=c.emit.loc))
    return var


def _set_element(
    c: Context, target: tree.Subscript, items: tuple[Item, ...], value: Item, loc: Loc
) -> None:
    """`items[i] = value`: lists are values, so that the name stands for another list from here on."""
    if value is None:
        fail("DSL0219", "this call gives no value", loc)
    at = list_index(c, items, target)
    items_after = (*items[:at], value, *items[at + 1 :])
    base = target.value
    if isinstance(base, tree.Name):
        bind(c, base.id, items_after, loc)
    elif isinstance(base, tree.Subscript) and isinstance(outer := evaluate(c, base.value), tuple):
        _set_element(c, base, outer, items_after, loc)
    else:
        fail("DSL0216", "only the elements of a named list can be assigned", target.loc)


def _store(c: Context, target: tree.Subscript, item: Item, value: tree.Expr) -> None:
    if isinstance(item, Value):
        fail(
            "DSL0216",
            "a tile cannot be written in part",
            target.loc,
            hint="choose elements with where(...), or use buffer(dtype, shape)",
        )
    memory = expect_memory(item, target.loc)
    check_writable(memory, target.loc)
    c.emit.hint = memory.name
    x = Argument(c, value, "the value")
    region = access(c, memory, target, c.evaluate_index)
    write(c, region, value_for(c, x.item(), region, x), target.loc)


def _update(c: Context, target: tree.Expr, op: str, value: tree.Expr, loc: Loc) -> None:
    if op not in OPERATORS or op in ("and", "or"):
        fail("DSL0214", f"the operator {op}= is not part of the language", loc)
    if isinstance(target, tree.Subscript):
        items = evaluate(c, target.value)
        if isinstance(items, tuple):
            old = items[list_index(c, items, target)]
            _set_element(c, target, items, _sum(c, op, old, value, loc), loc)
        else:
            _update_region(c, target, op, value, loc)
        return
    if not isinstance(target, tree.Name):
        fail("DSL0216", "this cannot be updated", target.loc)
    c.emit.hint = target.id
    bind(c, target.id, _sum(c, op, c.lookup(target), value, loc), loc)


def _sum(c: Context, op: str, old: Item, value: tree.Expr, loc: Loc) -> Item:
    """What `old op= value` makes of a name or of an element of a list."""
    before = len(c.emit.block)
    new = evaluate(c, value)
    named = len(c.emit.block) == before
    return _accumulated(c, op, old, new, named, loc)


def _accumulated(c: Context, op: str, old: Item, new: Item, named: bool, loc: Loc) -> Item:
    """`acc += dot(a, b)` accumulates in place: the product takes acc as its start.

    A product that has a name may be read again: whether it is, is known when the kernel ends.
    """
    last = c.emit.block[-1] if c.emit.block else None
    fits = (
        op == "+"
        and isinstance(old, Value)
        and isinstance(new, Value)
        and isinstance(last, ins.Dot)
        and last.out is new
        and last.acc is None
        and (old.type.dtype, old.type.shape) == (new.type.dtype, new.type.shape)
    )
    if not fits:
        return arithmetic.binary(c.emit, OPERATORS[op], old, new, loc)
    assert isinstance(old, Value)
    assert isinstance(last, ins.Dot)
    if named:
        total = arithmetic.binary(c.emit, OPERATORS[op], old, new, loc)
        assert isinstance(total, Value)
        c.totals.add(total)
        return total
    out = c.emit.value(old.type.dtype, old.type.shape, old.type.layout)
    c.emit.block[-1] = replace(last, out=out, acc=old)
    return out


def _update_region(c: Context, target: tree.Subscript, op: str, value: tree.Expr, loc: Loc) -> None:
    memory = expect_memory(evaluate(c, target.value), target.loc)
    check_updatable(memory, target.loc)
    x = Argument(c, value, "the value")
    region = access(c, memory, target, c.evaluate_index)
    if memory.role is Role.BUFFER and not region.ids:
        updated = arithmetic.binary(c.emit, OPERATORS[op], read(c, region), x.item(), loc)
        write(c, region, value_for(c, updated, region, x), loc)
        return
    if op not in ("+", "-"):
        fail(
            "DSL0214",
            f"{op}= on {'elements that ids choose' if region.ids else 'a tensor'} is not atomic",
            loc,
            hint="only += and -= are; write t[...] = t[...] * x on an inout tensor",
        )
    item = x.item()
    item = arithmetic.unary(c.emit, "neg", item, loc) if op == "-" else item
    atomic_update(c, "add", region, value_for(c, item, region, x))


# Branches


def _if(c: Context, node: tree.If) -> None:
    truth = condition(c, evaluate(c, node.condition), node.condition.loc)
    if isinstance(truth, bool):
        run(c, node.then if truth else node.otherwise)
        return
    before = dict(c.names)
    branches: list[tuple[list[ins.Stmt], dict[str, Item]]] = []
    for body in (node.then, node.otherwise):
        c.names = dict(before)
        with c.emit.nested() as block:
            run(c, body)
        branches.append((block, c.names))
    (then, in_then), (otherwise, in_otherwise) = branches
    c.names = dict(before)
    joined: list[ins.Joined] = []
    changed = [*names.assigned((node,))]
    changed += [n for n in names.updated_elements((node,)) if isinstance(before.get(n), tuple)]
    for name in dict.fromkeys(changed):
        x, y = in_then.get(name), in_otherwise.get(name)
        if x is y and x is not None:
            c.names[name] = x
        elif x is None or y is None:
            c.names[name] = Lost("has a value in one branch of this if only", node.loc)
        else:
            c.names[name] = _join(c, name, x, y, node, joined)
    c.emit.emit(ins.If(truth, tuple(then), tuple(otherwise), tuple(joined), loc=node.loc))


def _join(c: Context, name: str, x: Item, y: Item, node: tree.If, joined: list[ins.Joined]) -> Item:
    """The item of a name after an if whose branches gave x and y."""
    c.emit.hint = name
    if isinstance(x, Lost) or isinstance(y, Lost):
        return x if isinstance(x, Lost) else y
    if isinstance(x, Value) and isinstance(y, Value):
        a, b = x.type, y.type
        if (a.dtype, a.shape) == (b.dtype, b.shape):
            out = c.emit.value(a.dtype, a.shape, a.layout if a.layout == b.layout else None)
            joined.append(ins.Joined(out, x, y))
            return out
    elif (is_number(x) or isinstance(x, EXPRESSIONS)) and (
        is_number(y) or isinstance(y, EXPRESSIONS)
    ):
        if type(x) is type(y) and x == y:
            return x
        dtype = arithmetic.common_dtype((x, y), node.loc)
        a_expr = arithmetic.as_dtype(x, dtype, node.loc)
        b_expr = arithmetic.as_dtype(y, dtype, node.loc)
        var = c.emit.fresh_var(name, dtype)
        joined.append(ins.Joined(var, a_expr, b_expr))
        return var
    elif isinstance(x, tuple) and isinstance(y, tuple) and len(x) == len(y):
        parts = zip(x, y, strict=True)
        return tuple(
            a if a is b else _join(c, f"{name}_{i}", a, b, node, joined)
            for i, (a, b) in enumerate(parts)
        )
    elif x == y:
        return x
    reason = f"is {describe(x)} after one branch of this if and {describe(y)} after the other"
    return Lost(reason, node.loc)


def _assert(c: Context, node: tree.Assert) -> None:
    text = evaluate(c, node.text) if node.text is not None else "assertion failed"
    if not isinstance(text, str):
        fail("DSL0227", f"the text of an assert is a string, not {describe(text)}", node.loc)
    item = evaluate(c, node.condition)
    if isinstance(item, Value):
        fail("DSL0210", "assert takes a scalar", node.condition.loc, hint="write all(...)")
    truth = condition(c, item, node.condition.loc)
    if truth is False:
        fail("DSL0217", f"this assertion never holds: {text}", node.loc)
    if truth is not True:
        c.emit.emit(ins.Assert(as_expr(truth, node.loc), text, loc=node.loc))


def run_function(c: Context, f: tree.Function) -> Item:
    """The body of an inlined function: its return value, or None."""
    *body, last = f.body
    if not isinstance(last, tree.Return):
        run_strict(c, f.body)
        return None
    run_strict(c, tuple(body))
    return evaluate(c, last.value)


def run_strict(c: Context, body: tuple[tree.Statement, ...]) -> None:
    """Elaborate statements, stopping at the first error (inside an inlined function)."""
    for statement in body:
        c.inline(statement.loc)
        outer, c.emit.loc = c.emit.loc, statement.loc
        try:
            execute(c, statement)
        finally:
            c.emit.loc = outer
