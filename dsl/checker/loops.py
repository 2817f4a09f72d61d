"""Loops: what they carry, and the options of range."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dslc.checker import arithmetic, names
from dslc.checker.calls import bind
from dslc.checker.context import Context
from dslc.checker.expressions import condition, evaluate
from dslc.checker.failure import fail
from dslc.checker.items import EXPRESSIONS, Guess, Item, Lost, describe, is_number, is_scalar
from dslc.checker.static_loops import WORDS, known_items, leaves, plain_name, rebuilt, unroll
from dslc.checker.subscript import index
from dslc.compiler.diagnostics import Label, did_you_mean
from dslc.compiler.dtypes import INDEX, DType
from dslc.compiler.ir import Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import simplify
from dslc.compiler.ir.arithmetic.index_arithmetic import add, cdiv, mul, sub
from dslc.frontend import tree

_OPTIONS = ("stages", "unroll", "split", "atomic")
_MOST = {"stages": 64, "unroll": 1024, "split": 256}  # each is that many times the loop's code


@dataclass(frozen=True, slots=True)
class Range:
    """`range(start, stop, step)` with its options; a negative step is a known number."""

    start: ex.Expr
    stop: ex.Expr
    step: ex.Expr
    options: dict[str, int]


def parse_range(c: Context, node: tree.Expr) -> Range:
    """A call of range."""
    if not (
        isinstance(node, tree.Call)
        and isinstance(node.function, tree.Name)
        and node.function.id == "range"
    ):
        written = node.function if isinstance(node, tree.Call) else node
        word = written.id if isinstance(written, tree.Name) else ""
        near = did_you_mean(word, ("range", "parallel", *WORDS))
        text = "a for loop goes over range(...), parallel(...), static(range(...)) or a list"
        fail("DSL0215", text, node.loc, hint=near)
    if not 1 <= len(node.args) <= 3:
        text = f"range takes 1 to 3 arguments, not {len(node.args)}"
        fail("DSL0205", text, node.loc, hint="range(stop), range(start, stop) or with a step")
    plain = tree.Call(node.function, (), node.keywords, loc=node.loc)
    given = bind(plain, "range", list(_OPTIONS), set())
    options = {}
    for name, value in given.items():
        item = evaluate(c, value)
        if name == "atomic":
            options[name] = _truth(c, item, value)
            continue
        options[name] = c.integer(item, value.loc, name)
        if options[name] < 1:
            fail("DSL0224", f"{name} is at least 1, not {options[name]}", value.loc)
        if options[name] > _MOST.get(name, options[name]):
            fail("DSL0224", f"{name} is at most {_MOST[name]}, not {options[name]}", value.loc)
    parts = [_bound(c, a) for a in node.args]
    start = parts[0] if len(parts) > 1 else ex.index(0)
    stop = parts[1] if len(parts) > 1 else parts[0]
    step = parts[2] if len(parts) > 2 else ex.index(1)
    if c.known(step) == 0:
        hint = "write how far an iteration goes, such as 1"
        fail("DSL0224", "the step of a range is not 0", node.args[2].loc, hint=hint)
    return Range(start, stop, step, options)


def _truth(c: Context, item: Item, node: tree.Expr) -> int:
    """An option that is True or False, or 1 or 0 as a tune choice is."""
    value = int(item) if isinstance(item, bool) else c.integer(item, node.loc, "atomic")
    if value not in (0, 1):
        fail("DSL0224", f"atomic is True or False, not {value}", node.loc)
    return value


def _bound(c: Context, node: tree.Expr) -> ex.Expr:
    item = evaluate(c, node, index=True)
    if isinstance(item, float) or not is_scalar(item):
        hint = "use // to divide integers" if isinstance(item, float) else None
        fail(
            "DSL0215",
            f"the bounds of range are integers, not {describe(item)}",
            node.loc,
            hint=hint,
        )
    return index(item, node.loc)


def for_loop(c: Context, node: tree.For) -> None:
    """A sequential loop."""
    if is_parallel(node.iterator):
        fail(
            "DSL0215",
            "parallel stands once in a kernel, outermost",
            node.loc,
            hint="write one nest: for m, n in parallel(range(..), range(..))",
        )
    items = known_items(c, node.iterator)
    if items is not None:
        unroll(c, node, items)
        return
    iterations = parse_range(c, node.iterator)
    if len(node.targets) != 1:
        fail("DSL0215", f"range gives one number, not {len(node.targets)}", node.loc)
    name = node.targets[0].id
    step = c.known(iterations.step)
    down = isinstance(step, int) and step < 0
    if down:
        iterations, origin = _upwards(iterations, int(step or 0)), iterations
    var = c.emit.fresh_var(name, INDEX)
    counter: ex.Expr = var
    if down:
        counter = simplify(add(origin.start, mul(var, origin.step)))
    body, carried = carry(c, node, {name: counter})
    o = iterations.options
    loop = ins.For(
        var, iterations.start, iterations.stop, iterations.step, tuple(body), carried,
        o.get("stages"), o.get("unroll"), o.get("split"), o.get("atomic") or None, loc=node.loc,
    )  # fmt: skip
    c.emit.emit(loop)


def is_parallel(node: tree.Expr) -> bool:
    """Whether a for loop goes over parallel(...)."""
    return (
        isinstance(node, tree.Call)
        and isinstance(node.function, tree.Name)
        and node.function.id == "parallel"
    )


def _upwards(iterations: Range, step: int) -> Range:
    """A loop that counts down, as one that counts its iterations."""
    count = cdiv(sub(iterations.start, iterations.stop), -step)
    return Range(ex.index(0), simplify(count), ex.index(1), iterations.options)


def while_loop(c: Context, node: tree.While) -> None:
    """A loop on a condition."""
    body, carried, before, truth = _carry_while(c, node)
    c.emit.emit(ins.While(tuple(before), truth, tuple(body), carried, loc=node.loc))


def _carry_while(
    c: Context, node: tree.While
) -> tuple[list[ins.Stmt], tuple[ins.Carried, ...], list[ins.Stmt], ex.Expr]:
    heads: list[tuple[list[ins.Stmt], ex.Expr]] = []

    def head() -> None:
        with c.emit.nested() as block:
            truth = condition(c, evaluate(c, node.condition), node.condition.loc)
        if isinstance(truth, bool):
            truth = ex.TRUE if truth else ex.FALSE
        heads.append((block, truth))

    body, carried = carry(c, node, {}, head)
    before, truth = heads[-1]
    return body, carried, before, truth


class _Retry(Exception):
    """A number before the loop turned out to have another dtype inside it."""

    def __init__(self, name: str, dtype: DType) -> None:
        super().__init__(name)
        self.name = name
        self.dtype = dtype


def carry(
    c: Context,
    node: tree.For | tree.While,
    bound: dict[str, Item],
    head: object = None,
) -> tuple[list[ins.Stmt], tuple[ins.Carried, ...]]:
    """Elaborate a loop's body with the names that it carries, and bind their results.

    A number that starts a carried scalar takes the dtype that the body gives it, which is known only
    after the body: then the body is elaborated again.
    """
    dtypes: dict[str, DType] = {}
    while True:
        mark = len(c.diagnostics)
        names_before = dict(c.names)
        try:
            return _carry(c, node, bound, head, dtypes)
        except _Retry as again:
            if again.name in dtypes:
                raise AssertionError("a carried scalar changes its dtype twice") from again
            del c.diagnostics[mark:]
            c.names = names_before
            dtypes[again.name] = again.dtype


def _carry(
    c: Context,
    node: tree.For | tree.While,
    bound: dict[str, Item],
    head: object,
    dtypes: dict[str, DType],
) -> tuple[list[ins.Stmt], tuple[ins.Carried, ...]]:
    before = dict(c.names)
    changed = [n for n in names.assigned(node.body) if n not in bound]
    changed += [n for n in names.updated_elements(node.body)
                if n not in changed and isinstance(before.get(n), tuple)]  # fmt: skip
    parts = {name: leaves(name, before.get(name)) for name in changed}
    needed = names.exposed(node.body)
    if isinstance(node, tree.While):
        needed |= set(names.reads(node.condition))
    inner: dict[str, Value | ex.Var] = {}
    inits: dict[str, Value | ex.Expr] = {}
    for part, item in (entry for name in changed for entry in parts[name].items()):
        start = _initial(c, part, item, dtypes, node)
        if start is not None:
            inits[part], inner[part] = start
    for name in changed:
        if parts[name].keys() & inner.keys():
            c.names[name] = rebuilt(name, before.get(name), {**parts[name], **inner})
    c.names.update(bound)
    if callable(head):
        head()
    with c.emit.nested() as block:
        c.elaborators.statements(c, node.body)
        after = dict(c.names)
        carried = []
        lost: dict[str, Lost] = {}
        for name in changed:
            if not parts[name].keys() <= inner.keys():
                lost[name] = _not_before(name, before.get(name), node)
                continue
            handed = leaves(name, after[name])
            if handed.keys() != parts[name].keys():
                handed = dict.fromkeys(parts[name], after[name])
            for part, item in parts[name].items():
                entry = _yielded(c, part, inits[part], inner[part], handed[part], node,
                                 name in needed, item, dtypes)  # fmt: skip
                if isinstance(entry, Lost):
                    lost[name] = entry
                else:
                    carried.append((part, entry))
    c.names = before
    results = {part: entry.result for part, entry in carried}
    for name in changed:
        if name not in lost:
            c.names[name] = rebuilt(name, before.get(name), results)
    c.names.update(lost)
    for name in bound:
        if name not in before:
            c.names[name] = Lost("is the variable of this loop and has no value after it", node.loc)
    return block, tuple(entry for _, entry in carried)


def _not_before(name: str, old: Item, node: tree.For | tree.While) -> Lost:
    if isinstance(old, Lost):
        return old
    return Lost("is assigned only inside this loop", node.loc)


def _initial(
    c: Context, name: str, item: Item, dtypes: dict[str, DType], node: tree.For | tree.While
) -> tuple[Value | ex.Expr, Value | ex.Var] | None:
    """What a carried name is before the loop, and its name inside."""
    c.emit.hint = plain_name(name)
    if isinstance(item, Value):
        return item, c.emit.value(item.type.dtype, item.type.shape, item.type.layout)
    if is_number(item) or isinstance(item, EXPRESSIONS):
        if name in dtypes:
            init = arithmetic.as_dtype(item, dtypes[name], node.loc)
        else:
            init = arithmetic.as_expr(item, node.loc)
        var = c.emit.fresh_var(name, init.dtype)
        guessed = isinstance(item, float) and name not in dtypes
        return init, Guess(var.name, var.dtype) if guessed else var
    return None


def _yielded(
    c: Context,
    name: str,
    init: Value | ex.Expr,
    inner: Value | ex.Var,
    item: Item,
    node: tree.For | tree.While,
    needed: bool,
    before: Item,
    dtypes: dict[str, DType],
) -> ins.Carried | Lost:
    """What an iteration hands on; a name that changes its type and is not needed again is lost."""
    c.emit.hint = plain_name(name)
    if isinstance(item, Lost):
        return item
    if isinstance(inner, Value):
        if isinstance(item, Value) and (item.type.dtype, item.type.shape) == (
            inner.type.dtype,
            inner.type.shape,
        ):
            if inner.type.layout is not None and item.type.layout is not None:
                item = c.emit.convert_layout(item, inner.type.layout)
            result = c.emit.value(inner.type.dtype, inner.type.shape, inner.type.layout)
            return ins.Carried(result, inner, init, item)
    elif is_scalar(item):
        expr = arithmetic.as_expr(item, node.loc)
        if isinstance(inner, Guess):
            raise _Retry(name, expr.dtype if expr.dtype.is_float else inner.dtype)
        if expr.dtype == inner.dtype or (is_number(item) and not isinstance(item, float)):
            value = arithmetic.as_dtype(item, inner.dtype, node.loc)
            return ins.Carried(c.emit.fresh_var(name, inner.dtype), inner, init, value)
        if (
            is_number(before)
            and name not in dtypes
            and not (isinstance(before, float) and expr.dtype.is_integer)
        ):
            raise _Retry(name, expr.dtype)
    reason = f"is {describe(before)} before this loop and {describe(item)} after one iteration"
    if not needed:
        return Lost(reason, node.loc)
    hint = None
    if isinstance(item, Value) and is_number(before):
        sizes = ", ".join(map(str, item.type.shape))
        hint = f"start with {name} = full({item.type.dtype}, [{sizes}], {before})"
    elif isinstance(item, Value) and isinstance(before, Value):
        hint = "what a loop carries keeps its type: cast it back, or give the new tile another name"
    where = _assignment(name.partition("[")[0], node.body)
    fail("DSL0208", f"{name} {reason}", node.loc, hint=hint, labels=where)


def _assignment(name: str, body: Iterable[tree.Statement]) -> tuple[Label, ...]:
    for statement in body:
        match statement:
            case tree.Assign(target=target) | tree.AugAssign(target=target):
                if name in names.targets(target):
                    return (Label(statement.loc, "assigned here"),)
            case tree.For(body=inner) | tree.While(body=inner) | tree.If(then=inner):
                if assignment := _assignment(name, inner):
                    return assignment
    return ()
