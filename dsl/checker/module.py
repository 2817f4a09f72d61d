"""Modules: imports, constants, and the templates of kernels and programs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from dslc.checker import names, signature
from dslc.checker.calls import FUNCTIONS
from dslc.checker.candidates import filled
from dslc.checker.choosing import choose, linked
from dslc.checker.context import Context, expect_dtype
from dslc.checker.expressions import evaluate
from dslc.checker.failure import fail
from dslc.checker.items import Item, KernelName, UserFunction
from dslc.checker.kernel import elaborate as elaborate_kernel
from dslc.checker.kernel import finish, new_context
from dslc.checker.programs.lists import named, spread
from dslc.checker.programs.program import elaborate as elaborate_program
from dslc.compiler.diagnostics import Loc, did_you_mean
from dslc.compiler.dtypes import DType
from dslc.compiler.ir import Kernel, Program
from dslc.compiler.ir.expr import Expr
from dslc.compiler.targets import Target
from dslc.frontend import tree
from dslc.frontend.imports import DISK, STANDARD, Files, import_path, is_standard
from dslc.frontend.printer import print_expression
from dslc.frontend.tile_parser import parse_tile


@dataclass(frozen=True, slots=True)
class ParamInfo:
    """A parameter as its kernel declares it; `dims` and `strides` are the texts of these."""

    name: str
    dtype: DType
    dims: tuple[str, ...] | None
    mode: str
    packed: str | None
    strides: tuple[str, ...] | None
    loc: Loc
    optional: bool = False


@dataclass(slots=True)
class Scope:
    """The names of one module, and the machine that it is elaborated for."""

    machine: Target | None = None
    names: dict[str, Item] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Template:
    """A kernel or program before its dims and choices are known."""

    name: str
    kind: str  # kernel or program
    doc: str | None
    loc: Loc
    params: tuple[ParamInfo, ...]
    dims: tuple[str, ...]
    tunes: Mapping[str, tuple[Item, ...]]
    consts: Mapping[str, Item]
    head: signature.Head
    node: tree.Kernel | tree.Program
    scope: Scope
    define: Mapping[str, Item]
    _variants: dict[frozenset[str], Template] = field(default_factory=dict)

    def without(self, names: Iterable[str]) -> Template:
        """The template in which some of its optional parameters are None: it has them no longer."""
        absent = frozenset(names)
        if not absent:
            return self
        if absent not in self._variants:
            head = signature.split(
                self.node, [*self.scope.names, *FUNCTIONS], [*self.head.absent, *sorted(absent)]
            )
            params = tuple(p for p in self.params if p.name not in absent)
            self._variants[absent] = replace(
                self, head=head, params=params, dims=head.dims, _variants={}
            )
        return self._variants[absent]

    def elaborate(
        self,
        fixed: Mapping[str, int] | None = None,
        config: Mapping[str, object] | None = None,
        prefer: Prefer | None = None,
    ) -> Kernel | Program:
        """Tile IR for fixed dims and tune choices (those not given: free, and the first choice).

        `prefer` chooses for the kernels that a program calls. Raises NeedsDims where dims must be
        fixed, DiagnosticError for errors of the source.
        """
        dims = {n: int(v) for n, v in self.define.items() if n in self.dims and isinstance(v, int)}
        dims |= dict(fixed or {})
        tunes: dict[str, object] = {n: v for n, v in self.define.items() if n in self.tunes}
        tunes |= dict(config or {})
        signature.unknown_defines(dims, self.dims, self.loc)
        signature.unknown_defines(tunes, self.tunes, self.loc)
        tunes = self.choose(dims, tunes)
        if isinstance(self.node, tree.Kernel):
            return elaborate_kernel(self.node, self.head, self.scope, self.define, dims, tunes)
        return elaborate_program(self.node, self.head, self.scope, self.define, dims, tunes, prefer)

    @property
    def dims_of_choices(self) -> tuple[str, ...]:
        """The dims that requirements on tunes read: choices depend on them."""
        read = {n for r in linked(self.head) for n in names.reads(r.condition)}
        return tuple(d for d in self.dims if d in read)

    def choose(self, dims: Mapping[str, int], config: Mapping[str, object]) -> dict[str, object]:
        """A choice of every tune: those of `config`, and for others the first that is not forbidden.

        DSL0217 where the requirements leave none.
        """
        if len(config) == len(self.tunes):
            return dict(config)
        c = new_context(self.scope)
        return choose(c, self.head, self.define, dims, config, self.loc)


Prefer: TypeAlias = Callable[[Template, Mapping[str, Expr]], Mapping[str, object]]
"""The choices of a kernel's tunes for what its dims are in the program; none where it has none."""


@dataclass(frozen=True, slots=True)
class CheckedModule:
    """The templates of a source, by name; `sources` are the texts that it was made of."""

    templates: Mapping[str, Template]
    sources: Mapping[str, str]


