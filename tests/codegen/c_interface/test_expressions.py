"""Expressions in C have the values that the runtime's evaluator gives them."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest
from dslc.codegen.c_interface.expressions import c_expression
from dslc.runtime.expression import evaluate
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.packages import failure

NAMES = {"M": "m", "N": "n", "K": "k"}

leaves = st.sampled_from(["M", "N", "K"]) | st.integers(0, 300).map(str)


def deeper(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pairs = st.tuples(inner, inner)
    return st.one_of(
        st.tuples(
            pairs,
            st.sampled_from(
                ["+", "-", "&", "|", "^", "==", "!=", "<", "<=", ">", ">=", "and", "or"]
            ),
        ).map(lambda t: f"({t[0][0]} {t[1]} {t[0][1]})"),
        st.tuples(inner, st.sampled_from(["//", "%"]), st.integers(1, 40)).map(
            lambda t: f"({t[0]} {t[1]} {t[2]})"
        ),
        st.tuples(inner, st.integers(1, 40)).map(lambda t: f"cdiv({t[0]}, {t[1]})"),
        st.tuples(inner, st.integers(0, 6)).map(lambda t: f"({t[0]} >> {t[1]})"),
        pairs.map(lambda t: f"min({t[0]}, {t[1]})"),
        pairs.map(lambda t: f"max({t[0]}, {t[1]})"),
        inner.map(lambda t: f"(-{t})"),
        inner.map(lambda t: f"i32({t})"),
        inner.map(lambda t: f"abs({t})"),
        st.tuples(inner, inner, inner).map(lambda t: f"select({t[0]}, {t[1]}, {t[2]})"),
        st.tuples(inner, st.integers(0, 9)).map(lambda t: f"({t[0]} * {t[1]})"),
    )


texts = st.recursive(leaves, deeper, max_leaves=7)


@settings(
    max_examples=2,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.lists(texts, min_size=150, max_size=250), st.tuples(*[st.integers(0, 5000)] * 3))
def test_values_are_those_of_the_runtime(
    tmp_path: Path, found: list[str], sizes: tuple[int, int, int]
) -> None:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    support = files("dslc.codegen.c_interface").joinpath("support.c").read_text()
    arithmetic = support[
        support.index("static inline int64_t dslc_div") : support.index(
            "static inline int dslc_power"
        )
    ]
    bodies = "".join(
        f"int64_t f{i}(int64_t m, int64_t n, int64_t k) {{ return {c_expression(t, NAMES)}; }}\n"
        for i, t in enumerate(found)
    )
    (tmp_path / "f.c").write_text(f"#include <stdint.h>\n{arithmetic}\n{bodies}")
    library = tmp_path / f"f{abs(hash((tuple(found), sizes)))}.so"
    command = [compiler, "-O0", "-shared", "-fPIC", "-o", str(library), str(tmp_path / "f.c")]
    subprocess.run(command, check=True, capture_output=True)
    functions = ctypes.CDLL(str(library))
    values = dict(zip("MNK", sizes, strict=True))
    for i, text in enumerate(found):
        function = functions[f"f{i}"]
        function.argtypes, function.restype = [ctypes.c_int64] * 3, ctypes.c_int64
        expected = evaluate(text, values)
        # Python's `and` gives a boolean here, and so does C's.
        assert function(*sizes) == expected, text


@pytest.mark.parametrize(
    "text", ["1.5", "M / 2", "f16(M)", "len(M)", "M ** 2", "Q", "M if N else K", "(", "True"]
)
def test_what_c_has_no_words_for_is_refused(text: str) -> None:
    assert failure(lambda: c_expression(text, NAMES)).code == "DSL0804"
