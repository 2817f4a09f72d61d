"""Packages from specifications: what is in them, when they are built, and that bytes are the same."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from dslc.codegen.cuda.tools.nvrtc import load_nvrtc
from dslc.compiler.diagnostics import DiagnosticError
from dslc.packaging import build_package
from dslc.runtime.package import PackageFolder

from support.packages import SOURCE, failure, write_spec

CPU = ["aarch64:all", "nki:trn2", "interp"]
SETS = '[[kernel]]\nsource = "rows.tile"\nkernel = "scale"\n'


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DSLC_CACHE_DIR", str(tmp_path / "cache"))


def needs_nvrtc() -> None:
    try:
        load_nvrtc()
    except DiagnosticError as missing:
        pytest.skip(str(missing))


def tree(folder: Path) -> dict[str, bytes]:
    files = (p for p in folder.rglob("*") if p.is_file())
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in files}


def test_kernels_times_targets_times_dims(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    spec = write_spec(
        tmp_path / "src", ["interp"], SETS + "dims = { N = [16, 32] }\nset = { BM = [4, 8] }\n"
    )
    outcome = build_package(
        spec, tmp_path / "out", jobs=0, report=lambda done, total: seen.append((done, total))
    )
    (kernel,) = outcome.package.index.kernels
    made = [(s.fixed["N"], s.config["BM"]) for s in kernel.specializations]
    assert made == [(16, 4), (16, 8), (32, 4), (32, 8)]
    assert seen[-1] == (4, 4)
    assert (outcome.built, outcome.specializations) == (True, 4)


def test_every_family_of_machines(tmp_path: Path) -> None:
    pytest.importorskip("ziglang")
    targets = ["hip:gfx950", "aie:npu2", "nki:trn2", "aarch64:all", "interp"]
    spec = write_spec(
        tmp_path / "src", targets, '[[kernel]]\nsource = "add.tile"\ndims = { N = 64 }\n'
    )
    (tmp_path / "src" / "add.tile").write_text(
        "kernel add(x: f32[N], y: f32[N], z: out f32[N]):\n"
        "    for n in parallel(range(0, N, 32)):\n"
        "        z[n : n + 32] = x[n : n + 32] + y[n : n + 32]\n"
    )
    outcome = build_package(spec, tmp_path / "out", jobs=0)
    (kernel,) = outcome.package.index.kernels
    assert {s.target for s in kernel.specializations} == {*targets}
    suffixes = {Path(name).suffix for name in tree(tmp_path / "out")}
    assert suffixes >= {".hsaco", ".hip", ".mlir", ".py", ".so", ".ir"}


def test_every_file_is_in_the_manifest(tmp_path: Path) -> None:
    outcome = build_package(write_spec(tmp_path / "src", ["interp"]), tmp_path / "out", jobs=0)
    files = tree(tmp_path / "out")
    assert {*outcome.package.index.files, "package.json"} == {*files}
    origins = outcome.package.index.origins
    assert [*origins.sources] == ["rows.tile"]
    assert origins.toolchains == {"interp": ""}


def test_the_same_sources_give_the_same_bytes_elsewhere_and_later(tmp_path: Path) -> None:
    """In two folders, at other times, with other users' homes, hash seeds and no shared cache."""
    found = []
    for number, name in enumerate(["here", "a longer way/there"]):
        folder = tmp_path / name
        spec = write_spec(folder, CPU, consumers='["c"]')
        os.utime(folder / "rows.tile", (1_000_000 * number, 1_000_000 * number))
        environment = {
            **os.environ, "HOME": str(folder), "USER": f"user{number}", "LOGNAME": f"user{number}",
            "DSLC_CACHE_DIR": str(folder / "cache"), "PYTHONHASHSEED": str(number),
            "TZ": f"UTC+{number}",
        }  # fmt: skip
        command = [sys.executable, "-m", "dslc", "package", str(spec), "-o", str(folder / "out")]
        subprocess.run(command, env=environment, check=True, capture_output=True, timeout=100)
        found.append(tree(folder / "out"))
    assert found[0] == found[1]
    assert not [n for n, content in found[0].items() if str(tmp_path).encode() in content]


def test_nothing_is_done_where_nothing_has_changed(tmp_path: Path) -> None:
    spec = write_spec(tmp_path / "src", ["interp"])
    first = build_package(spec, tmp_path / "out", jobs=0)
    again = build_package(spec, tmp_path / "out", jobs=0)
    assert (first.built, again.built) == (True, False)
    assert again.package.digest == first.package.digest
    assert (
        build_package(spec, tmp_path / "out", jobs=0, force=True).package.digest
        == first.package.digest
    )


