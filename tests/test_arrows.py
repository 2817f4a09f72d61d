"""The walls between the rooms, held file by file and in a fresh process.

dsl -> compiler <- codegen; runtime -> only the artifact's data, the reader of MLIR and the diagnostics.
Nothing in the compiler looks up, and codegen and runtime do not know each other.
"""

from __future__ import annotations

import ast
import functools
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = {"dsl": "dslc", "compiler": "dslc.compiler", "codegen": "dslc.codegen"}
FOLDERS["runtime"] = "dslc.runtime"
SOURCES = sorted(p for folder in FOLDERS for p in (ROOT / folder).rglob("*.py"))

# room -> what its files may import of dslc, by prefix; the face ties them all
ALLOWED = {
    "dslc.compiler": ("dslc.compiler",),
    "dslc.codegen": ("dslc.codegen", "dslc.compiler"),
    "dslc.runtime": (
        "dslc.runtime",
        "dslc.compiler.artifact",
        "dslc.compiler.diagnostics",
        "dslc.compiler.mlir",
    ),
}
# within the compiler: what each floor stands on, so that none needs one above it
GROUND = frozenset({"diagnostics", "interned"})
IR = GROUND | {"dtypes", "layout", "low_bit_format", "ir"}
FLOORS = {
    "mlir": frozenset(),
    "dtypes": GROUND,
    "layout": GROUND,
    "low_bit_format": GROUND | {"dtypes", "layout"},
    "ir": IR,
    "targets": GROUND | {"dtypes", "layout"},
    "analysis": IR | {"targets"},
    "passes": IR | {"targets", "analysis"},
    "cost": IR | {"targets", "analysis", "passes"},
    "interpreter": IR,
    "vector": IR | {"targets"},
}
# what a room's files never import from outside, at any depth
FOREIGN = {
    "dslc.compiler": ("lark", "click", "rich", "xdsl"),
    "dslc.codegen": ("lark", "click", "rich"),
    "dslc.runtime": ("lark", "click", "rich", "msgspec", "platformdirs", "llvmlite", "xdsl"),
}


def room_of(path: Path) -> str:
    return FOLDERS[path.relative_to(ROOT).parts[0]]


@functools.cache
def imports_of(path: Path) -> tuple[tuple[int, str], ...]:
    """Line and full name of everything that a file imports, inside functions too."""
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: a relative import"
            for alias in node.names:
                yield node.lineno, f"{node.module}.{alias.name}"


def within(name: str, prefixes: tuple[str, ...]) -> bool:
    return any(name == prefix or name.startswith(prefix + ".") for prefix in prefixes)


@pytest.mark.parametrize("room", sorted(ALLOWED))
def test_a_room_imports_only_what_it_may(room: str) -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in SOURCES
        if room_of(path) == room
        for line, name in imports_of(path)
        if (within(name, ("dslc",)) and not within(name, ALLOWED[room]))
        or within(name, FOREIGN[room])
    ]
    assert not wrong


@pytest.mark.parametrize("floor", sorted(FLOORS))
def test_a_floor_of_the_compiler_stands_on_those_below(floor: str) -> None:
    allowed = tuple(f"dslc.compiler.{name}" for name in (*FLOORS[floor], floor))
    own = ROOT / "compiler" / floor
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in (sorted(own.rglob("*.py")) if own.is_dir() else [own.with_suffix(".py")])
        for line, name in imports_of(path)
        if within(name, ("dslc",)) and not within(name, allowed)
    ]
    assert not wrong


def test_a_pass_knows_no_list_that_it_is_in() -> None:
    rooms = ROOT / "compiler" / "passes"
    wrong = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in rooms.rglob("*.py")
        if "pass_lists" not in path.parts
        for line, name in imports_of(path)
        if within(name, ("dslc.compiler.passes.pass_lists",))
    ]
    assert not wrong


