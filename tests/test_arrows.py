"""The walls between the rooms, held file by file and in a fresh process.

dsl -> compiler <- codegen; runtime -> only the artifact's data and the diagnostics. Nothing in the
compiler looks up, and codegen and runtime do not know each other.
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
    "dslc.runtime": ("dslc.runtime", "dslc.compiler.artifact", "dslc.compiler.diagnostics"),
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


def test_importing_dslc_is_light() -> None:
    loaded = loaded_by("import dslc")
    assert not loaded & (HEAVY | {"numpy", "ml_dtypes"})


def test_the_command_line_starts_with_click_alone() -> None:
    loaded = loaded_by("import dslc.cli.main")
    assert not loaded & (HEAVY - {"click"} | {"numpy", "ml_dtypes"})
    assert not any(n.startswith(("dslc.compiler", "dslc.frontend")) for n in loaded)