@dataclass(slots=True)
class _Loader:
    search: tuple[Path, ...]
    define: dict[str, Item]
    files: Files
    machine: Target | None = None
    sources: dict[str, str] = field(default_factory=dict)
    loaded: dict[Path, Scope] = field(default_factory=dict)
    loading: list[Path] = field(default_factory=list)
    known: set[str] = field(default_factory=set)

    def load(self, module: tree.Module, folder: Path | None) -> Scope:
        """Elaborate a module's items in order."""
        scope = Scope(self.machine)
        c = new_context(scope)
        for item in module.items:
            with c.recover(_bound(item)):
                self._item(c, scope, item, folder)
            for name in _bound(item):
                if name in c.names:  # lost by an error: say no more about it
                    scope.names[name] = c.names[name]
        finish(c)
        return scope

    def _item(self, c: Context, scope: Scope, item: tree.TopLevel, folder: Path | None) -> None:
        for name in _bound(item):
            if name in scope.names:
                fail("DSL0216", f"{name} is defined twice", item.loc)
        match item:
            case tree.Import():
                self._import(scope, item, folder)
            case tree.Const(name=name, value=value):
                self.known.add(name)
                given = self.define[name] if name in self.define else evaluate(c, value)
                scope.names[name] = signature.settled(c, given, item)
            case tree.Function(name=name):
                scope.names[name] = UserFunction(item, scope)
            case tree.Kernel() | tree.Program():
                scope.names[item.name] = KernelName(self._template(scope, item))

    def _template(self, scope: Scope, node: tree.Kernel | tree.Program) -> Template:
        c = new_context(scope)
        node = filled(node, self.machine)
        node = spread(node, [*scope.names, *c.known_functions, *named(node)], self._length(c, node))
        optional = {p.name for p in node.params if p.optional}
        absent = [n for n in optional if n in self.define and self.define[n] is None]
        head = signature.split(node, [*scope.names, *c.known_functions], absent)
        self.known.update(absent)
        self.known.update(head.dims, (d.name for d in head.consts), (d.name for d in head.tunes))
        signature.declare_dims(
            c, head, {n: v for n, v in self.define.items() if isinstance(v, int)}
        )
        consts = {}
        for const in head.consts:
            with c.recover((const.name,)):
                value = self.define.get(const.name)
                consts[const.name] = c.names[const.name] = (
                    evaluate(c, const.value) if value is None else value
                )
        tunes = {t.name: tuple(evaluate(c, e) for e in t.choices) for t in head.tunes}
        c.names.update({n: choices[0] for n, choices in tunes.items()})
        params = tuple(self._param(c, p) for p in head.params)
        c.diagnostics.clear()  # elaboration reports them
        return Template(
            node.name, "kernel" if isinstance(node, tree.Kernel) else "program", node.doc, node.loc,
            params, head.dims, MappingProxyType(tunes), MappingProxyType(consts), head, node, scope,
            self.define,
        )  # fmt: skip

    def _length(self, c: Context, node: tree.Kernel | tree.Program) -> Callable[[tree.Expr], int]:
        """What the length of a list is, which constants of the kernel may say."""

        def integer(length: tree.Expr) -> int:
            outer = c.names
            c.names = dict(outer)
            for const in (s for s in node.body if isinstance(s, tree.Const)):
                value = self.define.get(const.name)
                c.names[const.name] = evaluate(c, const.value) if value is None else value
            count = c.integer(evaluate(c, length), length.loc, "the length of a list")
            c.names = outer
            return count

        return integer

    def _param(self, c: Context, p: tree.Param) -> ParamInfo:
        dtype = expect_dtype(evaluate(c, p.dtype), p.dtype.loc)
        dims = None if p.dims is None else tuple(print_expression(d) for d in p.dims)
        strides = None if p.strides is None else tuple(map(print_expression, p.strides))
        return ParamInfo(p.name, dtype, dims, p.mode, p.packed, strides, p.loc, p.optional)

    def _import(self, scope: Scope, item: tree.Import, folder: Path | None) -> None:
        relative = import_path(item)
        places = ([folder] if folder is not None else []) + list(self.search)
        files = self.files
        if is_standard(item):
            places, files = [STANDARD], DISK
        file = next((p / relative for p in places if files.has(p / relative)), None)
        if file is None and is_standard(item):
            known = sorted(p.stem for p in (STANDARD / "std").glob("*.tile"))
            hint = "there are " + ", ".join(f"std.{name}" for name in known)
            fail("DSL0221", f"the library has no {item.path}", item.loc, hint=hint)
        if file is None:
            looked = ", ".join(str(p) for p in places) or "nowhere: this source has no folder"
            fail("DSL0221", f"there is no file {relative}", item.loc, hint=f"looked in {looked}")
        path = file.resolve()
        if path in self.loading:
            fail("DSL0221", f"{relative} imports itself", item.loc)
        if path not in self.loaded:
            self.loading.append(path)
            text = files.read(file)
            self.sources[str(file)] = text
            self.loaded[path] = self.load(parse_tile(text, str(file)), file.parent)
            self.loading.pop()
        names = self.loaded[path].names
        for name in item.names:
            if name not in names:
                fail(
                    "DSL0221", f"{relative} has no {name}", item.loc, hint=did_you_mean(name, names)
                )
            scope.names[name] = names[name]


def _bound(item: tree.TopLevel) -> tuple[str, ...]:
    return item.names if isinstance(item, tree.Import) else (item.name,)


def check_module(
    module: tree.Module,
    *,
    search: tuple[Path, ...] = (),
    define: Mapping[str, object] | None = None,
    folder: Path | None = None,
    files: Files = DISK,
    machine: Target | None = None,
) -> CheckedModule:
    """The templates of a module.

    `define` fixes dims and tunes and overrides consts by name; `folder` is where its imports are
    looked for before `search` (by default that of the file which the module names), in `files`. Tunes
    without values get those of the `machine`.
    """
    values = {name: signature.parse_value(v) for name, v in (define or {}).items()}
    if folder is None and Path(module.loc.file).is_file():
        folder = Path(module.loc.file).parent
    loader = _Loader(search, values, files, machine)
    scope = loader.load(module, folder)
    signature.unknown_defines(values, loader.known, module.loc)
    own = {item.name for item in module.items if isinstance(item, tree.Kernel | tree.Program)}
    imported = {n for item in module.items if isinstance(item, tree.Import) for n in item.names}
    templates = {
        name: item.template
        for name, item in scope.names.items()
        if isinstance(item, KernelName) and name in own | imported
    }
    return CheckedModule(MappingProxyType(templates), MappingProxyType(loader.sources))
