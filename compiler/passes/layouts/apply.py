"""A kernel over the layouts that were chosen: conversions where a reader wants another one.

A tile has a version in each layout that is read. A version stands right after the tile where a loop
reads it again and again, else before the first statement that reads it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from dslc.compiler.diagnostics import Loc
from dslc.compiler.ir import Kernel, Memory, Place, Role, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.rewrite import Rewriter
from dslc.compiler.ir.traverse import (
    Body,
    Name,
    Use,
    bodies,
    handed,
    inner_names,
    operands,
    results,
)
from dslc.compiler.layout import Layout, permute
from dslc.compiler.layout.conversions import shared_axis
from dslc.compiler.layout.neighbours import neighbours_last
from dslc.compiler.passes.layouts.blocked import blocked, vector_of
from dslc.compiler.passes.layouts.cost import BYTE
from dslc.compiler.passes.layouts.matrix import Plan, wants_along
from dslc.compiler.passes.layouts.relations import (
    alike,
    operand_layout,
    result_layout,
    shaped,
    shaping,
)
from dslc.compiler.passes.layouts.shared_operands import is_turned
from dslc.compiler.passes.layouts.solve import Solution

Wants = dict[Value, Layout]


def apply(kernel: Kernel, solution: Solution) -> Kernel:
    """The kernel with a layout on every tile."""
    laid_out = _Applier(solution).kernel(kernel)
    same = laid_out.threads == solution.threads
    return laid_out if same else replace(laid_out, threads=solution.threads)


class _Demands:
    """Which layouts of each tile are read, and which of them stand right after it."""

    def __init__(self, solution: Solution) -> None:
        self.solution = solution
        self.early: dict[Value, list[Layout]] = {}
        self.placed: dict[Value, ins.Dot] = {}  # computed operands of products in deeper loops
        regions = solution.regions
        for site in regions.sites:
            if not regions.free.isdisjoint(results(site.stmt)):
                continue
            plan = solution.plans.get(site.stmt)
            for x in plan.placed if plan is not None else ():
                if site.depth > regions.origin[x].depth and isinstance(site.stmt, ins.Dot):
                    self.placed[x] = site.stmt
            for x, layout in self.of(site.stmt).items():
                if x in regions.free or site.depth > regions.origin[x].depth:
                    self._ask(x, layout)
        for site in reversed(regions.sites):
            for out in regions.free.intersection(results(site.stmt)):
                for layout in self.early.get(out, []):
                    for x, wanted in self.under(site.stmt, layout).items():
                        self._ask(x, wanted)

    def _ask(self, x: Value, layout: Layout) -> None:
        if layout not in self.early.setdefault(x, []):
            self.early[x].append(layout)

    def of(self, stmt: Stmt) -> Wants:
        """The layout that each tile read by a statement must have."""
        kept = self.solution.in_memory - self.solution.held
        if isinstance(stmt, ins.Transpose) and stmt.out in kept:
            return {}  # of the tile in memory
        wants = {x: self.home(x) for x in operands(stmt) if x not in kept}
        for h in handed(stmt):
            uses = (h.init, h.yielded) if isinstance(h, ins.Carried) else (h.then, h.otherwise)
            if isinstance(h.result, Value):
                wants |= {u: self.home(h.result) for u in uses if isinstance(u, Value)}
        match stmt:
            case ins.Store(x=x) | ins.AtomicRmw(x=x) if stmt in self.solution.accesses:
                wants[x] = self.solution.accesses[stmt]
            case ins.Dot() if (plan := self.solution.plans.get(stmt)) is not None:
                held = dict(plan.operands(stmt)) | {x: self.home(x) for x in plan.placed}
                wants = {x: y for x, y in wants.items() if x not in (stmt.a, stmt.b)} | held
        if isinstance(stmt, ins.Store) and stmt.where is not None:
            wants[stmt.where] = wants.get(stmt.x) or self.home(stmt.x)
        out = shaping(stmt)
        if out is None or out in kept:
            return wants
        return wants | self.under(stmt, self.home(out))

    def under(self, stmt: Stmt, there: Layout) -> Wants:
        """What the operands must have, those that follow from the result's layout."""
        same = alike(stmt)
        wants: Wants = {}
        for x in (*same[1:], *shaped(stmt)):
            layout = there if x in same else operand_layout(stmt, x, there)
            if layout is not None:
                wants[x] = layout
        return wants

    def home(self, x: Value) -> Layout:
        """The layout in which a tile is made; a tile made as asked has this where none is asked."""
        layout = self.solution.layout(x)
        if layout is not None:
            return layout
        shape = x.type.shape
        return blocked(shape, self.solution.threads, vector_of(shape[-1], 32) if shape else 1)


