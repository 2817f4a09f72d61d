"""Kernels compiled ahead of time: saved, loaded, refused when they are not as they were written."""

import subprocess
import sys

import dslc
import numpy as np
import pytest

from support.packages import failure, rewrite

SOURCE = '''
kernel rows(x: f32[M, N], y: out f32[M, N]):
    """Doubles rows."""
    tune BM = 16 | 4

    for m in parallel(range(0, M, BM)):
        y[m : m + BM, 0 : N] = x[m : m + BM, 0 : N] * 2

kernel unpacked(w: u4[K, N] packed row, y: out u8[K, N]):
    for k in parallel(range(0, K, 8)):
        y[k : k + 8, 0 : 8] = cast(w[k : k + 8, 0 : 8], u8)

program both(x: f32[M, 8], y: out f32[M, 8]):
    t = buffer(f32, [M, 8])
    rows(x, t)
    rows(t, y, BM=4)
'''


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch):
    monkeypatch.setenv("DSLC_CACHE", "off")


@pytest.fixture
def lib():
    return dslc.compile(SOURCE)


@pytest.fixture
def package(tmp_path, lib):
    path = tmp_path / "package"
    rows = lib.rows.specialize
    lib.save(
        path,
        [rows(N=8), rows(N=8, BM=4), rows(N=5), lib.unpacked.specialize(), lib.both.specialize()],
    )
    return path


def arrays(m, n):
    x = np.random.default_rng(0).standard_normal((m, n)).astype(np.float32)
    return x, np.zeros_like(x)


def test_a_loaded_library_runs(package):
    lib = dslc.load(package)
    assert list(lib) == ["rows", "unpacked", "both"]
    for n in (8, 5):
        x, y = arrays(6, n)
        lib.rows(x, y)
        np.testing.assert_array_equal(y, 2 * x)
    x, y = arrays(6, 8)
    lib.both(x, y)
    np.testing.assert_array_equal(y, 4 * x)
    codes = np.arange(80, dtype=np.uint8).reshape(10, 8) % 16
    y = np.zeros_like(codes)
    lib.unpacked(lib.unpacked.pack("w", codes), y)
    np.testing.assert_array_equal(y, codes)


def test_a_loaded_kernel_tells_what_it_is(package, lib):
    rows = dslc.load(str(package)).rows
    assert rows.parameters == lib.rows.parameters
    assert rows.doc == "Doubles rows."
    assert (rows.dims, dict(rows.tunes)) == (("M", "N"), {"BM": (16, 4)})
    one = rows.specialize(N=8, BM=4)
    assert one.artifact == lib.rows.specialize(N=8, BM=4).artifact
    assert one.source() == lib.rows.specialize(N=8, BM=4).source()
    assert one.stages == ("final",)
    assert failure(lambda: rows.tile).code == "DSL0745"
    assert failure(lambda: one.source("ir")).code == "DSL0745"


def test_the_first_that_fits_is_taken(package):
    rows = dslc.load(package).rows
    assert dict(rows.specialize(N=8).config) == {"BM": 16}
    assert dict(rows.specialize(N=8, BM=4).config) == {"BM": 4}
    assert dict(rows.specialize(N=5).fixed) == {"N": 5}


@pytest.mark.parametrize(
    ("shape", "choices"), [((6, 7), {}), ((6, 5), {"BM": 4}), ((6, 8), {"BM": 8})]
)
def test_a_call_that_nothing_fits_says_what_there_is(package, shape, choices):
    rows = dslc.load(package).rows
    found = failure(lambda: rows(*arrays(*shape), **choices))
    assert found.code == "DSL0747"
    assert found.hint == "it has (N=8, BM=16), (N=8, BM=4), (N=5, BM=16)"


def test_by_default_every_kernel_is_saved(tmp_path):
    define = {"N": 8, "K": 8, "M": 6}
    dslc.compile(SOURCE, define=define).save(tmp_path / "p")
    lib = dslc.load(tmp_path / "p")
    assert list(lib) == ["rows", "unpacked", "both"]
    assert dict(lib.both.specialize().fixed) == {"M": 6}


def test_dims_that_must_be_fixed_are_asked_for(tmp_path, lib):
    assert failure(lambda: lib.save(tmp_path / "p")).code == "DSL0230"
    assert not (tmp_path / "p").exists()


