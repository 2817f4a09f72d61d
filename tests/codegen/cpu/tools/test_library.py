"""Libraries of artifacts: of a kernel, of a program, of several CPUs; and what LLVM refuses."""

from __future__ import annotations

import dataclasses
import importlib.util
import platform
import sys
from typing import Any

import numpy as np
import pytest
from dslc.codegen.cpu.tools.library import (
    archive_of,
    assembly_of,
    join,
    library_of,
    with_assembly,
    with_library,
)
from dslc.compiler.artifact import UNKNOWN, Artifact, Param, Signature
from dslc.compiler.diagnostics import DiagnosticError
from dslc.runtime.native import HostProcessor, NativeKernel, host_features
from dslc.runtime.native.loading import LIBRARY

TEXT = """
target triple = "x86_64-unknown-linux-gnu"
define i32 @"NAME"(ptr %words, i64 %begin, i64 %end, ptr %scratch) {
  %x = load ptr, ptr %words
  %to = getelementptr float, ptr %x, i64 %begin
  %old = load float, ptr %to
  %new = fadd float %old, VALUE
  store float %new, ptr %to
  ret i32 0
}
"""
here = pytest.mark.skipif(
    platform.machine() != "x86_64" or "avx2" not in host_features(), reason="needs AVX2"
)


def add(target: str = "cpu:x86-64-v3", value: str = "1.0") -> Artifact:
    kind = target.partition(":")[2].replace("-", "_")
    text = TEXT.replace("NAME", f"add__{kind}").replace("VALUE", value)
    launch: Any = {
        "variant": kind,
        "features": ["avx2"] if kind == "x86_64_v3" else ["avx2", "avx512f"],
        "arguments": [{"kind": "tensor", "name": "x"}],
        "scratch": 0,
        "asserts": [],
        "grid": [],
    }
    signature = Signature((Param("x", "f32", "inout", ()),), ())
    return Artifact(
        "add", "kernel", target, f"add__{kind}", signature, UNKNOWN, (),
        launch=launch, files={"kernel.ll": text.encode()},
    )  # fmt: skip


def program() -> Artifact:
    """x + 1 + 2, by two kernels of one name."""
    one, two = add(value="1.0"), add(value="2.0")
    call: Any = {"tensors": {"x": "x"}, "dims": {}, "scalars": {}}
    return dataclasses.replace(
        one,
        kind="program",
        launch={
            "buffers": [],
            "kernels": [one.to_manifest(), two.to_manifest()],
            "calls": [{"kernel": 0, **call}, {"kernel": 1, **call}],
        },
        files={"0.kernel.ll": one.files["kernel.ll"], "1.kernel.ll": two.files["kernel.ll"]},
    )


def result(artifact: Artifact) -> float:
    x = np.zeros((), np.float32)
    NativeKernel(artifact, HostProcessor.get(), LIBRARY).launch({"x": x})
    return float(x)


@here
def test_of_a_kernel_and_of_a_program() -> None:
    assert result(with_library(add())) == 1
    assert result(with_library(program())) == 3


@here
def test_of_several_cpus_the_best_that_runs_here_is_taken() -> None:
    made = join([add(), add("cpu:x86-64-v4", "4.0")])
    assert result(made) == (4 if "avx512f" in host_features() else 1)


@pytest.mark.parametrize("target", ["cpu:x86-64-v3", "cpu:neoverse-n1"])
def test_for_macos_another_linker_makes_it(target: str) -> None:
    if sys.platform != "darwin" and importlib.util.find_spec("ziglang") is None:
        pytest.skip("needs ziglang")
    assert library_of(add(target), "macos").startswith(bytes.fromhex("cffaedfe"))


def test_assembly_takes_the_place_of_texts() -> None:
    (text,) = assembly_of(add()).values()
    assert "add__x86_64_v3:" in text
    assert [*with_assembly(add()).files] == ["kernel.s"]
    assert archive_of(program()).startswith(b"!<arch>\n")


def test_a_text_that_llvm_refuses() -> None:
    wrong = dataclasses.replace(add(), files={"kernel.ll": b"define i32 @f( { ret i32 0 }"})
    with pytest.raises(DiagnosticError, match=r"DSL0952.*LLVM refuses the text of add"):
        with_library(wrong)


def test_without_llvm_a_hint_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dslc.codegen.cpu.llvm.engine", None)
    monkeypatch.delattr("dslc.codegen.cpu.llvm.engine", raising=False)
    with pytest.raises(DiagnosticError) as failure:
        with_library(add())
    assert failure.value.diagnostics[0].code == "DSL0951"
    assert "pip install 'llvmlite" in str(failure.value.diagnostics[0].hint)
