"""Wheels of packages: installed by pip, the same bytes twice, refused once they are changed."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import dslc.runtime
import numpy as np
import pytest
from dslc.packaging import build_package
from dslc.packaging.wheel import write_wheel
from dslc.runtime.package import PackageFolder

from support.packages import failure, rewrite, write_spec


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> PackageFolder:
    folder = tmp_path_factory.mktemp("wheel")
    spec = write_spec(folder / "src", ["interp"])
    return build_package(spec, folder / "rows.dslc", jobs=0, cache=False).package


def test_the_same_package_gives_the_same_wheel(package: PackageFolder, tmp_path: Path) -> None:
    first, again = (write_wheel(package, tmp_path / n) for n in ("a", "b"))
    assert first.name == "rows-1.2.0-py3-none-any.whl"
    assert first.read_bytes() == again.read_bytes()


def test_its_module_is_python_whatever_kernels_are_called(
    package: PackageFolder, tmp_path: Path
) -> None:
    """An index that others wrote may name them as Python names other things; the rest is refused."""
    copy = tmp_path / "rows.dslc"
    shutil.copytree(package.path, copy)
    names = ["größe", "class"]
    rewrite(
        copy, lambda index: [k.update(name=n) for k, n in zip(index["kernels"], names, strict=True)]
    )
    folder = PackageFolder(copy)
    with zipfile.ZipFile(write_wheel(folder, tmp_path)) as wheel:
        module = ast.parse(wheel.read("rows/__init__.py"))
    said = ast.get_docstring(module, clean=False)
    assert said == f"Compiled kernels: {', '.join(k.name for k in folder.index.kernels)}."
    assert [type(s) for s in module.body[1:]] == [
        ast.ImportFrom, ast.Assign, ast.Assign, ast.FunctionDef,
    ]  # fmt: skip
    assert ast.unparse(module.body[2]) == f"DIGEST = {folder.digest!r}"


def test_pip_installs_it(package: PackageFolder, tmp_path: Path) -> None:
    wheel = write_wheel(package, tmp_path)
    site = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "-q"]
    subprocess.run([*pip, "--target", str(site), str(wheel)], check=True, capture_output=True)
    code = f"import sys; sys.path.append({str(site)!r}); import rows; print(*rows.load())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "scale weigh\n"
    (file,) = sorted(site.rglob("program.ir"))[:1]
    file.write_bytes(file.read_bytes() + b" ")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "DSL0803" in done.stderr


@pytest.mark.parametrize("change", [{"name": "../rows"}, {"version": "1/../../2"}])
def test_a_name_that_leads_elsewhere_is_refused(
    package: PackageFolder, tmp_path: Path, change: dict[str, str]
) -> None:
    other = Path(shutil.copytree(package.path, tmp_path / "p" / "other"))
    rewrite(other, lambda index: index.update(change))
    found = failure(lambda: write_wheel(PackageFolder(other), tmp_path / "p" / "wheels"))
    assert found.code == "DSL0831"
    assert [p.name for p in (tmp_path / "p").iterdir()] == ["other"]


def test_every_file_is_recorded(package: PackageFolder, tmp_path: Path) -> None:
    with zipfile.ZipFile(write_wheel(package, tmp_path)) as archive:
        recorded = archive.read("rows-1.2.0.dist-info/RECORD").decode().splitlines()
        assert {line.partition(",")[0] for line in recorded} == {*archive.namelist()}
        assert archive.testzip() is None


def test_python_sources_are_installed_and_nothing_is_added_to_them(tmp_path: Path) -> None:
    """pip compiles every .py that it installs: those of the package have other names meanwhile."""
    text = '[[kernel]]\nsource = "rows.tile"\nkernel = "scale"\ndims = { M = 8, N = 16 }\n'
    spec = write_spec(tmp_path / "src", ["nki:trn2"], text)
    package = build_package(spec, tmp_path / "out", jobs=0, cache=False).package
    site = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "-q", "--target"]
    wheel = write_wheel(package, tmp_path)
    subprocess.run([*pip, str(site), str(wheel)], check=True, capture_output=True)
    installed = PackageFolder(site / "rows" / "package")
    installed.check()
    assert installed.digest == package.digest
    x, y = np.ones((8, 16), np.float32), np.zeros((8, 16), np.float32)
    dslc.runtime.load(installed.path, simulate="nki:trn2").scale(x, 3.0, y)
    np.testing.assert_array_equal(y, 3 * x)
    (kept,) = installed.path.rglob("*.py_")
    kept.with_name(kept.name[:-1]).write_bytes(kept.read_bytes())
    assert "twice" in failure(installed.check).message
    kept.unlink()
    installed.check()
    (installed.path / "more.py_").write_bytes(b"")
    assert "not listed" in failure(installed.check).message
