"""`dslc fmt`: the program stays, comments stay, and what is formatted stays as it is."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.formatting import format_tile
from dslc.frontend.lexer import Lexer
from dslc.frontend.tile_parser import parse_tile

from support.editors.sentences import sentences
from support.editors.untidy import untidy
from support.oracle.generator import generate
from support.oracle.printer import source
from support.oracle.profiles import profile

ROOT = Path(__file__).parents[2]
FILES = sorted([*(ROOT / "examples").glob("*.tile"), *(ROOT / "tests/corpus").glob("*.tile")])


def comments(text: str) -> list[str]:
    """The words of every comment."""
    lexer = Lexer(text, "t.tile", lambda d: None)
    list(lexer.tokens())
    return [re.sub(r"^#\s*", "#", c.text.rstrip()) for c in lexer.comments]


def tree(text: str) -> object:
    parse_tile.cache_clear()
    return parse_tile(text, "t.tile")


def check(text: str) -> str:
    """Format a text: the tree and the comments stay, a second time changes nothing."""
    made = format_tile(text, "t.tile")
    assert tree(made) == tree(text)
    assert sorted(comments(made)) == sorted(comments(text))
    assert format_tile(made, "t.tile") == made
    assert not any(row.endswith((" ", "\t")) for row in made.splitlines() if "#" not in row)
    return made


def body(*lines: str) -> str:
    return "kernel k(x: f32[N], y: out f32[N]):\n" + "".join(f"    {row}\n" for row in lines)


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_examples_keep_their_meaning(path: Path):
    check(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "path", [f for f in FILES if f.parent.name == "examples"], ids=lambda p: p.stem
)
def test_examples_are_formatted(path: Path):
    text = path.read_text(encoding="utf-8")
    assert format_tile(text, path.name) == text


def test_every_production_of_the_grammar():
    """Of those texts that are no errors besides."""
    checked = 0
    for text in sentences():
        with contextlib.suppress(DiagnosticError):
            tree(text)
            check(text)
            checked += 1
    assert checked > 60


@pytest.mark.parametrize("path", FILES[::6], ids=lambda p: p.stem)
@pytest.mark.parametrize("seed", range(3))
def test_white_space_is_undone(path: Path, seed: int):
    check(untidy(path.read_text(encoding="utf-8"), seed))


@pytest.mark.parametrize(
    "first", [0, *(pytest.param(n, marks=pytest.mark.deep) for n in range(1, 200))]
)
@pytest.mark.timeout(900)
def test_random_sources(first: int):
    for seed in range(first * 50, first * 50 + 50):
        text = source(generate(seed, profile("interp")))
        made = check(untidy(text, seed))
        assert tree(made) == tree(text)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("a=b+c*- d", "a = b + c * -d"),
        ("a=f( x,axis = 1 )[ : ,None]", "a = f(x, axis=1)[:, None]"),
        ("a=x[n:n+BN]", "a = x[n : n + BN]"),
        ("a=x[0 : n, : m,k :]", "a = x[0:n, :m, k:]"),
        ("a=x[ : n+1, : : 2]", "a = x[: n + 1, ::2]"),
        ("a=x[-1:n]", "a = x[-1:n]"),
        ("a = 2 ** n + f(x) ** -1 + b[0]**2", "a = 2**n + f(x) ** -1 + b[0] ** 2"),
        ("a=not(b)and(c if d else e)", "a = not (b) and (c if d else e)"),
        ("a , b=c", "a, b = c"),
        ("a+=- (b)", "a += -(b)"),
        ("a = ~x|y", "a = ~x | y"),
        ("a = 0X1F + 1_0 + 1.50", "a = 0X1F + 1_0 + 1.50"),
        ("print( 'it' \"is\" , x )", "print('it' \"is\", x)"),
        ("a=local( 2,1 ) . spatial(8,4)", "a = local(2, 1).spatial(8, 4)"),
        ("assert a<b ,'text'", "assert a < b, 'text'"),
        ("require N%8==0", "require N % 8 == 0"),
        ("tune  A=1|2", "tune A = 1 | 2"),
        ("y[...]=x[ ... ]", "y[...] = x[...]"),
        ("a = b#why", "a = b  # why"),
    ],
)
def test_spaces(given: str, wanted: str):
    assert check(body(given)) == body(wanted)


def test_statements_get_lines_of_their_own():
    given = (
        "kernel k(x: f32[N]):\n  for i in range(2): a = 1; b = 2 # both\n"
        "  if N: pass\n  else: pass\n"
    )
    assert check(given) == (
        "kernel k(x: f32[N]):\n    for i in range(2):\n        a = 1\n        b = 2  # both\n"
        "    if N:\n        pass\n    else:\n        pass\n"
    )


def test_comments_stay_in_their_blocks():
    given = """# above
kernel k(x: f32[N]):  # beside
  # first
  for i in range(2):
      # inner
      a = 1
      # still inner

  # outer
  b = [1, # one
    # two
    2]
# end
"""
    assert (
        check(given)
        == """# above
kernel k(x: f32[N]):  # beside
    # first
    for i in range(2):
        # inner
        a = 1
        # still inner

    # outer
    b = [1,  # one
         # two
         2]

# end
"""
    )


def test_blank_lines():
    given = (
        '"""Doc."""\nconst A = 1\n\n\n\nconst B = 2\nkernel a(x: f32[N]):\n\n\n    pass\n\n\n\n'
        "    pass\n# c\nkernel b(x: f32[N]):\n    pass\n"
    )
    assert check(given) == (
        '"""Doc."""\n\nconst A = 1\n\n\nconst B = 2\n\nkernel a(x: f32[N]):\n    pass\n\n    pass\n\n'
        "# c\nkernel b(x: f32[N]):\n    pass\n"
    )


def test_long_lines_are_broken_in_their_brackets():
    names = [f"a_rather_long_name_{i}" for i in range(9)]
    params = ", ".join(f"{n}: f32[N]" for n in names)
    given = f"kernel k({params}):\n    a = f({' + '.join(names[:6])})\n"
    made = check(given)
    assert "kernel k(\n    a_rather_long_name_0: f32[N],\n" in made
    assert "\n):\n    a = f(\n        a_rather" in made


def test_breaks_in_brackets_stay():
    given = body("a = f(", "  x,", "  y)", "b = f(x,", "y)")
    assert check(given) == body("a = f(", "    x,", "    y", ")", "b = f(x,", "      y)")


def test_docstrings_move_with_their_blocks():
    given = 'kernel k(x: f32[N]):\n  """One.\n\n    Two.\n      Three.\n  """\n  pass\n'
    assert check(given).startswith(
        'kernel k(x: f32[N]):\n    """One.\n\n      Two.\n        Three.\n    """\n'
    )


def test_wrong_sources_are_refused():
    with pytest.raises(DiagnosticError, match="DSL0010"):
        format_tile("kernel k(x: f32[N]:\n    pass\n", "t.tile")
