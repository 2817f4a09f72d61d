from __future__ import annotations

import pytest
from dslc.compiler.diagnostics import DiagnosticError, Loc
from dslc.frontend import parse_expression, parse_tile, print_module, tree

from support.generated.random_tree import L

HEAD = "kernel k(x: f32[N], y: out f32[N]):\n"


def body(text: str) -> tuple[tree.Statement, ...]:
    (kernel,) = parse_tile(HEAD + text, "test").items
    assert isinstance(kernel, tree.Kernel)
    return kernel.body


def codes(text: str) -> list[tuple[str, int]]:
    with pytest.raises(DiagnosticError) as caught:
        parse_tile(text, "test")
    return [(d.code, d.loc.line) for d in caught.value.diagnostics if d.loc]


def name(text: str) -> tree.Name:
    return tree.Name(text, loc=L)


def test_the_parts_of_a_parameter() -> None:
    text = "kernel k(a: inout u4[K // 2, 3] packed row strides (s, 1), n: i32,): pass"
    (kernel,) = parse_tile(text, "test").items
    assert isinstance(kernel, tree.Kernel)
    a, n = kernel.params
    assert a == tree.Param(
        "a",
        name("u4"),
        (parse_expression("K // 2"), parse_expression("3")),
        "inout",
        (name("s"), parse_expression("1")),
        "row",
        loc=L,
    )
    assert n == tree.Param("n", name("i32"), None, loc=L)


def test_top_level_items() -> None:
    module = parse_tile(
        '"doc"\nfrom a.b import c, d\nfrom e import (f,\n  g)\nconst N = 1\n'
        "def h(x, y=N, z=2): return x\nprogram p(x: f32[N]): k(x)\n",
        "test",
    )
    kinds = [type(i) for i in module.items]
    assert kinds == [tree.Import, tree.Import, tree.Const, tree.Function, tree.Program]
    assert module.doc == "doc"
    assert module.items[:2] == (
        tree.Import("a.b", ("c", "d"), loc=L),
        tree.Import("e", ("f", "g"), loc=L),
    )
    function = module.items[3]
    assert isinstance(function, tree.Function)
    assert (function.params, len(function.defaults)) == (("x", "y", "z"), 2)


def test_docstrings_lose_their_indentation() -> None:
    text = HEAD + '    """First.\n\n      Indented.\n    Not.\n    """\n    pass\n'
    (kernel,) = parse_tile(text, "test").items
    assert isinstance(kernel, tree.Kernel)
    assert kernel.doc == "First.\n\n  Indented.\nNot."
    assert kernel.body == (tree.Pass(loc=L),)


def test_a_kernel_of_a_docstring_alone() -> None:
    (kernel,) = parse_tile('kernel k(): "doc"', "test").items
    assert isinstance(kernel, tree.Kernel)
    assert (kernel.doc, kernel.body) == ("doc", ())


@pytest.mark.parametrize(
    "text",
    [
        "    a = 1\n    b = 2\n",
        "    a = 1; b = 2\n",
        "    a = 1; b = 2;",
        "\ta = 1\n\tb = 2\n",
        "    a = 1  # one\n\n# nothing\n        # nothing\n    b = 2\n\n",
        "    a = \\\n  1\n    b = 2",
        "    a = (\n1\n)\n    b = 2 # end",
        "    a = 1\r\n    b = 2\r\n",
        "    a = 1\r    b = 2\r",
    ],
)
def test_lines_are_joined_and_split_as_in_python(text: str) -> None:
    assert body(text) == body("    a = 1\n    b = 2\n")


def test_a_byte_order_mark_is_no_text() -> None:
    assert parse_tile("\ufeff" + HEAD + "    pass", "test") == parse_tile(HEAD + "    pass", "test")


