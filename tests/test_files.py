"""What every file of the project keeps to: its size, its name, its docstring."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from importlib.machinery import PathFinder
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("dsl", "compiler", "codegen", "runtime")
SOURCES = sorted(p for room in ROOMS for p in (ROOT / room).rglob("*.py"))
WRITTEN = SOURCES + sorted(p for d in ("tests", "examples") for p in (ROOT / d).rglob("*.py"))
LIMIT = 400
FILES_IN_A_FOLDER = 24
MODULE = r"(?:\w+/)*\w+\.py|dslc(?:\.\w+){2,}|(?:passes|analysis)(?:\.\w+)+"
FORBIDDEN = {"utils", "util", "helpers", "helper", "manager", "base", "common", "core", "misc"}


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_no_source_is_longer_than_the_limit() -> None:
    lengths = {name_of(p): len(p.read_text(encoding="utf-8").splitlines()) for p in WRITTEN}
    assert not {n: count for n, count in lengths.items() if count > LIMIT}


def test_no_folder_holds_too_much() -> None:
    counts = Counter(p.parent for p in WRITTEN if p.parent != ROOT / "examples")
    assert not {name_of(p): count for p, count in counts.items() if count > FILES_IN_A_FOLDER}


def test_tables_alone_keep_a_form_of_their_own() -> None:
    skips = sum(p.read_text(encoding="utf-8").count("# fmt: skip") for p in SOURCES)
    assert skips <= 150


def test_names_say_what_is_inside() -> None:
    assert not [
        name_of(p) for p in WRITTEN if FORBIDDEN & {p.stem, *p.relative_to(ROOT).parent.parts}
    ]


def test_every_source_opens_with_what_it_is() -> None:
    bare = [
        name_of(p)
        for p in SOURCES
        if not (ast.get_docstring(ast.parse(p.read_text(encoding="utf-8"))) or "").strip()
    ]
    assert not bare


def modules() -> dict[str, Path]:
    """Modules and packages by their dotted names and all ends of these: `dslc.a.b`, `a.b`, `b`."""
    found: dict[str, Path] = {}
    for path in SOURCES:
        room, *rest = path.relative_to(ROOT).with_suffix("").parts
        names = ["dslc", *([] if room == "dsl" else [room]), *rest]
        names = names[:-1] if names[-1] == "__init__" else names
        found |= {".".join(names[at:]): path for at in range(len(names))}
    return found


def exists(quoted: str, dotted: dict[str, Path]) -> bool:
    """Whether it is the end of a file's path, a module, or a module and a name in it."""
    if quoted.endswith(".py"):
        return any(p.as_posix().endswith(f"/{quoted}") for p in WRITTEN)
    parts = quoted.split(".")
    at = max(n for n in range(len(parts) + 1) if n == 0 or ".".join(parts[:n]) in dotted)
    home = dotted.get(".".join(parts[:at]))
    text = home.read_text(encoding="utf-8") if home else ""
    return at == len(parts) or parts[at] in re.findall(r"\w+", text)


def test_modules_that_prose_names_exist() -> None:
    """`file.py`, `dslc.room.file` and `passes.room.file`, wherever sources quote them."""
    dotted = modules()
    assert not [
        f"{name_of(path)}: {quoted}"
        for path in SOURCES
        for quoted in re.findall(f"`({MODULE})`", path.read_text(encoding="utf-8"))
        if not exists(quoted, dotted)
    ]


def test_no_packages_among_the_tests() -> None:
    assert not [name_of(p) for p in (ROOT / "tests").rglob("__init__.py")]


@pytest.mark.parametrize("name", ["README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md"])
def test_the_documents_stand_at_the_root(name: str) -> None:
    assert (ROOT / name).stat().st_size > 200


def test_no_folder_on_the_path_hides_a_module_of_another() -> None:
    """Which of two modules is imported would depend on the order in which tests are collected."""
    own = [Path(p) for p in dict.fromkeys(sys.path) if Path(p).is_relative_to(ROOT / "tests")]
    own += [p for p in (ROOT / "examples",) if str(p) in sys.path]
    foreign = [p for p in sys.path if not Path(p or ".").resolve().is_relative_to(ROOT)]
    seen: dict[str, Path] = {}
    for path in (file for folder in own for file in folder.glob("*.py")):
        if path.stem in ("conftest", "__init__") or path.stem.startswith("test_"):
            continue
        assert seen.setdefault(path.stem, path) == path
        hidden = PathFinder.find_spec(path.stem, foreign)
        assert hidden is None or hidden.origin is None, path


def test_nothing_that_was_built_is_among_the_sources() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("a tree without its history does not say what belongs to it")
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    built = (".cubin", ".so", ".o", ".a", ".whl", ".pyc", ".npz", ".safetensors")
    assert [p for p in listed if p.endswith(built) or ".dslc/" in p] == []
