"""Kernels in one file: what several of them begin with stands in it once."""

from __future__ import annotations

from pathlib import Path

import dslc
from dslc.codegen.c_family.one_file import one_file
from dslc.codegen.hip.toolchain import DEFAULT, compile_hip

from support.hip.toolchain import needs_clang

FILE = Path(__file__).parents[3] / "examples" / "gemm.tile"


@needs_clang
def test_products_of_two_dtypes_compile_as_one_file() -> None:
    define = {"M": 256, "N": 256, "K": 256}
    library = dslc.compile(FILE, "hip:gfx942", define=define, cache=False)
    texts = [library[name].specialize().source("hip") for name in ("gemm", "gemm_i8")]
    whole = one_file(texts)
    assert len(whole) < sum(map(len, texts))
    assert one_file(texts[:1]) == texts[0]
    made = compile_hip(whole, "gfx942", DEFAULT, "both.hip")
    assert b"gemm_i8" in made.hsaco


def test_texts_without_kernels_are_put_one_after_another() -> None:
    assert one_file(["a\n\nb\n", "a\n\nc"]) == "a\n\nb\n\na\n\nc\n"


def test_equal_kernels_are_one_and_others_of_the_name_are_numbered() -> None:
    def text(body: str) -> str:
        return f'// k: remarks.\n\n#define A 1\n\nextern "C" void\nk(\n    int x) {{{body}}}\n'

    both = one_file([text("a"), text("b")])
    assert both.count("#define A 1") == 1
    assert both.count("// k: remarks.") == 2
    assert "\nk(\n    int x) {a}" in both
    assert "\nk_2(\n    int x) {b}" in both
    # What is one file already goes into another.
    assert one_file([both, text("a")]).count("{a}") == 1
