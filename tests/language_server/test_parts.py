"""What the server knows of a source, without the protocol."""

from __future__ import annotations

from pathlib import Path

import pytest
from dslc.compiler.dtypes import all_dtypes
from dslc.language_server.document import Document
from dslc.language_server.fixes import fixes
from dslc.language_server.language import dtype_text, functions
from dslc.language_server.names import Kind, locals_of, resolve
from dslc.language_server.python_document import PythonDocument

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.tile"))
SOURCE = '''"""Doc."""

const A = 1
kernel first(x: f32[M, K // 2] strides (sm, 1), n: i32, y: out u4[M] packed row):
    const G = 2
    tune B = 16 | 32
    for m, k in parallel(range(0, M, B), range(K)):
        a, b = x[m, k], sum(x, axis=0)
        L = local(2).spatial(4)
        while n:
            a += A


def second(u, v=A):
    return u + v
'''


def document(text: str) -> Document:
    return Document(Path("/nowhere/t.tile"), text)


def test_a_change_keeps_the_other_parts():
    d = document(SOURCE)
    assert [p.text.split("\n")[0][:12] for p in d.parts] == [
        '"""Doc."""',
        "const A = 1",
        "kernel first",
        "def second(u",
    ]
    before = list(d.parts)
    d.update(SOURCE.replace("const A = 1", "\n\nconst A = 12"))
    assert [p is q for p, q in zip(d.parts, before, strict=True)] == [False, False, True, True]
    assert d.starts == [0, 4, 5, 15]


def test_an_item_knows_its_names():
    part = document(SOURCE).parts[2]
    kinds = {name: kind for name, (kind, _) in locals_of(part).items()}
    assert kinds == {
        "x": Kind.PARAMETER,
        "n": Kind.PARAMETER,
        "y": Kind.PARAMETER,
        "M": Kind.DIM,
        "K": Kind.DIM,
        "sm": Kind.DIM,
        "G": Kind.CONST,
        "B": Kind.TUNE,
        "m": Kind.COUNTER,
        "k": Kind.COUNTER,
        "a": Kind.LOCAL,
        "b": Kind.LOCAL,
        "L": Kind.LOCAL,
    }
    function = document(SOURCE).parts[3]
    assert {n: k for n, (k, _) in locals_of(function).items()} == {
        "u": Kind.PARAMETER,
        "v": Kind.PARAMETER,
    }


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("A", Kind.CONST),
        ("axis", Kind.KEYWORD_ARGUMENT),
        ("spatial", Kind.METHOD),
        ("sum", Kind.BUILTIN),
        ("f32", Kind.DTYPE),
        ("second", Kind.FUNCTION),
    ],
)
def test_names_are_resolved(text: str, kind: Kind):
    d = document(SOURCE + "\n\nkernel last(x: f32[N]):\n    second(x)\n")
    part, token = next((p, t) for p in d.parts[2:] for t in p.tokens if t.text == text)
    assert resolve(d, part, token).kind is kind


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_every_name_of_the_examples_is_known(path: Path):
    d = Document(path, path.read_text())
    for part in d.parts:
        for i, token in enumerate(part.tokens):
            if token.kind == "NAME" and part.tokens[0].kind != "from":
                near = {t.text for t in part.tokens[max(0, i - 1) : i + 2]}
                if not near & {"packed", "strides"}:
                    assert resolve(d, part, token, i).kind is not Kind.UNKNOWN, token


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_decorated_examples_give_the_same_items(path: Path):
    python = path.with_suffix(".py")
    if not python.exists() or "@dslc" not in python.read_text():
        pytest.skip("only a file")
    d = PythonDocument(python, python.read_text())
    names = {p.items[0].name for p in d.parts if p.items}
    assert names
    assert not [e for p in d.parts for e in p.errors]


@pytest.mark.parametrize("cut", range(0, len(SOURCE), 7))
def test_half_a_source_is_no_trouble(cut: int):
    d = document(SOURCE[:cut])
    for part in d.parts:
        for i, token in enumerate(part.tokens):
            if token.kind == "NAME":
                resolve(d, part, token, i)


@pytest.mark.parametrize(
    ("hint", "written", "wanted"),
    [
        ("did you mean `zeros`?", "zeroes", "zeros"),
        ('close it with "', '"text', '"text"'),
        ("write a straight quote: '", "\u2018", "'"),
        ("put a space between `1` and `if`", "1if", "1 if"),
        ("write `<=`", "\u2264", "<="),
        ("write cast(..., f16)", "acc", "cast(acc, f16)"),
        ("a number has no leading zeros: write 7, or 0o for octal", "007", "7"),
    ],
)
def test_hints_are_fixes(hint: str, written: str, wanted: str):
    assert [f.text for f in fixes("DSL0000", hint, written)] == [wanted]


def test_the_language_is_described():
    assert functions()["dot"].signature == "dot(a, b, *, transposed='', layout=None)"
    assert all(f.text for f in functions().values())
    assert all(dtype_text(d.name) for d in all_dtypes())
    assert dtype_text("u4") == "an unsigned integer of 4 bits: 0 to 15"
