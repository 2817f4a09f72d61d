"""The libraries of a package: loaded by TVM-FFI, laid out as Hugging Face's `kernels` has it."""

from __future__ import annotations

import ast
import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest
from dslc.codegen.aarch64.tools.assemblers import assemblers
from dslc.codegen.c_interface.forms import Interface
from dslc.codegen.cuda.tools.locate import find_library
from dslc.loading import load
from dslc.machines.machine import CInterface
from dslc.packaging import build_package
from dslc.packaging.consumers import _hugging_face
from dslc.packaging.spec import PackageTable
from dslc.runtime.package import PackageFolder

from support.packages import write_spec

KERNEL = '[[kernel]]\nsource = "rows.tile"\ndims = { N = 16 }\n'
PACKS = ["weigh", "weigh_pack_w", "weigh_packed_bytes_w"]


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if find_library("nvrtc") is None or not any(a.name == "zig" for a in assemblers()):
        pytest.skip("needs NVRTC and ziglang")
    folder = tmp_path_factory.mktemp("consumers")
    spec = write_spec(
        folder / "src", ["cuda:sm_80", "aarch64:dotprod"], KERNEL, consumers='["huggingface"]'
    )
    build_package(spec, folder / "out", jobs=0, cache=False)
    return folder / "out"


def test_libraries_for_each_host(package: Path) -> None:
    PackageFolder(package).check()
    found = {p.relative_to(package).as_posix() for p in package.rglob("lib/*/*.so")}
    assert found == {
        "lib/x86_64-linux/librows_cuda.so",
        "lib/aarch64-linux/librows_cuda.so",
        "lib/aarch64-linux/librows_aarch64.so",
    }


def test_a_library_needs_no_other(package: Path) -> None:
    """Neither TVM-FFI nor a C library by name: the process that loads it has one."""
    for library in package.rglob("*.so"):
        if "specializations" not in library.parts:
            assert b"libtvm_ffi" not in library.read_bytes()
            assert b"libc.so" not in library.read_bytes()


def test_tvm_ffi_loads_it(package: Path) -> None:
    tvm_ffi = pytest.importorskip("tvm_ffi", reason="needs apache-tvm-ffi")
    module = tvm_ffi.load_module(str(package / "lib" / "x86_64-linux" / "librows_cuda.so"))
    with pytest.raises(TypeError, match="takes 3 arguments"):
        module["scale"]()
    codes = np.random.default_rng(0).integers(0, 16, (48, 16)).astype(np.uint8)
    packed = np.zeros(module["weigh_packed_bytes_w"](tvm_ffi.from_dlpack(codes), 80), np.uint8)
    module["weigh_pack_w"](tvm_ffi.from_dlpack(codes), tvm_ffi.from_dlpack(packed), 80)
    expected = load(package, "cuda:sm_80").weigh.pack("w", codes, M=4)
    np.testing.assert_array_equal(packed, expected.reshape(-1))
    with pytest.raises(ValueError, match="packed has 383 bytes, expected 384 packed ones"):
        module["weigh_pack_w"](tvm_ffi.from_dlpack(codes), tvm_ffi.from_dlpack(packed[1:]), 80)


def test_a_variant_of_hugging_face_is_python_that_loads_the_library(package: Path) -> None:
    pytest.importorskip("tvm_ffi", reason="needs apache-tvm-ffi")
    (folder,) = (package / "build").glob("tvm-ffi01-cu*-x86_64-linux")
    described = importlib.util.spec_from_file_location("rows_variant", folder / "__init__.py")
    assert described is not None
    assert described.loader is not None
    module = importlib.util.module_from_spec(described)
    described.loader.exec_module(module)
    assert module.__all__ == ["scale", *PACKS]
    with pytest.raises(TypeError, match="takes 3 arguments"):
        module.scale()


def test_a_variant_is_python_whatever_kernels_are_called() -> None:
    """Each name is asked of the library as it is written, and found under one that Python allows."""
    names = ["scale", "class", "größe", "_module", "_Path", "_tvm_ffi", "None", "print", "__all__"]
    table = PackageTable("rows", ["aarch64:dotprod"], version="1.2.0")
    called = CInterface(("aarch64-linux",), "cpu", lambda: "cpu")
    interfaces = [Interface(n, "symbol", None, (), (), ()) for n in names]
    files = _hugging_face(table, called, "aarch64-linux", "librows.so", b"", interfaces)
    (text,) = (content for path, content in files.items() if path.endswith("__init__.py"))
    module = ast.parse(text)
    assert isinstance(module.body[0], ast.Expr), "a docstring"
    *head, functions = module.body[1:4], module.body[4:-1]
    assert [type(s) for s in head[0]] == [ast.ImportFrom, ast.Import, ast.Assign]
    asked = {ast.unparse(s.targets[0]): s.value for s in functions if isinstance(s, ast.Assign)}
    assert len(asked) == len(functions) == len(names)
    assert [ast.literal_eval(v.slice) for v in asked.values()] == names  # type: ignore[attr-defined]
    assert not asked.keys() & {"_module", "_Path", "_tvm_ffi"}
    exported = module.body[-1]
    assert isinstance(exported, ast.Assign)
    assert ast.literal_eval(exported.value) == list(asked)


def test_hugging_face_reads_the_layout(package: Path) -> None:
    variants = pytest.importorskip("kernels.variants", reason="needs kernels")
    from kernels._rust import Metadata  # type: ignore[import-not-found]

    for folder in (package / "build").iterdir():
        assert variants.parse_variant(folder.name).variant_str == folder.name
        assert Metadata.read_from_file(folder / "metadata.json").name.python_name == "rows"
        assert json.loads((folder / "metadata.json").read_text())["version"] == 1
