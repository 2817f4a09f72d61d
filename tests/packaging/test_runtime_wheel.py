"""dslc-runtime: packages are loaded and run where there is no dslc, by NumPy alone."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import textwrap
from pathlib import Path

import numpy as np
import pytest
from dslc.packaging import build_package
from dslc.packaging.wheel import write_wheel
from dslc.runtime.package import PackageFolder

from support.packages import write_spec

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / ".ci" / "runtime_sources.py"


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runtime") / "project"
    subprocess.run([sys.executable, str(SCRIPT), str(folder)], check=True)
    return folder


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> PackageFolder:
    folder = tmp_path_factory.mktemp("package")
    spec = write_spec(folder / "src", ["cpu:x86-64-v3", "cpu:armv8-a"])
    return build_package(spec, folder / "rows.dslc", jobs=0).package


def run(site: Path, text: str) -> str:
    """What a program prints that finds NumPy and `site`, and no editable install."""
    numpy = Path(np.__file__).parents[1]
    text = f"import sys; sys.path[:0] = [{str(site)!r}, {str(numpy)!r}]\n" + textwrap.dedent(text)
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", text],
        check=False,
        capture_output=True,
        text=True,
        cwd=site,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


USE = """
    import numpy as np
    import dslc_runtime
    kernels = dslc_runtime.load({path!r})
    x, y = np.linspace(-1, 1, 64, dtype=np.float32).reshape(4, 16), np.empty((4, 16), np.float32)
    kernels.scale(x, 2.0, y)
    assert np.array_equal(y, 2 * x)
    try:
        kernels.scale(x, 2.0, y.astype(np.float64))
    except dslc_runtime.DiagnosticError as error:
        print(type(error).__module__, str(error)[:14])
    print([name for name in sys.modules if name.partition(".")[0] == "dslc"])
"""


SAID = ["dslc_runtime error[DSL0761]", "[]"]


def test_it_runs_a_package_without_dslc(sources: Path, package: PackageFolder) -> None:
    assert run(sources, USE.format(path=str(package.path))).split("\n") == SAID


def test_every_module_of_it_can_be_imported(sources: Path) -> None:
    names = [
        ".".join(p.relative_to(sources).with_suffix("").parts).removesuffix(".__init__")
        for p in (sources / "dslc_runtime").rglob("*.py")
    ]
    assert 60 < len(names) < 120
    text = f"import importlib\nfor name in {sorted(names)!r}: importlib.import_module(name)\n"
    loaded = (
        "print([n for n in sys.modules if n.partition('.')[0] in ('dslc', 'llvmlite', 'click')])"
    )
    assert run(sources, text + loaded) == "[]"


def test_a_wheel_of_kernels_takes_it(sources: Path, package: PackageFolder, tmp_path: Path) -> None:
    wheel = write_wheel(package, tmp_path)
    pip = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "-q"]
    site = tmp_path / "site"
    subprocess.run([*pip, "--target", str(site), str(wheel)], check=True, capture_output=True)
    text = (site / "rows-1.2.0.dist-info" / "METADATA").read_text()
    assert "Requires-Dist: dslc-runtime>=" in text
    load = f"sys.path.append({str(sources)!r})\nimport rows\nprint(type(rows.load()).__module__)"
    assert run(site, load) == "dslc_runtime.runtime.package.loading"


@pytest.mark.deep
def test_it_is_built_with_its_short_ways(
    sources: Path, package: PackageFolder, tmp_path: Path
) -> None:
    pip = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-build-isolation", "-q"]
    site = tmp_path / "site"
    subprocess.run([*pip, "--target", str(site), str(sources)], check=True)
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    for name in ("native/_calls", "cuda/_short"):
        assert (site / "dslc_runtime" / "runtime" / f"{name}{suffix}").exists()
    assert run(site, USE.format(path=str(package.path))).split("\n") == SAID
    assert run(site, "import dslc_runtime.runtime.native._calls as c; print(c.__name__)") == (
        "dslc_runtime.runtime.native._calls"
    )
