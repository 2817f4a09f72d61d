"""A package's folder is what was written, or refused: bytes, names, links, sizes, the manifest."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.packaging import build_package
from dslc.runtime.package import PackageFolder
from hypothesis import given, settings
from hypothesis import strategies as st

from support.packages import failure, rewrite, write_spec

REFUSALS = {"DSL0801", "DSL0802", "DSL0803", "DSL0830"}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("package")
    build_package(write_spec(folder / "src", ["interp"]), folder / "rows.dslc", jobs=0, cache=False)
    return folder / "rows.dslc"


@pytest.fixture
def package(built: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(built, tmp_path / "rows.dslc"))


def check(package: Path) -> None:
    folder = PackageFolder(package)
    folder.check()
    for kernel in folder.index.kernels:
        for made in kernel.specializations:
            folder.artifact(kernel, made)


def test_a_package_as_it_was_written_passes(package: Path) -> None:
    check(package)
    assert list(PackageFolder(package).problems()) == []


def test_every_changed_byte_is_refused(package: Path) -> None:
    """A sample of all bytes of all files, each changed to another value."""
    draw = random.Random(9)
    files = sorted(p for p in package.rglob("*") if p.is_file())
    places = [(f, at) for f in files for at in range(f.stat().st_size)]
    for file, at in draw.sample(places, 400):
        whole = file.read_bytes()
        file.write_bytes(whole[:at] + bytes([whole[at] ^ draw.randrange(1, 256)]) + whole[at + 1 :])
        assert failure(lambda: check(package)).code in REFUSALS
        file.write_bytes(whole)
    check(package)


@pytest.mark.parametrize(
    "what", ["cut", "longer", "empty", "gone", "extra", "folder", "link", "pipe"]
)
def test_a_file_that_is_not_as_it_was_is_named(package: Path, what: str, tmp_path: Path) -> None:
    (file,) = sorted(package.rglob("program.ir"))[:1]
    name = file.relative_to(package).as_posix()
    whole = file.read_bytes()
    if what == "cut":
        file.write_bytes(whole[:-1])
    elif what == "longer":
        file.write_bytes(whole + b"\n")
    elif what == "empty":
        file.write_bytes(b"")
    elif what == "gone":
        file.unlink()
    elif what == "extra":
        name = "specializations/more.py"
        (package / name).write_text("import os")
    else:
        file.unlink()
        if what == "folder":
            file.mkdir()
        elif what == "link":
            (tmp_path / "same").write_bytes(whole)
            file.symlink_to(tmp_path / "same")
        else:
            os.mkfifo(file)
    found = failure(lambda: check(package))
    assert found.code == "DSL0803"
    assert name in found.message


def test_a_name_as_in_a_wheel_stands_for_the_file(package: Path) -> None:
    """pip would compile Python sources under their own names; one of the two is there."""
    (file,) = sorted(package.rglob("program.ir"))[:1]
    whole, source = file.read_bytes(), file.with_suffix(".py")
    at, prefix = (f.relative_to(package).as_posix() for f in (file, file.parent))
    rewrite(package, lambda i: i["files"].update({f"{prefix}/program.py": i["files"].pop(at)}))
    kept = file.rename(f"{source}_")
    PackageFolder(package).check()
    source.write_bytes(kept.read_bytes())
    assert "is there twice" in failure(lambda: PackageFolder(package).check()).message
    assert whole == PackageFolder(package).read(f"{prefix}/program.py")


def test_a_linked_folder_within_is_refused(package: Path, tmp_path: Path) -> None:
    (package / "specializations").rename(tmp_path / "elsewhere")
    (package / "specializations").symlink_to(tmp_path / "elsewhere")
    assert failure(lambda: check(package)).code == "DSL0803"


def test_a_link_to_the_package_itself_is_the_callers_affair(package: Path, tmp_path: Path) -> None:
    (tmp_path / "latest").symlink_to(package)
    check(tmp_path / "latest")


def test_what_is_no_package(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nowhere", Path(__file__)):
        assert failure(lambda path=path: PackageFolder(path)).code == "DSL0830"


def test_folders_in_folders_without_end_are_refused(package: Path) -> None:
    (package / "/".join("a" * 1 for _ in range(60))).mkdir(parents=True)
    assert "too deep" in failure(lambda: check(package)).message


def test_a_key_twice_and_a_number_that_is_none_are_refused(package: Path) -> None:
    import hashlib

    file = package / "package.json"
    body = file.read_bytes().split(b'"package": ', 1)[1][:-2]
    for changed in (
        body.replace(b'"format": 2', b'"format": 2, "format": 2'),
        body.replace(b'"format": 2', b'"format": NaN'),
    ):
        head = b'{"digest": "%s",\n"package": ' % hashlib.sha256(changed).hexdigest().encode()
        file.write_bytes(head + changed + b"}\n")
        assert failure(lambda: check(package)).code in ("DSL0801", "DSL0830")


def test_an_index_of_another_artifact_is_refused(package: Path) -> None:
    rewrite(package, lambda i: i["kernels"][0]["specializations"][0]["fixed"].update(N=7))
    assert failure(lambda: check(package)).code == "DSL0802"


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("name", "rows\x1b[2J"), ("version", "1\r2"), ("name", "rows\u202etxt"),
        ("targets", ["interp\nRequires-Dist: other"]), ("targets", ["cuda:sm_\xb2"]),
    ],
)  # fmt: skip
def test_texts_that_a_terminal_would_obey_are_refused(
    package: Path, what: str, text: object
) -> None:
    rewrite(package, lambda i: i.update({what: text}))
    assert failure(lambda: check(package)).code == "DSL0802"


def test_documentation_may_have_lines(package: Path) -> None:
    rewrite(
        package, lambda i: i["kernels"][0].update(doc="First line.\n\tSecond, \xfc\u20ac \\u001b.")
    )
    PackageFolder(package)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(max_examples=150)
@given(data=st.data())
def test_whatever_stands_in_the_index_there_is_no_traceback(
    built: Path, data: st.DataObject
) -> None:
    """One value anywhere in the index becomes another: it is refused, or means as much as before."""
    import json

    from dslc.runtime.package.index import parse_index

    text = (built / "package.json").read_bytes()
    index = json.loads(text)["package"]
    holder, key = index, None
    while isinstance(holder, dict | list) and holder:
        keys = sorted(holder) if isinstance(holder, dict) else list(range(len(holder)))
        key = data.draw(st.sampled_from(keys))
        inner = holder[key]
        if not isinstance(inner, dict | list) or not inner or data.draw(st.booleans()):
            break
        holder = inner
    holder[key] = data.draw(json_values)
    import hashlib

    body = json.dumps(index).encode()
    head = b'{"digest": "%s",\n"package": ' % hashlib.sha256(body).hexdigest().encode()
    codes = []
    try:
        parse_index(head + body + b"}\n")
    except DiagnosticError as refused:
        codes = [d.code for d in refused.diagnostics]
    assert {*codes} <= REFUSALS


@settings(max_examples=300)
@given(text=st.binary(max_size=300))
def test_any_bytes_are_refused_as_an_index(text: bytes) -> None:
    from dslc.runtime.package.index import parse_index

    assert failure(lambda: parse_index(text)).code in REFUSALS
