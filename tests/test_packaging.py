"""What is built is what is in the tree: the package list, the wheel and the source archive."""

from __future__ import annotations

import importlib.metadata
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
ROOMS = {"dsl": "dslc", "codegen": "dslc.codegen"}
ROOMS |= {"compiler": "dslc.compiler", "runtime": "dslc.runtime"}


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def module_path(file: Path) -> str:
    """Where a source of the tree lies inside the installed package."""
    room, *rest = file.relative_to(ROOT).parts
    return "/".join([*ROOMS[room].split("."), *rest])


def sources(suffixes: tuple[str, ...] = (".py", ".typed", ".lark", ".json")) -> list[Path]:
    found = [p for room in ROOMS for p in (ROOT / room).rglob("*") if p.suffix in suffixes]
    return [p for p in found if "__pycache__" not in p.parts] + [ROOT / "dsl" / "py.typed"]


def test_the_package_list_is_the_tree() -> None:
    listed = project()["tool"]["setuptools"]["packages"]
    tree = {
        module_path(init.parent / "x").removesuffix("/x").replace("/", ".")
        for room in ROOMS
        for init in (ROOT / room).rglob("__init__.py")
    }
    assert sorted(listed) == sorted(tree)


def test_every_folder_with_sources_is_a_package() -> None:
    bare = {p.parent for p in sources((".py",)) if not (p.parent / "__init__.py").exists()}
    assert not bare


def test_the_version_is_one() -> None:
    import dslc

    assert dslc.__version__ == project()["project"]["version"]


def setuptools_can_build() -> bool:
    try:
        version = importlib.metadata.version("setuptools")
    except importlib.metadata.PackageNotFoundError:
        return False
    return int(version.partition(".")[0]) >= 77


def checkout(target: Path) -> Path:
    """A clean copy of what the repository tracks or would track."""
    names = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split("\0")  # fmt: skip
    for name in names:
        if name and (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target / name)
    return target


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the source archive, built from a clean checkout."""
    if not setuptools_can_build():
        pytest.skip("building needs setuptools 77 or newer (pip install 'dslc[dev]')")
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("a clean checkout needs git and its repository")
    place = tmp_path_factory.mktemp("packaging")
    clean = checkout(place / "checkout")
    out = place / "built"
    out.mkdir()
    build = (
        "import sys; from setuptools import build_meta as b\n"
        "out = sys.argv[1]  # setuptools writes its own arguments there\n"
        "b.build_wheel(out); b.build_sdist(out)"
    )
    done = subprocess.run(
        [sys.executable, "-c", build, str(out)],
        cwd=clean, capture_output=True, text=True, check=False, timeout=100,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return out


def test_the_wheel_holds_every_source(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    missing = {module_path(p) for p in sources()} - names
    assert not missing
    assert not [n for n in names if n.startswith(("tests/", "examples/", "dsl/", "compiler/"))]
    assert any(n.endswith("/LICENSE") for n in names)


def test_the_source_archive_can_build_again(built: Path) -> None:
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        names = {n.partition("/")[2] for n in tar.getnames()}
    missing = {p.relative_to(ROOT).as_posix() for p in sources()} - names
    assert not missing
    assert {"pyproject.toml", "README.md", "LICENSE"} <= names


def test_the_wheel_alone_imports(built: Path, tmp_path: Path) -> None:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    probe = (
        "import dslc, dslc.runtime, dslc.cli.main, pathlib\n"
        "print(pathlib.Path(dslc.__file__).parent, dslc.__version__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe],
        cwd=tmp_path, env={"PYTHONPATH": str(tmp_path), "PATH": ""},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[0] == str(tmp_path / "dslc")
