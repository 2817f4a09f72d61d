"""One rewriter for every pass: override what changes, the rest is rebuilt around it.

A node of which nothing changed stays the same object, so a pass that finds nothing to do gives back
the kernel that it was given.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping

from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.expr import Expr, Read, Var, map_children
from dslc.compiler.ir.instructions import Carried, Instruction, Stmt
from dslc.compiler.ir.program import Call, GridAxis, Kernel, Param, Program, TileProgram
from dslc.compiler.ir.traverse import (
    Body,
    Name,
    Part,
    Use,
    bodies,
    fields,
    inner_names,
    results,
    walk,
)
from dslc.compiler.ir.unchanged import each, kept, replaced
from dslc.compiler.ir.values import AxisSlice, Memory, Region, Value, alignment


class Rewriter:
    """Rebuilds bodies and kernels. Override `statement`, `value`, `expr`, `memory`, `define`.

    `statement` may give any number of statements in place of one; `rebuild` maps its parts.
    """

    def __init__(self) -> None:
        self._memories: dict[Memory, Memory] = {}

    def value(self, value: Value) -> Value:
        """A tile where it is read."""
        return value

    def var(self, var: Var) -> Expr:
        """A scalar where it is read."""
        return var

    def define(self, name: Name) -> Name:
        """A tile or scalar where it is defined."""
        return name

    def expr(self, expr: Expr) -> Expr:
        """An expression of a statement, as a whole."""
        if isinstance(expr, Var):
            return self.var(expr)
        if isinstance(expr, Read):
            value = self.value(expr.value)
            return expr if value is expr.value else Read(value)
        return map_children(expr, self._child)

    def memory(self, memory: Memory) -> Memory:
        """A memory, wherever it is named; by default the same over rewritten shape and strides."""
        if memory not in self._memories:
            shape = each(memory.shape, self.expr)
            strides = memory.strides and each(memory.strides, self.expr)
            self._memories[memory] = replaced(memory, shape=shape, strides=strides)
        return self._memories[memory]

    def region(self, region: Region) -> Region:
        """A region where it is accessed."""
        axes = each(region.axes, self.axis)
        return replaced(region, memory=self.memory(region.memory), axes=axes)

    def axis(self, axis: AxisSlice) -> AxisSlice:
        """What an access takes of an axis."""
        end = None if axis.end is None else self.expr(axis.end)
        return replaced(axis, start=self.expr(axis.start), end=end)

    def statement(self, stmt: Stmt) -> Iterable[Stmt]:
        """What stands in place of a statement."""
        return (self.rebuild(stmt),)

    def body(self, body: Body) -> Body:
        """A body, statement by statement."""
        out: list[Stmt] = []
        for stmt in body:
            out.extend(self.statement(stmt))
        return kept(body, out)

    def rebuild(self, stmt: Stmt) -> Stmt:
        """The statement over its rewritten parts; definitions before the bodies that see them."""
        match stmt:
            case ins.For():
                start, stop, step = (self.expr(e) for e in (stmt.start, stmt.stop, stmt.step))
                var = self._variable(stmt.var)
                inits, inners = self._enter(stmt.carried)
                body, yields = self.nested(stmt, 0, [c.yielded for c in stmt.carried])
                carried = self._leave(stmt.carried, inits, inners, yields)
                return replaced(
                    stmt, var=var, start=start, stop=stop, step=step, body=body, carried=carried
                )
            case ins.While():
                inits, inners = self._enter(stmt.carried)
                before, (condition,) = self.nested(stmt, 0, [stmt.condition])
                body, yields = self.nested(stmt, 1, [c.yielded for c in stmt.carried])
                carried = self._leave(stmt.carried, inits, inners, yields)
                return replaced(
                    stmt, before=before, condition=condition, body=body, carried=carried
                )
            case ins.If():
                return self._branches(stmt)
            case ins.WarpSpecialize():
                return replaced(stmt, body=self.nested(stmt, 0, [])[0])
            case _:
                return self._instruction(stmt)

    def nested(self, stmt: Stmt, which: int, handed: list[Use]) -> tuple[Body, list[Use]]:
        """One of `traverse.bodies(stmt)`, and what is read at its end."""
        return self.body(bodies(stmt)[which]), [self.use(u) for u in handed]

    def kernel(self, kernel: Kernel) -> Kernel:
        """A kernel with everything in it rewritten."""
        return replaced(
            kernel,
            params=each(kernel.params, self._param),
            grid=each(kernel.grid, self._grid_axis),
            requires=each(kernel.requires, lambda r: replaced(r, condition=self.expr(r.condition))),
            rasterization=kernel.rasterization and self.expr(kernel.rasterization),
            workspaces=each(kernel.workspaces, self.memory),
            body=self.body(kernel.body),
        )

    def use(self, use: Use) -> Use:
        """A tile or an expression, where either may stand."""
        return self.value(use) if isinstance(use, Value) else self.expr(use)

    def _child(self, expr: Expr) -> Expr:
        return Rewriter.expr(self, expr)

    def _variable(self, var: Var) -> Var:
        defined = self.define(var)
        assert isinstance(defined, Var)
        return defined

    def _param(self, param: Param) -> Param:
        return self.memory(param) if isinstance(param, Memory) else self._variable(param)

    def _grid_axis(self, axis: GridAxis) -> GridAxis:
        start, stop, step = (self.expr(e) for e in (axis.start, axis.stop, axis.step))
        return replaced(axis, var=self._variable(axis.var), start=start, stop=stop, step=step)

    def _enter(self, carried: tuple[Carried, ...]) -> tuple[list[Use], list[Name]]:
        inits = [self.use(c.init) for c in carried]
        return inits, [self.define(c.inner) for c in carried]

    def _leave(
        self, carried: tuple[Carried, ...], inits: list[Use], inners: list[Name], yields: list[Use]
    ) -> tuple[Carried, ...]:
        out = [
            replaced(c, result=self.define(c.result), inner=inner, init=init, yielded=yielded)
            for c, inner, init, yielded in zip(carried, inners, inits, yields, strict=True)
        ]
        return kept(carried, out)

    def _branches(self, stmt: ins.If) -> ins.If:
        condition = self.expr(stmt.condition)
        then, thens = self.nested(stmt, 0, [j.then for j in stmt.joined])
        otherwise, others = self.nested(stmt, 1, [j.otherwise for j in stmt.joined])
        joined = [
            replaced(j, result=self.define(j.result), then=a, otherwise=b)
            for j, a, b in zip(stmt.joined, thens, others, strict=True)
        ]
        return replaced(
            stmt,
            condition=condition,
            then=then,
            otherwise=otherwise,
            joined=kept(stmt.joined, joined),
        )

    def _instruction(self, stmt: Instruction) -> Instruction:
        changes: dict[str, object] = {}
        results: dict[str, object] = {}
        for f in fields(type(stmt)):
            value = getattr(stmt, f.name)
            if value is None:
                continue
            match f.part:
                case Part.VALUE:
                    changes[f.name] = self.value(value)
                case Part.VALUES:
                    changes[f.name] = each(value, self.value)
                case Part.EXPR:
                    changes[f.name] = self.expr(value)
                case Part.MIXED:
                    changes[f.name] = each(value, self.use)
                case Part.REGION:
                    changes[f.name] = self.region(value)
                case Part.MEMORY:
                    changes[f.name] = self.memory(value)
                case Part.RESULT | Part.SCALAR:
                    results[f.name] = value
        for name, value in results.items():
            assert isinstance(value, Value | Var)
            changes[name] = self.define(value)
        return replaced(stmt, **changes)


class Substitution(Rewriter):
    """Replaces tiles, scalars and memories where they are read."""

    def __init__(
        self,
        values: Mapping[Value, Value] | None = None,
        scalars: Mapping[Var, Expr] | None = None,
        memories: Mapping[Memory, Memory] | None = None,
    ) -> None:
        super().__init__()
        self.values: dict[Value, Value] = dict(values or {})
        self.scalars: dict[Var, Expr] = dict(scalars or {})
        self._memories.update(memories or {})

    def bind(self, name: Name, use: Use) -> None:
        """From here on read `use` for the name."""
        if isinstance(name, Value):
            assert isinstance(use, Value)
            self.values[name] = use
        else:
            assert not isinstance(use, Value)
            self.scalars[name] = use

    def value(self, value: Value) -> Value:
        """The tile that stands for this one."""
        return self.values.get(value, value)

    def var(self, var: Var) -> Expr:
        """The expression that stands for this scalar."""
        return self.scalars.get(var, var)


class _Clone(Substitution):
    """A copy that defines nothing which the original defines."""

    def __init__(
        self, taken: set[str], values: Mapping[Value, Value], scalars: Mapping[Var, Expr]
    ) -> None:
        super().__init__(values, scalars)
        self.taken = taken

    def define(self, name: Name) -> Name:
        fresh = (
            dataclasses.replace(name)
            if isinstance(name, Value)
            else Var(fresh_name(name.name, self.taken), name.dtype)
        )
        self.bind(name, fresh)
        return fresh

    def statement(self, stmt: Stmt) -> Iterable[Stmt]:
        if isinstance(stmt, ins.Alloc):
            copy = dataclasses.replace(self.memory(stmt.memory))
            self._memories[stmt.memory] = copy
            return (dataclasses.replace(stmt, memory=copy),)
        return super().statement(stmt)


def clone_body(
    body: Body,
    taken: set[str],
    *,
    values: Mapping[Value, Value] | None = None,
    scalars: Mapping[Var, Expr] | None = None,
    outputs: Iterable[Use] = (),
) -> tuple[Body, tuple[Use, ...]]:
    """A copy of a body with fresh tiles, scalars and memories, and what its `outputs` are there.

    `values` and `scalars` say what the copy reads in place of names from outside. `taken` holds the
    scalar names in use and learns the new ones.
    """
    clone = _Clone(taken, values or {}, scalars or {})
    copy = clone.body(body)
    return copy, tuple(clone.use(u) for u in outputs)


def fresh_name(hint: str, taken: set[str]) -> str:
    """`hint`, or `hint_1`, `hint_2`, ...: the first that is not taken; now it is."""
    name, count = hint, 0
    stem = re.sub(r"_\d+\Z", "", hint) or hint
    while name in taken:
        count += 1
        name = f"{stem}_{count}"
    taken.add(name)
    return name


def scalar_names(kernel: Kernel) -> set[str]:
    """The names of every scalar and dim of a kernel."""
    names = {d.name for d in kernel.dims} | {name for name, _ in kernel.fixed}
    names |= {p.name for p in kernel.params if isinstance(p, Var)}
    names |= {a.var.name for a in kernel.grid}
    for stmt in walk(kernel.body):
        names |= {n.name for n in (*results(stmt), *inner_names(stmt)) if isinstance(n, Var)}
    return names


def with_body(kernel: Kernel, body: Body) -> Kernel:
    """The kernel over another body; the kernel itself where that is its own."""
    return replaced(kernel, body=body)


def map_kernels(program: TileProgram, f: Callable[[Kernel], Kernel]) -> TileProgram:
    """The program with `f` applied to its kernels, once to each; the program itself if none changed."""
    if isinstance(program, Kernel):
        return f(program)
    done: dict[Kernel, Kernel] = {}
    calls: list[Call] = []
    for call in program.calls:
        if call.kernel not in done:
            done[call.kernel] = f(call.kernel)
        calls.append(replaced(call, kernel=done[call.kernel]))
    return replaced(program, calls=kept(program.calls, calls))


def with_memories(program: Program, moved: Mapping[Memory, Memory]) -> Program:
    """The program with other memories for its own: as parameters, buffers, arguments, bases of views.

    A view that is not moved itself begins at no higher multiples of bytes than its base does.
    """

    def of(memory: Memory) -> Memory:
        return moved.get(memory, memory)

    views = []
    for view in program.views:
        base, memory = of(view.base), of(view.memory)
        if memory is view.memory and alignment(memory) > alignment(base):
            memory = dataclasses.replace(memory, align=base.align)
        views.append(dataclasses.replace(view, memory=memory, base=base))
    renamed = {**moved, **{v.memory: w.memory for v, w in zip(program.views, views, strict=True)}}
    calls = (
        dataclasses.replace(
            c, args=tuple(renamed.get(a, a) if isinstance(a, Memory) else a for a in c.args)
        )
        for c in program.calls
    )
    return dataclasses.replace(
        program,
        params=tuple(of(p) if isinstance(p, Memory) else p for p in program.params),
        buffers=tuple(map(of, program.buffers)),
        calls=tuple(calls),
        views=tuple(views),
    )


def kernels(program: TileProgram) -> tuple[Kernel, ...]:
    """The kernels of a program, each once, in the order of their first call."""
    if isinstance(program, Program):
        return tuple(dict.fromkeys(c.kernel for c in program.calls))
    return (program,)
