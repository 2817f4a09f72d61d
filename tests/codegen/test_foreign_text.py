"""What a program's author wrote stays text in every emitted language.

Whatever docstrings, names and the texts of asserts hold, the emitted file is read as that of harmless
words but for these words.
"""

from __future__ import annotations

import ast
import builtins
import json
import keyword
import re
import subprocess
from typing import Any

import dslc
import numpy as np
import pytest
from dslc.cli.main import run
from dslc.codegen.aarch64.tools.toolchain import link
from dslc.codegen.c_family.one_file import one_file
from dslc.codegen.hip.compilers import compilers
from dslc.compiler.ir.text.parser import parse_program
from dslc.frontend import parse_tile

from support.aarch64 import needs_assembler
from support.hip.toolchain import needs_clang, understood

DOCS = (
    "ends with \\",
    "ends in older C ??/",
    'ends with "',
    'closes """\n\nimport os\nos.abort()\n"""',
    '"""',
    'after a line\n"""\nabort()',
    'a\\n\\"\\"\\"\\',
    "*/ int x; /*",
    "// \\\n#error joined",
    "nul \0 and \r carriage \x0c \x1b[31m \u2028 \u202e",
    "#define float int",
    "%s %n {0} {name} ${{ github.token }} $(id) `id`",
    'extern "C" __global__ void',
    "größe ε",
)
NAMES = (
    "main", "int", "asm", "register", "template", "this", "min", "max", "expf", "blockIdx", "NULL",
    "INFINITY", "float4", "atomicAdd", "half", "printf", "and_eq", "clipped", "nl", "nki", "range",
    "str", "DEVICE", "T", "block_index", "größe",
)  # fmt: skip
SOURCE = """
kernel {name}(x: f32[N], n: i32, y: out f32[N]):
    {doc}
    for i in parallel(range(0, N, 64)):
        assert n > 0, {text}
        y[i : i + 64] = x[i : i + 64] * 2.0
"""
TARGETS = ("cuda:sm_80", "hip:gfx942", "nki:trn2", "aie:npu2", "aarch64:bf16")
ALL = "\n".join(DOCS)


def source(doc: str = "harmless", text: str = "harmless", name: str = "k") -> str:
    """A program whose docstring and assert have these texts, written as JSON writes them."""
    return SOURCE.format(name=name, doc=json.dumps(doc), text=json.dumps(text))


def emitted(target: str, program: str, form: str = "final") -> str:
    """What a target's generator makes of the program for one size that is no multiple of the tile."""
    if target.startswith("aie"):  # assert has no words there
        program = re.sub(r"\n +assert .*", "", program)
    library = dslc.compile(program, target, define={"N": 100}, cache=False)
    (kernel,) = library.values()
    return kernel.specialize().source(form)


def python_tree(text: str) -> str:
    """A Python module's tree without the contents of its strings."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = ""
    return ast.dump(tree)


def c_tokens(text: str) -> list[str]:
    """What clang's preprocessor leaves of a text: no comments, and strings without their contents."""
    command = [*next(compilers()).clang, "-E", "-P", "-x", "c++", "-"]
    text = re.sub(r"#include <.*>\n", "", text)
    done = subprocess.run(command, input=text.encode(), capture_output=True, check=True)
    return re.sub(r'"(\\.|[^"\\\n])*"', '""', done.stdout.decode()).split()


@pytest.mark.parametrize("doc", DOCS)
def test_docs_and_texts_are_strings_of_python(doc: str) -> None:
    harmless = python_tree(emitted("nki:trn2", source()))
    assert python_tree(emitted("nki:trn2", source(doc, doc))) == harmless


def test_a_docstring_says_what_was_written() -> None:
    for doc in DOCS:
        functions = ast.parse(emitted("nki:trn2", source(doc))).body
        said = [
            ast.get_docstring(f, clean=False) for f in functions if isinstance(f, ast.FunctionDef)
        ]
        assert dslc.compile(source(doc), cache=False)["k"].doc in said


