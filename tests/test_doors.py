"""One door a machine: what differs by family stands in the family's own files, and nobody else asks.

A test on a family's name is a string: the name itself, or the name with a colon that a target's begins
with. No file has such a string but those of the machines themselves.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from dslc.compiler.targets import TARGETS

ROOT = Path(__file__).resolve().parents[1]
FAMILIES = frozenset(t.family for t in TARGETS.values())
NAMES = FAMILIES | {f"{f}:" for f in FAMILIES}

# Where a machine is described: its data, its lists of passes, its generator, its runtime and its door.
OWN = (
    "compiler/targets",
    "compiler/passes/pass_lists",
    "codegen",
    "dsl/machines",
    *(f"runtime/{f}{more}" for f in FAMILIES for more in ("", "_emulator", "_simulator")),
    *(f"dsl/cli/tables/{f}.py" for f in FAMILIES),
    "runtime/package/cpu.py",
    "runtime/package/gpu.py",
    "runtime/package/amd.py",
)
# What else may have such a string, and why.
OTHERS = {
    "dsl/packaging/writing.py": "nki is the form of a file, too",
    "runtime/native/features.py": "what the operating system calls the CPU",
    "runtime/native/loading.py": "what the operating system calls the CPU",
    "runtime/dlpack.py": "what DLPack calls devices",
    "runtime/memory/__init__.py": "the runtime's own table of memories: it knows no door of dslc's",
    "runtime/package/places.py": "the runtime's own table of machines, for the same reason",
}


def strings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The strings of a file with their lines; of those that are put together, the parts."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def asked(text: str) -> list[tuple[int, str]]:
    return [(line, value) for line, value in strings(ast.parse(text)) if value in NAMES]


def files() -> list[str]:
    paths = (p for room in ("dsl", "compiler", "runtime") for p in (ROOT / room).rglob("*.py"))
    return sorted(p.relative_to(ROOT).as_posix() for p in paths)


def is_own(file: str) -> bool:
    return any(file == own or file.startswith(f"{own}/") for own in OWN)


def test_only_a_machine_s_own_files_know_it_by_its_name() -> None:
    wrong = [
        f"{file}:{line}: {value!r}"
        for file in files()
        if not is_own(file) and file not in OTHERS
        for line, value in asked((ROOT / file).read_text(encoding="utf-8"))
    ]
    assert not wrong, "declare it in dsl/machines/machine.py, and say it in the machine's own file"


def test_every_exception_is_one() -> None:
    idle = [f for f in OTHERS if not asked((ROOT / f).read_text(encoding="utf-8"))]
    assert not idle


@pytest.mark.parametrize(
    "text",
    [
        'x = 1 if target.family == "nki" else 2',
        'y = name.startswith("cuda:")',
        'z = family in {"hip", "x"}',
        'match family:\n    case "aie":\n        pass',
        'w = {"aarch64": 1}[family]',
    ],
)
def test_a_question_by_name_is_found(text: str) -> None:
    assert asked(text)