def test_loading_needs_no_front_end(package):
    code = (
        "import sys, dslc, numpy as np\n"
        f"lib = dslc.load({str(package)!r})\n"
        "x = np.ones((3, 8), np.float32); y = np.zeros_like(x)\n"
        "lib.rows(x, y); assert (y == 2).all()\n"
        "print([m for m in sys.modules if m.startswith(('lark', 'dslc.frontend', 'dslc.checker'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_errors_of_a_loaded_kernel_name_the_source_line(tmp_path):
    source = 'kernel f(x: f32[N]):\n    assert x[0] < 1.0, "too large"\n'
    dslc.compile(source).save(tmp_path / "p")
    x = np.ones(3, np.float32)
    found = failure(lambda: dslc.load(tmp_path / "p").f(x))
    assert (found.loc.file, found.loc.line) == ("<source>", 2)
    assert "too large" in found.message


# Refusals


def test_a_package_replaces_a_package_and_nothing_else(tmp_path, lib):
    one = [lib.rows.specialize(N=8)]
    lib.save(tmp_path / "p", one)
    lib.save(tmp_path / "p", [lib.rows.specialize(N=9)])
    assert dict(dslc.load(tmp_path / "p").rows.specialize().fixed) == {"N": 9}
    (tmp_path / "empty").mkdir()
    lib.save(tmp_path / "empty", one)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    assert failure(lambda: lib.save(tmp_path / "mine", one)).code == "DSL0831"
    (tmp_path / "file").write_text("")
    assert failure(lambda: lib.save(tmp_path / "file", one)).code == "DSL0831"
    assert failure(lambda: lib.save(tmp_path / "none", [])).code == "DSL0831"
    assert failure(lambda: lib.save(tmp_path / "file" / "p", one)).code == "DSL0831"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["empty", "file", "mine", "p"]


def test_every_flipped_byte_is_refused(package):
    files = [f for f in package.rglob("*") if f.is_file()]
    assert len(files) == 11
    for file in files:
        whole = file.read_bytes()
        for at in (0, len(whole) // 2, len(whole) - 1):
            file.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
            assert failure(lambda: dslc.load(package)).code in ("DSL0803", "DSL0830")
        file.write_bytes(whole)
    dslc.load(package)


def first(index):
    return index["kernels"][0]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda index: index.update(format=3), "DSL0801"),
        (lambda index: index.update(convention=2), "DSL0801"),
        (lambda index: index.update(extra=1), "DSL0802"),
        (lambda index: index.pop("targets"), "DSL0802"),
        (lambda index: first(index)["specializations"][0].update(key="../../etc"), "DSL0802"),
        (lambda index: first(index)["specializations"][0].update(target="aie:npu2"), "DSL0802"),
        (lambda index: first(index)["parameters"][0].update(dtype="f99"), "DSL0802"),
        (lambda index: first(index)["parameters"][0].update(mode="away"), "DSL0802"),
        (lambda index: first(index)["parameters"][0].update(name="w"), "DSL0802"),
        (lambda index: first(index)["parameters"].pop(), "DSL0802"),
        (lambda index: first(index).update(tunes={}), "DSL0802"),
        (lambda index: first(index).update(name="../x"), "DSL0802"),
        (lambda index: first(index)["specializations"][0]["fixed"].update(N=7), "DSL0802"),
        (lambda index: index["files"].update({"../x": {"size": 0, "sha256": "0" * 64}}), "DSL0803"),
        (lambda index: index["files"].update({"x": {"size": -1, "sha256": "0" * 64}}), "DSL0802"),
        (lambda index: index["files"].update({"x": {"size": 0, "sha256": "0" * 64}}), "DSL0803"),
    ],
)
def test_a_strange_index_is_refused(package, change, code):
    rewrite(package, change)
    assert failure(lambda: dslc.load(package)).code == code


@pytest.mark.parametrize("content", [b"", b"[" * 100_000, b"\xff", b"null", b"{}"])
def test_what_is_no_index_is_refused(package, content):
    (package / "package.json").write_bytes(content)
    assert failure(lambda: dslc.load(package)).code == "DSL0830"


def test_what_is_no_package_is_refused(tmp_path):
    assert failure(lambda: dslc.load(tmp_path)).code == "DSL0830"
    assert failure(lambda: dslc.load(tmp_path / "nowhere")).code == "DSL0830"
    assert failure(lambda: dslc.load(__file__)).code == "DSL0830"
