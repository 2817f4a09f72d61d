"""What a source's text uses of nki, against the tables: every call, whether it runs or not.

Names that do not exist, arguments that an instruction has not, operators and engines that its page does
not list, arithmetic of registers.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dslc.runtime.nki_simulator.interface.instructions import (
    ENUMERATIONS,
    INSTRUCTION_ROWS,
    TYPES,
    Row,
)
from dslc.runtime.nki_simulator.interface.names import LANGUAGE_NAMES
from dslc.runtime.nki_simulator.interface.operators import ALU_ROWS, KINDS
from dslc.runtime.nki_simulator.neuroncore import Core
from dslc.runtime.nki_simulator.syntax import nodes

_ISA, _LANGUAGE = "nki.isa", "nki.language"
_OLD_ENGINES = tuple(
    f"{name}_engine" for name in ("tensor", "vector", "scalar", "gpsimd", "unknown")
)
_ISA_NAMES = frozenset((*INSTRUCTION_ROWS, *ENUMERATIONS, *TYPES, *_OLD_ENGINES))
_LOOPS = ("fori_loop", "while_loop")


@dataclass(frozen=True, slots=True)
class Wrong:
    """A use that the tables do not have: the rule that it breaks, what it is, where it stands."""

    rule: str
    message: str
    line: int


def check_uses(tree: ast.Module, core: Core) -> None:
    """A fault for the first use that nki's interface does not have."""
    for wrong in wrong_uses(tree, core.version):
        core.fail(wrong.rule, wrong.message, wrong.line)


def wrong_uses(tree: ast.Module, version: int) -> Iterator[Wrong]:
    """All of a file, on a generation of NeuronCores."""
    every = nodes(tree)
    modules = _modules(every)
    registers = _registers(tree, every, modules)
    for node in every:
        if isinstance(node, ast.Attribute):
            yield from _name(node, modules)
        elif isinstance(node, ast.Call):
            row = _row(node.func, modules)
            if row is not None:
                yield from _call(node, row, modules, version)
        elif isinstance(node, ast.BinOp):
            for side in (node.left, node.right):
                if isinstance(side, ast.Name) and (side.id in registers.get(id(node), ())):
                    yield Wrong("scalar", f"the register {side.id} is computed with", node.lineno)


def _modules(every: Sequence[ast.AST]) -> dict[str, str]:
    """The names under which a file has the modules of nki."""
    modules: dict[str, str] = {}
    for node in every:
        match node:
            case ast.Import(names=names):
                for alias in names:
                    if alias.name in (_ISA, _LANGUAGE) and alias.asname:
                        modules[alias.asname] = alias.name
            case ast.ImportFrom(module="nki", names=names):
                for alias in names:
                    if f"nki.{alias.name}" in (_ISA, _LANGUAGE):
                        modules[alias.asname or alias.name] = f"nki.{alias.name}"
    return modules


def _member(node: ast.expr, modules: dict[str, str]) -> tuple[str, str] | None:
    """Module and name of `nisa.dma_copy`."""
    match node:
        case ast.Attribute(value=ast.Name(id=alias), attr=name) if alias in modules:
            return modules[alias], name
    return None


def _row(function: ast.expr, modules: dict[str, str]) -> Row | None:
    member = _member(function, modules)
    return INSTRUCTION_ROWS.get(member[1]) if member and member[0] == _ISA else None


def _name(node: ast.Attribute, modules: dict[str, str]) -> Iterator[Wrong]:
    """Members of the modules and of their enumerations."""
    member = _member(node, modules)
    if member is not None:
        module, name = member
        known = _ISA_NAMES if module == _ISA else LANGUAGE_NAMES
        if name not in known:
            yield Wrong("signature", f"{module} has no {name}", node.lineno)
        return
    outer = _member(node.value, modules)
    members = ENUMERATIONS.get(outer[1]) if outer is not None and outer[0] == _ISA else None
    if outer is not None and members is not None and node.attr not in members:
        yield Wrong("signature", f"nisa.{outer[1]} has no {node.attr}", node.lineno)


def _call(node: ast.Call, row: Row, modules: dict[str, str], version: int) -> Iterator[Wrong]:
    """One instruction: its arguments, its operators, its engine."""
    if version < row.since:
        yield Wrong("version", f"{row.name} needs NeuronCore-v{row.since}", node.lineno)
    if any(isinstance(a, ast.Starred) for a in node.args) or any(
        k.arg is None for k in node.keywords
    ):
        return
    keywords = {k.arg: k.value for k in node.keywords if k.arg is not None and k.arg != "name"}
    try:
        given = row.signature.bind(*node.args, **keywords).arguments
    except TypeError as wrong:
        yield Wrong("signature", f"{row.name}: {wrong}", node.lineno)
        return
    for parameter, kind in row.operators.items():
        member = _member(given[parameter], modules) if parameter in given else None
        if member is None or member[0] != _LANGUAGE:
            continue
        operator = {"max": "maximum", "min": "minimum"}.get(member[1], member[1])
        if operator not in KINDS[kind]:
            yield Wrong(
                "operator",
                f"{row.name}: {parameter}=nl.{operator} is none of {', '.join(sorted(KINDS[kind]))}",
                node.lineno,
            )
        elif operator in ALU_ROWS and version < ALU_ROWS[operator].since:
            since = ALU_ROWS[operator].since
            yield Wrong("version", f"nl.{operator} needs NeuronCore-v{since}", node.lineno)
    match given.get("engine"):
        case ast.Attribute(value=value, attr=engine) if _member(value, modules) == (_ISA, "engine"):
            if engine not in (*row.engines, "unknown"):
                listed = ", ".join(row.engines) or "no other"
                yield Wrong(
                    "engine",
                    f"{row.name} does not run on nisa.engine.{engine} ({listed})",
                    node.lineno,
                )


def _registers(
    tree: ast.Module, every: Sequence[ast.AST], modules: dict[str, str]
) -> dict[int, frozenset[str]]:
    """By the sums and products of a file (their identities) the names of registers that they see."""
    looped = set()
    allocates = False
    for node in every:
        if isinstance(node, ast.Assign):
            allocates = allocates or any(_allocated(node, modules))
        elif isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            name = node.func.id if isinstance(node.func, ast.Name) else name
            if name in _LOOPS:
                looped |= {a.id for a in node.args if isinstance(a, ast.Name)}
    by_node: dict[int, frozenset[str]] = {}
    if not looped and not allocates:
        return by_node

    def visit(node: ast.AST, seen: frozenset[str]) -> None:
        if isinstance(node, ast.FunctionDef):
            own = {a.arg for a in node.args.args}
            seen = frozenset(seen - own) | (own if node.name in looped else set())
            seen |= {n for inner in node.body for n in _allocated(inner, modules)}
        elif isinstance(node, ast.BinOp):
            by_node[id(node)] = seen
        for child in ast.iter_child_nodes(node):
            visit(child, seen)

    visit(tree, frozenset())
    return by_node


def _allocated(node: ast.stmt, modules: dict[str, str]) -> Iterator[str]:
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=function)):
            if _member(function, modules) == (_ISA, "register_alloc"):
                yield name
