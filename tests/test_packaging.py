"""What is built is what is in the tree: the package list, the wheel and the source archive."""

from __future__ import annotations

import importlib.metadata
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
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


def test_the_version_stands_in_one_place() -> None:
    import dslc

    assert "version" not in project()["project"]
    assert project()["tool"]["setuptools"]["dynamic"]["version"]["attr"] == "dslc.__version__"
    assert importlib.metadata.version("dslc") == dslc.__version__


def test_every_python_that_is_named_is_built_for() -> None:
    listed = [c.rpartition(" ")[2] for c in project()["project"]["classifiers"] if ":: 3." in c]
    built = project()["tool"]["cibuildwheel"]["build"]
    assert built == [f"cp{v.replace('.', '')}-*" for v in listed]
    assert project()["project"]["requires-python"] == f">={listed[0]}"


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


KERNEL = """
kernel scale(x: f32[N], y: out f32[N]):
    for n in parallel(range(0, N, 256)):
        y[n : n + 256] = x[n : n + 256] * 2.0
"""
SMOKE = """
import importlib.util, pathlib, sys
import numpy as np
import dslc
from dslc.codegen.flydsl.toolchain import compile_flydsl, is_installed

assert pathlib.Path(dslc.__file__).is_relative_to(sys.prefix), dslc.__file__
has = importlib.util.find_spec
targets = ["interp", "nki:trn2", "aie:npu2"]
targets += ["hip:gfx950", "aarch64:bf16"] if has("ziglang") else []
targets += ["cuda:sm_80"] if has("nvidia") else []
x = np.arange(1000, dtype=np.float32)
for target in targets:
    library = dslc.compile("scale.tile", target, define={"N": 1000}, cache=False)
    made = library.scale.specialize()
    assert made.source("final")
    library.save(target.replace(":", "_"), [made])
    if target in ("interp", "nki:trn2", "aie:npu2"):
        for kernel in (library.scale, dslc.load(target.replace(":", "_")).scale):
            y = np.zeros_like(x)
            kernel(x, y)
            assert (y == 2 * x).all(), target
    if target.startswith("hip") and is_installed():
        assert "scale_kernel" in str(compile_flydsl(made.source("flydsl"), "gfx950"))
print(*targets)
"""


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment with the wheel; what it depends on is this one's."""
    place = tmp_path_factory.mktemp("installed")
    venv.create(place, symlinks=True)
    own = Path(sysconfig.get_path("purelib", vars={"base": str(place)}))
    (wheel,) = built.glob("*.whl")
    pip = [sys.executable, "-m", "pip", "--python", str(place / "bin" / "python")]
    command = [*pip, "install", "-q", "--no-deps", "--no-index", "--no-compile", str(wheel)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    # A folder in a .pth file is searched, but its own .pth files (an editable dslc) are not read.
    (own / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return place / "bin"


def test_the_installed_wheel_works_without_the_tree(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "scale.tile").write_text(KERNEL)
    plain = {"PATH": f"{installed}:/usr/bin:/bin", "HOME": str(tmp_path)}

    def run(*command: str) -> str:
        done = subprocess.run(
            command, cwd=tmp_path, env=plain, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    assert "ok scale.tile" in run(
        "dslc", "check", "scale.tile", "-t", "aarch64:all", "-t", "aie:npu2", "-D", "N=512"
    )
    assert "scale" in run("dslc", "run", "scale.tile", "-D", "N=512", "--verify")
    assert "interp nki:trn2 aie:npu2" in run("python", "-c", SMOKE)