def test_bodies_on_the_line_of_their_colon() -> None:
    one = body("    if a: b = 1; c = 2\n    elif d: pass\n    else: e()\n    while f: g()\n")
    two = body(
        "    if a:\n        b = 1\n        c = 2\n    elif d:\n        pass\n    else:\n        e()\n"
        "    while f:\n        g()\n"
    )
    assert one == two


def test_elif_is_an_if_in_else() -> None:
    assert body("    if a: b()\n    elif c: d()\n    else: e()\n") == body(
        "    if a: b()\n    else:\n        if c: d()\n        else: e()\n"
    )


def test_a_tune_may_leave_its_values_open() -> None:
    (tune,) = body("    tune B\n")
    assert tune == tree.Tune("B", (), loc=tune.loc)


def test_the_choices_of_a_tune_are_its_outer_alternatives() -> None:
    (tune,) = body("    tune B = 1 | 2 ^ 3 | (4 | 5)\n")
    assert isinstance(tune, tree.Tune)
    assert tune.choices == tuple(map(parse_expression, ("1", "2 ^ 3", "4 | 5")))


def test_the_text_of_a_requirement() -> None:
    (require,) = body("    require (K  %\n 128 == 0)\n")
    assert isinstance(require, tree.Require)
    assert require.text == "K % 128 == 0"


def test_names_are_compared_by_their_compatibility_form() -> None:
    assert body("    ﬁne = 1\n") == body("    fine = 1\n")


def test_places() -> None:
    text = (
        HEAD
        + "    for i, j in parallel(range(4),\n            range(8)):\n        a = f(é, b + 1)\n"
    )
    (loop,) = parse_tile(text, "f.tile").items[0].body  # type: ignore[union-attr]
    assert isinstance(loop, tree.For)
    assert loop.loc == Loc("f.tile", 2, 5, 4, 24)
    assert loop.targets[1].loc == Loc("f.tile", 2, 12, 2, 13)
    assert loop.iterator.loc == Loc("f.tile", 2, 17, 3, 22)
    (assign,) = loop.body
    assert isinstance(assign, tree.Assign)
    assert isinstance(assign.value, tree.Call)
    assert assign.value.args[1].loc == Loc("f.tile", 4, 18, 4, 23)


def test_errors_of_several_statements_and_items_are_found() -> None:
    text = (
        "kernal a(x: f32[N]):\n    y = \n\n"
        "kernel b(x: f32[N]):\n"
        "    y = x +\n"
        "    for i in range(3)\n        y = )\n"
        "    if x:\n        z = 1 2\n    z = 3 $\n"
        "const A = \n"
        "kernel c(x: f32[N]:\n    pass\n"
        "const B = 1 +\n"
    )
    assert codes(text) == [
        ("DSL0103", 1),
        ("DSL0101", 5),
        ("DSL0102", 6),
        ("DSL0011", 7),
        ("DSL0101", 9),
        ("DSL0004", 10),
        ("DSL0101", 11),
        ("DSL0010", 12),
        ("DSL0101", 14),
    ]


def test_after_an_error_the_other_items_are_still_read() -> None:
    good = HEAD + "    y[0:8] = x[0:8]\n"
    assert codes(good + "nonsense here\n" + good + "more nonsense\n") == [
        ("DSL0101", 3),
        ("DSL0101", 6),
    ]


def test_no_more_than_twenty_errors_are_told() -> None:
    assert len(codes(HEAD + "    x = =\n" * 50)) == 20


def test_a_name_in_an_error_has_its_place() -> None:
    with pytest.raises(DiagnosticError) as caught:
        parse_tile("kernel k(x: f32[N]):\n    é = whence y\n", "test")
    (found,) = caught.value.diagnostics
    assert found.loc == Loc("test", 2, 16, 2, 17)


def test_printing_a_parsed_file_keeps_the_tree() -> None:
    module = parse_tile(HEAD + "    y[0:N] = x[:]\n", "test")
    assert parse_tile(print_module(module), "other") == module
