"""The tree-sitter grammar: built, and beside the compiler's own reader on every source here."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dslc.frontend import tree
from dslc.frontend.tile_parser import parse_tile
from dslc.frontend.tokens import OWN_KEYWORDS

from support.editors.sentences import sentences

tree_sitter = pytest.importorskip("tree_sitter")

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "editors" / "tree-sitter-tile"
FOLDERS = ("examples", "tests/corpus", "dsl/std", "dsl/models", "tests/support")
SOURCES = sorted(p for folder in FOLDERS for p in (ROOT / folder).rglob("*.tile"))


@pytest.fixture(scope="session")
def language(tmp_path_factory: pytest.TempPathFactory) -> Any:
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("there is no C compiler here")
    library = tmp_path_factory.mktemp("tree_sitter") / "tile.so"
    sources = [HERE / "src" / name for name in ("parser.c", "scanner.c")]
    subprocess.run(
        [
            compiler,
            "-O0",
            "-Wall",
            "-Werror",
            "-shared",
            "-fPIC",
            "-I",
            HERE / "src",
            *sources,
            "-o",
            library,
        ],
        check=True,
    )
    function = ctypes.CDLL(str(library)).tree_sitter_tile
    function.restype = ctypes.c_void_p
    capsule = ctypes.pythonapi.PyCapsule_New
    capsule.restype = ctypes.py_object
    capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return tree_sitter.Language(capsule(function(), b"tree_sitter.Language", None))


def parsed(language: Any, text: str) -> Any:
    return tree_sitter.Parser(language).parse(text.encode()).root_node


def nodes(node: Any) -> Iterator[Any]:
    yield node
    for child in node.named_children:
        yield from nodes(child)


# What both trees call a statement, by the names of the compiler's.
KINDS = {
    tree.For: "for", tree.While: "while", tree.If: "if", tree.Assign: "assignment",
    tree.AugAssign: "augmented_assignment", tree.Return: "return", tree.Assert: "assert",
    tree.Kernel: "kernel", tree.Program: "program", tree.Function: "function",
    tree.Require: "require", tree.Tune: "tune", tree.Const: "const", tree.Import: "import",
    tree.Call: "call", tree.Attribute: "attribute", tree.Slice: "slice",
    tree.Conditional: "conditional",
}  # fmt: skip


def own(node: Any) -> Iterator[tuple[int, str]]:
    """The line and kind of each node of the compiler's tree that the other has as well."""
    if isinstance(node, tuple | list):
        for part in node:
            yield from own(part)
        return
    fields = getattr(type(node), "__struct_fields__", None) or getattr(
        type(node), "__dataclass_fields__", {}
    )
    if not type(node).__module__.endswith("frontend.tree"):
        return
    kind = KINDS.get(type(node))
    if kind is not None and node.loc is not None:
        yield node.loc.line, kind
    for name in fields:
        yield from own(getattr(node, name))


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.stem)
def test_it_reads_what_the_compiler_reads(language: Any, path: Path) -> None:
    text = path.read_text()
    root = parsed(language, text)
    assert not root.has_error
    expected = sorted(set(own(parse_tile(text, str(path)))))
    kinds = set(KINDS.values())
    named = [(n, "if" if n.type == "elif" else n.type) for n in nodes(root)]
    found = sorted({(n.start_point[0] + 1, kind) for n, kind in named if kind in kinds})
    assert [x for x in found if x[1] != "import"] == [x for x in expected if x[1] != "import"]


@pytest.mark.parametrize(
    "text",
    [
        "kernel k(x: f32[N]):\n    y = (1 +\n",
        "kernel k(x f32[N]):\n    pass\n",
        "kernel k(x: f32[N])\n    pass\n",
        "kernel k(x: f32[N]):\npass\n",
    ],
)
def test_what_is_wrong_is_an_error(language: Any, text: str) -> None:
    assert parsed(language, text).has_error


def test_it_reads_every_production_of_the_grammar(language: Any) -> None:
    texts = list(sentences())
    assert len(texts) > 150
    assert [t for t in texts if parsed(language, t).has_error] == []


def test_a_tune_may_leave_its_values_open(language: Any) -> None:
    root = parsed(language, "kernel k(x: f32[N]):\n    tune BN\n    tune BM = 1 | 2\n    pass\n")
    assert not root.has_error
    assert [n.type for n in nodes(root)].count("tune") == 2


def test_lines_and_blocks(language: Any) -> None:
    text = (
        "kernel k(x: f32[N]):\n    for i in parallel(range(N)):\n        a = x[\n  i\n        ]\n"
        "        # of the loop\n    # of the kernel\n    pass; pass\n# of nobody\nconst B = 1"
    )
    root = parsed(language, text)
    assert not root.has_error
    (loop,) = (n for n in nodes(root) if n.type == "for")
    comments = [n for n in nodes(root) if n.type == "comment"]
    assert [
        c.text.decode() for c in comments if loop.start_byte < c.start_byte < loop.end_byte
    ] == ["# of the loop"]
    assert root.named_children[-1].type == "const"


def test_queries_name_what_there_is(language: Any) -> None:
    for path in sorted((HERE / "queries").glob("*.scm")):
        query = tree_sitter.Query(language, path.read_text())
        assert query.pattern_count > 0
    text = (ROOT / "examples" / "gemm.tile").read_text()
    query = tree_sitter.Query(language, (HERE / "queries" / "highlights.scm").read_text())
    captured = tree_sitter.QueryCursor(query).captures(parsed(language, text))
    assert {n.text.decode() for n in captured["type.builtin"]} >= {"f32"}
    assert {n.text.decode() for n in captured["function"]} >= {"gemm"}


def test_every_keyword_of_the_language_is_the_grammars() -> None:
    words = set(re.findall(r'"(\w+)"', (HERE / "grammar.js").read_text()))
    assert words >= OWN_KEYWORDS


def test_what_is_generated_is_of_this_grammar() -> None:
    """Every rule that is written is in the generated parser, and the other way round."""
    written = set(re.findall(r"^    (\w+): \(", (HERE / "grammar.js").read_text(), re.MULTILINE))
    generated = re.findall(
        r'^    "(\w+)": \{$', (HERE / "src/grammar.json").read_text(), re.MULTILINE
    )
    assert written == set(generated)
