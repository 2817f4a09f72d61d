"""A kernel over the layouts that were chosen: conversions where a reader wants another one.

A tile has a version in each layout that is read. A version stands right after the tile where a loop
reads it again and again, else before the first statement that reads it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from dslc.compiler.ir import Kernel, Memory, Place, Role, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.rewrite import Rewriter
from dslc.compiler.ir.traverse import (
    Body,
    Name,
    Use,
    handed,
    inner_names,
    operands,
    results,
)
from dslc.compiler.layout import Layout
from dslc.compiler.passes.gpu_layout.blocked import blocked, vector_of
from dslc.compiler.passes.gpu_layout.regions import is_free
from dslc.compiler.passes.gpu_layout.relations import (
    alike,
    operand_layout,
    result_layout,
)
from dslc.compiler.passes.gpu_layout.solve import Solution


def apply(kernel: Kernel, solution: Solution) -> Kernel:
    """The kernel with a layout on every tile."""
    found = _Applier(solution).kernel(kernel)
    return replace(found, threads=solution.threads)


class _Applier(Rewriter):
    def __init__(self, solution: Solution) -> None:
        super().__init__()
        self.solution = solution
        self.versions: dict[Value, dict[Layout, Value]] = {}
        self.early = self._early()
        self.wanted: dict[Value, Layout] = {}  # of the operands of the statement at hand
        self.pending: list[Stmt] = []

    # What is wanted

    def _early(self) -> dict[Value, list[Layout]]:
        """Per tile the versions that stand right after it: those that a deeper loop reads."""
        early: dict[Value, list[Layout]] = {}
        regions = self.solution.regions
        for site in regions.sites:
            for x, layout in self._wants(site.stmt).items():
                origin = regions.origin[x]
                if is_free(origin.stmt) or site.depth > origin.depth:
                    if layout not in early.setdefault(x, []):
                        early[x].append(layout)
        return early

    def _wants(self, stmt: Stmt) -> dict[Value, Layout]:
        """The layout that each tile read by a statement must have."""
        wants: dict[Value, Layout] = {}
        for x in operands(stmt):
            wants[x] = self._natural(x)
        for h in handed(stmt):
            kept = self.solution.layout(h.result) if isinstance(h.result, Value) else None
            uses = (h.init, h.yielded) if isinstance(h, ins.Carried) else (h.then, h.otherwise)
            if kept is not None:
                wants |= {u: kept for u in uses if isinstance(u, Value)}
        match stmt:
            case ins.Store(x=x):
                wants[x] = self.solution.accesses[stmt]
            case ins.Dot(a=a, b=b) if (plan := self.solution.plans.get(stmt)) is not None:
                wants |= {a: plan.a, b: plan.b}
                if a is b and plan.a != plan.b:
                    raise AssertionError("one tile as both operands has its copies made before")
        out = stmt.x if isinstance(stmt, ins.Scatter) else getattr(stmt, "out", None)
        if isinstance(out, Value) and (there := self.solution.layout(out)) is not None:
            for x in alike(stmt):
                if x is not out:
                    wants[x] = there
            for x in operands(stmt):
                if (layout := operand_layout(stmt, x, there)) is not None:
                    wants[x] = layout
        return wants

    def _natural(self, x: Value) -> Layout:
        found = self.solution.layout(x)
        if found is not None:
            return found
        shape = x.type.shape
        return blocked(shape, self.solution.threads, vector_of(shape[-1], 32) if shape else 1)

    # Rewriting

    def value(self, value: Value) -> Value:
        layout = self.wanted.get(value)
        return self._version(value, layout if layout is not None else self._natural(value))

    def _version(self, value: Value, layout: Layout) -> Value:
        versions = self.versions[value]
        if layout not in versions:
            home = next(iter(versions.values()))
            made = _laid(home, layout)
            loc = self.solution.regions.origin[value].stmt.loc
            self.pending.append(ins.ConvertLayout(made, home, loc=loc))
            versions[layout] = made
        return versions[layout]

    def define(self, name: Name) -> Name:
        if not isinstance(name, Value):
            return name
        made = _laid(name, self._natural(name))
        self.versions[name] = {self._natural(name): made}
        return made

    def memory(self, memory: Memory) -> Memory:
        found = super().memory(memory)
        if found.role is Role.BUFFER and found.place is None:
            found = self._memories[memory] = replace(found, place=Place.SHARED)
        return found

    def statement(self, stmt: Stmt) -> Iterable[Stmt]:
        if is_free(stmt):
            return self._free(stmt)
        outer, self.pending = self.pending, []
        self.wanted = self._wants(stmt)
        made = self._laid_out(stmt)
        before, self.pending = self.pending, outer
        return [*before, *made, *self._after(results(stmt))]

    def _free(self, stmt: Stmt) -> list[Stmt]:
        """Full and the like once for each layout that is read."""
        assert isinstance(stmt, ins.Full | ins.Arange | ins.Undefined)
        rebuilt = stmt if not isinstance(stmt, ins.Full) else self.rebuild(stmt)
        out: list[Stmt] = []
        self.versions[stmt.out] = {}
        for layout in self.early.get(stmt.out, []):
            made = _laid(stmt.out, layout)
            self.versions[stmt.out][layout] = made
            out.append(replace(rebuilt, out=made))  # type: ignore[call-arg]
        return out

    def _laid_out(self, stmt: Stmt) -> list[Stmt]:
        match stmt:
            case ins.Dot():
                plan = self.solution.plans.get(stmt)
                return [self.rebuild(replace(stmt, atom=plan.atom if plan else stmt.atom))]
            case ins.Load(out=out):
                return self._made_as(stmt, out, self.solution.accesses[stmt])
            case ins.Reduce(out=out, x=x):
                given = result_layout(stmt, self.wanted[x])
                assert given is not None
                return self._made_as(stmt, out, given)
            case ins.For() | ins.While() | ins.If():
                return [self.rebuild(stmt)]
        return [self.rebuild(stmt)]

    def _made_as(self, stmt: Stmt, out: Value, layout: Layout) -> list[Stmt]:
        """The statement gives that layout, and a conversion follows where the tile's is another."""
        rebuilt = self.rebuild(stmt)
        home = self._natural(out)
        if layout == home:
            return [rebuilt]
        made = _laid(out, layout)
        settled = _laid(out, home)
        self.versions[out] = {home: settled, layout: made}
        return [
            replace(rebuilt, out=made),  # type: ignore[call-arg]
            ins.ConvertLayout(settled, made, loc=stmt.loc),
        ]

    def _after(self, names: Iterable[Name]) -> list[Stmt]:
        """The versions that stand right after these tiles."""
        outer, self.pending = self.pending, []
        for name in names:
            if isinstance(name, Value):
                for layout in self.early.get(name, []):
                    self._version(name, layout)
        made, self.pending = self.pending, outer
        return made

    def nested(self, stmt: Stmt, which: int, handed_on: list[Use]) -> tuple[Body, list[Use]]:
        """A body; versions made in it are its own."""
        wanted = self.wanted
        kept = {value: dict(found) for value, found in self.versions.items()}
        outer, self.pending = self.pending, []
        first = self._after(inner_names(stmt)) if which == 0 else []
        body = [*first]
        from dslc.compiler.ir.traverse import bodies

        for inner in bodies(stmt)[which]:
            body.extend(self.statement(inner))
        self.wanted = wanted
        uses = [self.use(u) for u in handed_on]
        body.extend(self.pending)
        self.pending = outer
        self.versions = kept
        return tuple(body), uses


def _laid(value: Value, layout: Layout) -> Value:
    return Value(replace(value.type, layout=layout), value.name)
