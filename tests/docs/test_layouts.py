"""docs/layouts.md: its examples run, and its pictures are what the layouts are.

A picture's alternative text is the layout that it shows; `, banks` after it asks for the colours of
the banks of 16-byte chunks. `pytest --update-golden` draws them anew.
"""

import doctest
import re
from pathlib import Path

import pytest
from dslc.compiler.layout import parse_layout, render_svg
from dslc.compiler.targets import find_target

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "layouts.md"
PICTURES = re.findall(r"!\[(.+)\]\((pictures/\w+\.svg)\)", DOCUMENT.read_text(encoding="utf-8"))


def drawn(text: str) -> str:
    expression, comma, _ = text.partition(", banks")
    banks = find_target("cuda:sm_90a").banks if comma else None
    return render_svg(parse_layout(expression), title=expression, banks=banks, bits=128)


@pytest.mark.parametrize(("text", "path"), PICTURES)
def test_pictures_are_drawn_from_their_layouts(text, path, request):
    file = DOCUMENT.parent / path
    if request.config.getoption("--update-golden"):
        file.write_text(drawn(text), encoding="utf-8")
    assert file.read_text(encoding="utf-8") == drawn(text)


def test_there_are_pictures():
    assert len(PICTURES) > 8
    assert len({path for _, path in PICTURES}) == len(PICTURES)


def test_the_examples_run():
    failed, tried = doctest.testfile(str(DOCUMENT), module_relative=False)
    assert tried > 20
    assert failed == 0