def test_no_file_imports_a_folder_by_its_bare_name() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in SOURCES
        for line, name in imports_of(path)
        if within(name, tuple(FOLDERS))
    ]
    assert not wrong


def loaded_by(statement: str) -> set[str]:
    """The top-level modules and the modules of dslc that a statement loads in a fresh process."""
    code = (
        f"import json, sys\n{statement}\n"
        "names = {n if n.startswith('dslc.') else n.partition('.')[0] for n in sys.modules}\n"
        "print(json.dumps(sorted(names)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    return set(json.loads(done.stdout))


HEAVY = {"lark", "click", "rich", "msgspec", "platformdirs", "llvmlite", "xdsl", "hypothesis"}


def test_the_runtime_loads_no_compiler() -> None:
    files = sorted((ROOT / "runtime").glob("*.py"))
    names = ["dslc.runtime", *(f"dslc.runtime.{f.stem}" for f in files if f.stem != "__init__")]
    loaded = loaded_by("import " + ", ".join(names))
    assert not loaded & HEAVY
    rest = {
        n
        for n in loaded
        if n.startswith("dslc.compiler.") and not within(n, ALLOWED["dslc.runtime"])
    }
    assert not rest


def test_compiling_for_a_gpu_loads_no_interpreter() -> None:
    loaded = loaded_by("import dslc.machines.cuda, dslc.codegen.cuda.lowering, dslc.compiler.cost")
    assert not any(within(n, ("dslc.compiler.interpreter",)) for n in loaded)


def test_importing_dslc_is_light() -> None:
    loaded = loaded_by("import dslc")
    assert not loaded & (HEAVY | {"numpy", "ml_dtypes"})


def test_the_command_line_starts_with_click_alone() -> None:
    loaded = loaded_by("import dslc.cli.main")
    assert not loaded & (HEAVY - {"click"} | {"numpy", "ml_dtypes"})
    assert not any(n.startswith(("dslc.compiler", "dslc.frontend")) for n in loaded)


class _Imports(ast.NodeVisitor):
    """The modules that a file imports when it runs, inside functions too; types alone do not count."""

    def __init__(self, modules: dict[str, Path]) -> None:
        self._modules = modules
        self.found: set[str] = set()

    def visit_If(self, node: ast.If) -> None:
        if not (isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"):
            self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> None:
        self.found |= {alias.name for alias in node.names}

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            full = f"{node.module}.{alias.name}"
            self.found.add(full if full in self._modules else str(node.module))


def cycles(graph: dict[str, set[str]]) -> list[set[str]]:
    """The groups of modules that reach each other (Tarjan, SIAM Journal on Computing 1, 1972)."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[set[str]] = []

    def visit(module: str) -> None:
        number[module] = low[module] = len(number)
        stack.append(module)
        for other in graph[module]:
            if other not in number:
                visit(other)
            if other in stack:
                low[module] = min(low[module], low[other])
        if low[module] == number[module]:
            at = stack.index(module)
            found.append(set(stack[at:]))
            del stack[at:]

    for module in graph:
        if module not in number:
            visit(module)
    return [group for group in found if len(group) > 1]


def test_cycles_are_found() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a", "e"}, "e": {"d"}, "f": set[str]()}
    assert sorted(map(sorted, cycles(graph))) == [["b", "c"], ["d", "e"]]


def test_no_modules_import_each_other() -> None:
    modules = {}
    for path in SOURCES:
        parts = path.relative_to(ROOT / path.relative_to(ROOT).parts[0]).with_suffix("").parts
        own = parts[:-1] if parts[-1] == "__init__" else parts
        modules[".".join((room_of(path), *own))] = path
    graph = {}
    for name, path in modules.items():
        visitor = _Imports(modules)
        visitor.visit(ast.parse(path.read_text(encoding="utf-8")))
        graph[name] = {m for m in visitor.found if m in modules and m != name}
    assert not cycles(graph), "\n".join(", ".join(sorted(group)) for group in cycles(graph))