class _Applier(Rewriter):
    def __init__(self, solution: Solution) -> None:
        super().__init__()
        self.solution = solution
        self.demands = _Demands(solution)
        self.versions: dict[Value, dict[Layout, Value]] = {}
        self.kept: dict[Value, Value] = {}  # tiles that stay in memory
        self.placed: dict[Value, Value] = {}  # computed tiles as products read them in memory
        self.wants: Wants = {}  # of the statement at hand
        self.pending: list[Stmt] = []  # conversions that stand before it

    def value(self, value: Value) -> Value:
        """The version that the statement at hand wants."""
        if value in self.kept and value not in self.wants:
            return self.kept[value]
        return self._version(value, self.wants.get(value) or self.demands.home(value))

    def _version(self, value: Value, layout: Layout) -> Value:
        versions = self.versions[value]
        if layout not in versions:
            home = versions.get(self.demands.home(value)) or next(iter(versions.values()))
            versions[layout] = _laid(value, layout)
            loc = self.solution.regions.origin[value].stmt.loc
            self.pending.append(ins.ConvertLayout(versions[layout], home, loc=loc))
        return versions[layout]

    def define(self, name: Name) -> Name:
        """A tile where it is made, in its home layout."""
        if not isinstance(name, Value):
            return name
        if name in self.solution.in_memory:
            self.kept.setdefault(name, _laid(name, None))
            if name not in self.solution.held:
                return self.kept[name]
        home = self.demands.home(name)
        self.versions[name] = {home: _laid(name, home)}
        return self.versions[name][home]

    def memory(self, memory: Memory) -> Memory:
        """On-chip buffers are in shared memory."""
        rewritten = super().memory(memory)
        if rewritten.role is Role.BUFFER and rewritten.place is None:
            rewritten = self._memories[memory] = replace(rewritten, place=Place.SHARED)
        return rewritten

    def statement(self, stmt: Stmt) -> Iterable[Stmt]:
        """The statement with the conversions that it wants before it, and early ones after it."""
        outer, self.pending = self.pending, []
        statements = self._free(stmt) if self._is_free(stmt) else self._laid_out(stmt)
        before, self.pending = self.pending, outer
        return [*before, *statements, *self._after(results(stmt))]

    def _is_free(self, stmt: Stmt) -> bool:
        return not self.solution.regions.free.isdisjoint(results(stmt))

    def _free(self, stmt: Stmt) -> list[Stmt]:
        """The statement once for each layout in which its tile is read."""
        (out,) = results(stmt)
        assert isinstance(out, Value)
        statements: list[Stmt] = []
        versions: dict[Layout, Value] = {}
        for layout in self.demands.early.get(out, []):
            self.wants = self.demands.under(stmt, layout)
            versions[layout] = _laid(out, layout)
            statements.append(_giving(self.rebuild(stmt), out=versions[layout]))
        self.versions[out] = versions
        return statements

    def _laid_out(self, stmt: Stmt) -> list[Stmt]:
        self.wants = self.demands.of(stmt)
        match stmt:
            case ins.Load(out=out) | ins.Transpose(out=out) if out in self.solution.held:
                return [self._in_memory(stmt), *self._in_registers(stmt)]
        return self._in_registers(stmt)

    def _in_memory(self, stmt: ins.Load | ins.Transpose) -> Stmt:
        """The statement once more, for products that read its tile in shared memory."""
        wants, self.wants = self.wants, {}
        made = self.rebuild(stmt)
        self.wants = wants
        return _giving(made, out=self.kept[stmt.out])

    def _in_registers(self, stmt: Stmt) -> list[Stmt]:
        match stmt:
            case ins.Dot() if (plan := self.solution.plans.get(stmt)) is not None:
                # One tile may be both operands, in two versions.
                a, b = (
                    self._operand(stmt, x, layout, plan)
                    for x, layout in ((stmt.a, plan.a), (stmt.b, plan.b))
                )
                rebuilt = self.rebuild(stmt)
                dot = _giving(rebuilt, a=a, b=b, atom=plan.atom)
                is_async = isinstance(dot, ins.Dot) and dot.is_async
                return [dot, ins.WaitDots(0, loc=stmt.loc)] if is_async else [dot]
            case ins.Load() if stmt.out not in self.solution.in_memory - self.solution.held:
                return self._made_as(stmt, stmt.out, self.solution.accesses[stmt])
            case ins.Reduce(out=out, x=x):
                given = result_layout(stmt, self.wants[x])
                assert given is not None
                if shared_axis(self.wants[x], stmt.axis, self.solution.warp)[1] > 1:
                    return [self.rebuild(stmt)]  # warps hand it out as it is wanted
                return self._made_as(stmt, out, given)
        return [self.rebuild(stmt)]

    def _operand(self, dot: ins.Dot, x: Value, layout: Layout | None, plan: Plan) -> Value:
        if layout is not None:
            return self._version(x, layout)
        return self._in_place_of(dot, x) if x in plan.placed else self.kept[x]

    def _in_place_of(self, dot: ins.Dot, x: Value) -> Value:
        """A computed tile in shared memory, by a conversion to no layout; turned where that helps."""
        if x not in self.placed:
            loc = self.solution.regions.origin[x].stmt.loc
            at = self._version(x, self.demands.home(x))
            assert at.type.layout is not None
            turned = is_turned(x, at.type.layout, along=wants_along(dot, x))
            if turned:
                at = self._turned(at, permute(at.type.layout, (1, 0)), loc)
                at = self._together(at, loc)
            placed = Value(replace(at.type, layout=None), x.name)
            self.pending.append(ins.ConvertLayout(placed, at, loc=loc))
            self.placed[x] = self._turned(placed, None, loc) if turned else placed
        return self.placed[x]

    def _together(self, x: Value, loc: Loc | None) -> Value:
        """A tile of bytes whose registers have together what follows each other along a row."""
        layout = x.type.layout
        if layout is None or x.type.dtype.bits != BYTE:
            return x
        ordered = neighbours_last(layout, 1)
        if ordered == layout:
            return x
        words = _laid(x, ordered)
        self.pending.append(ins.ConvertLayout(words, x, loc=loc))
        return words

    def _turned(self, x: Value, layout: Layout | None, loc: Loc | None) -> Value:
        turned = Value(replace(x.type, shape=x.type.shape[::-1], layout=layout), x.name)
        self.pending.append(ins.Transpose(turned, x, (1, 0), loc=loc))
        return turned

    def _made_as(self, stmt: Stmt, out: Value, layout: Layout) -> list[Stmt]:
        """The statement gives that layout, and a conversion follows where the tile's is another."""
        rebuilt = self.rebuild(stmt)
        home = self.demands.home(out)
        if layout == home:
            return [rebuilt]
        laid = _laid(out, layout)
        settled = self.versions[out][home]
        self.versions[out][layout] = laid
        return [_giving(rebuilt, out=laid), ins.ConvertLayout(settled, laid, loc=stmt.loc)]

    def _after(self, names: Iterable[Name]) -> list[Stmt]:
        """The versions that stand right after these tiles."""
        outer, self.pending = self.pending, []
        for name in names:
            for layout in self.demands.early.get(name, []) if isinstance(name, Value) else ():
                assert isinstance(name, Value)
                self._version(name, layout)
        pending, self.pending = self.pending, outer
        return pending

    def nested(self, stmt: Stmt, which: int, handed_on: list[Use]) -> tuple[Body, list[Use]]:
        """A body; the versions that are made in it are its own."""
        placed = dict(self.placed)
        kept = {value: dict(versions) for value, versions in self.versions.items()}
        outer, self.pending = self.pending, []
        body = self._after(inner_names(stmt)) if which == 0 else []
        for inner in bodies(stmt)[which]:
            body.extend(self.statement(inner))
        self.wants = self.demands.of(stmt)
        uses = [self.use(u) for u in handed_on]
        body.extend(self.pending)
        self.pending = outer
        if not (isinstance(stmt, ins.While) and which == 0):
            self.versions, self.placed = kept, placed
        return tuple(body), uses


def _laid(value: Value, layout: Layout | None) -> Value:
    same = layout == value.type.layout
    return value if same else Value(replace(value.type, layout=layout), value.name)


def _giving(stmt: Stmt, **parts: object) -> Stmt:
    """The instruction with other parts."""
    return replace(stmt, **parts)  # type: ignore[arg-type]
