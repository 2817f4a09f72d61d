"""The glossary names files that exist, and every word of the IR and every pass; code says its terms."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from dslc.compiler.ir.expr import BINARY_OPS, UNARY_OPS
from dslc.compiler.ir.text.words import STRUCTURED, WORDS
from dslc.compiler.targets import TARGETS
from dslc.compiler.vector.instructions import MACHINE_OPS
from dslc.compiler.vector.text.words import NAMED_BY_OP
from dslc.compiler.vector.text.words import WORDS as VECTOR_WORDS
from dslc.machines.registry import find_machine

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
ROWS = [line for line in TEXT.splitlines() if line.startswith("| ")]
QUOTED = set(re.findall(r"`([^`]+)`", TEXT))
FIRST = {word for row in ROWS for word in re.findall(r"`([^`]+)`", row.split("|")[1])}
ROOMS = ("compiler", "codegen", "dsl", "runtime")


def test_every_file_exists() -> None:
    named = {word for word in QUOTED if word.startswith(tuple(f"{room}/" for room in ROOMS))}
    assert len(named) > 80
    assert not [path for path in named if not (ROOT / path).exists()]


def test_every_word_of_the_ir_is_there() -> None:
    elementwise = {*UNARY_OPS, *BINARY_OPS}
    printer = (ROOT / "compiler/ir/text/printer.py").read_text(encoding="utf-8")
    (headers,) = re.findall(r"^    header    = (.*?)^    call ", printer, re.M | re.S)
    headers = set(re.findall(r'[=|] "([a-z]+)"', f"= {headers}"))
    assert len(headers) > 8
    missing = ({*WORDS, *STRUCTURED} - elementwise) | headers
    assert not missing - FIRST


def test_every_word_of_vector_ir_is_there() -> None:
    (section,) = re.findall(r"^## Words of Vector IR$(.*?)^## ", TEXT, re.M | re.S)
    words = {w for w, kind in VECTOR_WORDS.items() if kind not in NAMED_BY_OP}
    assert not ({*words, "for", "while", "if", *MACHINE_OPS}) - set(re.findall(r"`(\w+)`", section))


def test_every_pass_is_there_with_its_file() -> None:
    rows = {
        m[1]: m[2] for m in re.finditer(r"^\| `([a-z-]+)` \| .* \| `([\w/]+\.py)` \|$", TEXT, re.M)
    }
    passes = {p.name: type(p) for target in TARGETS for p in find_machine(target).passes({})}
    assert {name: kind.__module__ for name, kind in passes.items()} == {
        name: f"dslc.{path.removesuffix('.py').replace('/', '.')}" for name, path in rows.items()
    }


def test_no_word_is_there_twice() -> None:
    words = [row.split("|")[1].strip() for row in ROWS]
    assert len(words) - len(set(words)) == words.count("word") - 1


TERMS = """
TMA; PDL; warp specialization; stream-K; split-K; rasterization; swizzle; LICM; wgmma; CTA; mbarrier;
double buffering; multi-stage; ping-pong; occupancy; live range; type promotion; register allocation;
bank conflict; multicast; peephole; tile scheduler; epilogue; software pipelining; persistent;
strength reduction; programmatic dependent launch
"""


@pytest.mark.parametrize("term", [" ".join(term.split()) for term in TERMS.split(";")])
def test_the_fields_terms_are_found_in_the_code(term: str) -> None:
    """Some docstring of the glossary's files for the term says it."""
    rows = [row for row in ROWS if term.lower() in row.lower()]
    files = {
        path
        for row in rows
        for path in re.findall(r"`((?:compiler|codegen|dsl|runtime)/[\w/]+\.py)`", row)
    }
    assert files
    words = re.compile(rf"(?<!\w){re.escape(term)}s?(?!\w)", re.I)
    assert [f for f in files if words.search((ROOT / f).read_text(encoding="utf-8"))]
