"""A package's header is C and C++ whatever the docstrings and parameters of its kernels are."""

from __future__ import annotations

import subprocess

import pytest
from dslc.codegen.c_interface.forms import Interface
from dslc.codegen.c_interface.module import header
from dslc.codegen.hip.compilers import compilers
from dslc.compiler.artifact import Param

from support.hip.toolchain import needs_clang

WORDS = ("int", "class", "stream", "operator", "and", "x", "int_", "ε")


@needs_clang
@pytest.mark.parametrize("language", ["c", "c++"])
def test_names_and_docs_are_no_words_of_the_language(language: str) -> None:
    params = tuple(Param(n, "f32", "in", ("N",) if n == "x" else None) for n in WORDS)
    made = Interface("k", "p_k", "*/ int broken; /* \\\nnext", params, ("N",), ())
    text = header("p", "1.0.0", [made]).replace("#include", "//").replace("#pragma", "//")
    types = "typedef int int32_t; typedef long int64_t; typedef unsigned char uint8_t;\n"
    types += "typedef unsigned short uint16_t; typedef unsigned long uint64_t;\n"
    command = [*next(compilers()).clang, "-fsyntax-only", "-Wall", "-Werror", "-x", language, "-"]
    subprocess.run([*command], input=(types + text).encode(), check=True)