@needs_clang
@pytest.mark.parametrize("target", ["cuda:sm_80", "hip:gfx942"])
def test_docs_and_texts_are_comments_and_strings_of_c(target: str) -> None:
    harmless = c_tokens(emitted(target, source()))
    for doc in (ALL, DOCS[0], DOCS[1]):
        assert c_tokens(emitted(target, source(doc, doc))) == harmless


@needs_clang
def test_docs_in_a_header_are_comments() -> None:
    harmless = c_tokens(emitted("aarch64:bf16", source(), "header"))
    for doc in DOCS:
        assert c_tokens(emitted("aarch64:bf16", source(doc), "header")) == harmless


def test_docs_are_comments_of_assembly() -> None:
    needs_assembler()
    harmless = emitted("aarch64:bf16", source())
    hostile = emitted("aarch64:bf16", source(ALL, ALL))
    assert [s for s in hostile.split("\n") if not s.startswith("//")] == [
        s for s in harmless.split("\n") if not s.startswith("//")
    ]
    assert link({"k": hostile}, "library") == link({"k": harmless}, "library")


def test_docs_are_strings_of_flydsl() -> None:
    pytest.importorskip("ziglang")
    harmless = python_tree(emitted("hip:gfx942", source(), "flydsl"))
    for doc in DOCS:
        assert python_tree(emitted("hip:gfx942", source(doc, doc), "flydsl")) == harmless


@pytest.mark.parametrize("doc", DOCS)
def test_ir_and_source_read_back_as_they_were(doc: str, capsys: Any, tmp_path: Any) -> None:
    file = tmp_path / "k.tile"
    file.write_text(source(doc, doc), encoding="utf-8")
    assert run(["build", str(file), "-t", "interp", "-D", "N=100", "--emit", "ir"]) == 0
    assert parse_program(capsys.readouterr().out).doc == dslc.compile(file, cache=False)["k"].doc
    assert run(["build", str(file), "-t", "interp", "-D", "N=100", "--emit", "tile"]) == 0
    assert (
        parse_tile(capsys.readouterr().out, "").items
        == parse_tile(file.read_text("utf-8"), "").items
    )


@needs_clang
def test_kernels_of_any_name_are_c() -> None:
    texts = [emitted("hip:gfx942", source(name=name)) for name in NAMES]
    understood(one_file(texts), "gfx942")


def test_kernels_of_any_name_are_cuda() -> None:
    """Compiled as one file, so that each meets what NVRTC knows by itself."""
    nvrtc = pytest.importorskip("dslc.codegen.cuda.tools.toolchain")
    texts = [emitted("cuda:sm_80", source(name=name)) for name in NAMES]
    assert len(nvrtc.compile_cubin(one_file(texts), "sm_80").resources) == len(NAMES)


def test_kernels_of_any_name_are_symbols() -> None:
    needs_assembler()
    texts = [emitted("aarch64:bf16", source(name=name)) for name in NAMES]
    link({f"k{n}": text for n, text in enumerate(texts)}, "library")


@pytest.mark.parametrize("form", ["aie-mlir", "aie-explicit"])
def test_kernels_and_tensors_of_any_name_are_mlir(form: str) -> None:
    """Read by another's parser; the module of docstrings and texts is that without them."""
    pytest.importorskip("xdsl")
    from dslc.codegen.aie.dialect import parse_module

    for name in NAMES[:: 2 if form == "aie-mlir" else 5]:
        text = emitted("aie:npu2", re.sub(r"\by\b", name, source(name=name)), form)
        assert text.isascii()
        parse_module(text)
    harmless = parse_module(emitted("aie:npu2", source(), form))
    for doc in (ALL, DOCS[0]):
        hostile = parse_module(emitted("aie:npu2", source(doc, doc), form))
        assert hostile.is_structurally_equivalent(harmless)


@pytest.mark.parametrize("name", [n for n in NAMES if n in dir(builtins) or keyword.iskeyword(n)])
def test_kernels_of_pythons_names_run_as_python(name: str) -> None:
    """With a ragged slice, whose bounds are `min` and `max` of Python."""
    x, y = np.ones(100, np.float32), np.zeros(100, np.float32)
    (kernel,) = dslc.compile(source(name=name), "nki:trn2", cache=False).values()
    kernel(x, 1, y)
    assert (y == 2).all()