@pytest.mark.parametrize("change", ["source", "specification", "damage", "tuning", "new file"])
def test_what_has_changed_is_built(
    tmp_path: Path, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = write_spec(tmp_path / "src", ["interp"], SETS + "dims = { N = 16 }\n", include='["lib"]')
    build_package(spec, tmp_path / "out", jobs=0)
    if change == "source":
        source = tmp_path / "src" / "rows.tile"
        source.write_text(source.read_text() + "\n# a remark\n")
    elif change == "specification":
        spec.write_text(spec.read_text().replace("1.2.0", "1.2.1"))
    elif change == "damage":
        (tmp_path / "out" / "package.json").unlink()
        shutil.rmtree(tmp_path / "out")
    elif change == "tuning":
        monkeypatch.setattr("dslc.packaging.inputs._tuning", lambda cache: "other results")
        spec.write_text(spec.read_text().replace('"interp"', '"interp", "cuda:sm_80"'))
        needs_nvrtc()
    else:
        # Where an import of rows would look before another place.
        (tmp_path / "src" / "lib").mkdir()
        shutil.copy(tmp_path / "src" / "rows.tile", tmp_path / "src" / "lib")
    assert build_package(spec, tmp_path / "out", jobs=0).built


def test_only_what_depends_on_a_change_is_compiled(tmp_path: Path) -> None:
    text = SETS + 'dims = { N = 16 }\n\n[[kernel]]\nsource = "other.tile"\ndims = { N = 16 }\n'
    spec = write_spec(tmp_path / "src", ["interp"], text)
    other = tmp_path / "src" / "other.tile"
    other.write_text(SOURCE.replace("scale", "rescale").replace("weigh", "reweigh"))
    build_package(spec, tmp_path / "out", jobs=0)

    def entries() -> int:
        return sum(1 for _ in (tmp_path / "cache" / "v1" / "entries").glob("*/*"))

    before = entries()
    other.write_text("# a line more\n" + other.read_text())
    assert build_package(spec, tmp_path / "out", jobs=0).built
    assert entries() - before == 2  # the kernels of the other source


def test_what_is_compiled_stands_in_the_cache_that_was_chosen(tmp_path: Path) -> None:
    spec = write_spec(tmp_path / "src", ["interp"])
    build_package(spec, tmp_path / "out", jobs=0, cache=tmp_path / "chosen")
    assert any((tmp_path / "chosen" / "v1" / "entries").glob("*/*"))
    assert not (tmp_path / "cache" / "v1").exists()


def test_all_that_is_wrong_is_said_once(tmp_path: Path) -> None:
    spec = write_spec(tmp_path / "src", ["interp"])
    source = tmp_path / "src" / "rows.tile"
    source.write_text(source.read_text().replace("* by", "* bye"))
    found = failure(lambda: build_package(spec, tmp_path / "out", jobs=0))
    assert found.loc is not None
    assert (Path(found.loc.file).resolve(), found.loc.line) == (source.resolve(), 7)
    assert not (tmp_path / "out").exists()


def test_a_name_means_one_kernel(tmp_path: Path) -> None:
    text = (
        SETS
        + 'dims = { N = 16 }\n\n[[kernel]]\nsource = "rows.tile"\nkernel = "weigh"\nname = "scale"\n'
    )
    spec = write_spec(tmp_path / "src", ["interp"], text)
    assert failure(lambda: build_package(spec, tmp_path / "out", jobs=0)).code == "DSL0835"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('version = "1.2.0"', "verson = 1", "verson"),
        ('version = "1.2.0"', 'version = "new"', "no version"),
        ('"interp"', '"cuda"', "no target"),
        ('"interp"', "", "no targets"),
        ('name = "rows"', 'name = "../rows"', "no name"),
        ('source = "rows.tile"', 'source = "/rows.tile"', "no path"),
        ('source = "rows.tile"', 'source = "cols.tile"', "no file"),
        ('source = "rows.tile"', 'source = "rows.tile"\nkernel = "scal"', "no kernel"),
        ('source = "rows.tile"', 'source = "rows.tile"\nname = "scal"', "which of"),
        ("[16, 32]", "[]", "no values"),
        ("[16, 32]", '"many"', "Expected"),
        ("[[kernel]]", "[[kernel", ""),
        ('version = "1.2.0"', 'ptx = "cuda:sm_90a"', "plain architecture"),
        ('version = "1.2.0"', 'ptx = "cuda:sm_80"', "none of its targets"),
    ],
)
def test_a_wrong_specification_says_what_is_wrong(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    spec = write_spec(tmp_path / "src", ["interp"])
    text = spec.read_text()
    assert old in text
    spec.write_text(text.replace(old, new))
    found = failure(lambda: build_package(spec, tmp_path / "out", jobs=0))
    assert found.code == "DSL0917"
    assert said in found.message


def test_weights_that_two_forms_store_in_two_ways_are_refused(tmp_path: Path) -> None:
    needs_nvrtc()
    examples = Path(__file__).parents[2] / "examples"
    folder = tmp_path / "src"
    text = (
        '[[kernel]]\nsource = "gemm_quantized.tile"\nkernel = "gemm_quantized"\n'
        "dims = { N = 256, K = 512 }\nset = { BM = 16, BN = [128, 64], BK = [128, 32] }\n"
    )
    spec = write_spec(folder, ["cuda:sm_90a"], text)
    shutil.copy(examples / "gemm_quantized.tile", folder)
    found = failure(lambda: build_package(spec, tmp_path / "out", jobs=2))
    assert found.code == "DSL0835"
    assert "stores w in one way" in found.message


def test_ptx_and_what_a_gpu_without_it_gets(tmp_path: Path) -> None:
    needs_nvrtc()
    spec = write_spec(
        tmp_path / "src",
        ["cuda:sm_80", "cuda:sm_90a"],
        SETS + "dims = { N = 16 }\nunaligned = true\n",
        ptx='"cuda:sm_80"',
    )
    package = build_package(spec, tmp_path / "out", jobs=0).package
    (kernel,) = package.index.kernels
    made = [(s.target, s.forms, bool(s.alignments)) for s in kernel.specializations]
    assert made == [
        ("cuda:sm_80", ("cubin", "ptx"), False),
        ("cuda:sm_80", ("cubin", "ptx"), True),
        ("cuda:sm_90a", ("cubin",), False),
        ("cuda:sm_90a", ("cubin",), True),
    ]
    first = kernel.specializations[0]
    artifact = PackageFolder(tmp_path / "out").artifact(kernel, first)
    assert b".target sm_80" in artifact.files["sm_80.ptx"]
