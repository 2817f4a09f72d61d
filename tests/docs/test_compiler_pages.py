"""docs/compiler: what is shown of kernels' ways is what the compiler gives, and pictures are drawn.

A comment before a block says what it shows: the kernel, the target, the stage (`ir`, a pass, `text` for
the file that is emitted, `launch` for its artifact's), and where its lines begin and end:

    <!-- shown: gemm cuda:sm_90a warp-specialization | warp_specialize warps | yield (fill -->

Without ends it is the whole text. A picture's alternative text is what it shows (support.documents).
`pytest --update-golden` writes the blocks and draws the pictures anew.
"""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path

import pytest
from dslc.checker import check_module
from dslc.codegen.aarch64.lowering import lower
from dslc.codegen.cpu.llvm.engine import assembly
from dslc.codegen.cpu.llvm.printer import print_llvm
from dslc.codegen.cpu.llvm.processors import capabilities, triple_of
from dslc.compiler.ir.text.printer import print_program
from dslc.compiler.passes.pass_manager import Stage, run_passes
from dslc.compiler.targets.cpu import processor_by_name
from dslc.compiler.vector.legal import legalise
from dslc.compiler.vector.text import parse as parse_vector
from dslc.compiler.vector.text import print_module
from dslc.compiler.vector.verifying import verify as verify_vector
from dslc.frontend.tile_parser import parse_tile
from dslc.machines.registry import find_machine

from support.documents.diagrams import draw

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "compiler"
PAGES = sorted(FOLDER.glob("*.md"))
SHOWN = re.compile(
    r"<!-- shown: (\w+) (\S+) (\S+)(?: \| (.*?) \| (.*?))? -->\n\n```(\w*)\n(.*?)^```$", re.M | re.S
)
PICTURE = re.compile(r"!\[([^\]]+)\]\((\.\./pictures/compiler_\w+\.svg)\)")
SIZES = {"M": 1024, "N": 1024, "K": 1024}
TILE = re.compile(r"```tile\n(.*?)^```$", re.M | re.S)
KERNELS = {
    name: source
    for page in PAGES
    for source in TILE.findall(page.read_text(encoding="utf-8"))
    for name in re.findall(r"^kernel (\w+)", source, re.M)
}


VECTOR = re.compile(r"(?<!-->\n\n)```vir\n(.*?)^```$", re.M | re.S)
FUNCTIONS = {
    name: source
    for page in PAGES
    for source in VECTOR.findall(page.read_text(encoding="utf-8"))
    for name in re.findall(r"^function (\w+)", source, re.M)
}


def vector_stages(name: str) -> dict[str, str]:
    """The legal form of a function of Vector IR, and its code for a processor."""
    processor = processor_by_name("cpu:znver4")
    module = parse_vector(FUNCTIONS[name])
    verify_vector(module)
    legal, triple = legalise(module, capabilities(processor)), triple_of(processor, "linux")
    text = print_llvm(legal, triple, processor.tune)
    return {"legal": print_module(legal), "znver4": assembly(text, triple, processor)}


@functools.cache
def stages(kernel: str, target_name: str) -> dict[str, str]:
    """The texts of a kernel: after each pass (the last of a name), and what is emitted."""
    if target_name == "vector":
        return vector_stages(kernel)
    template = check_module(parse_tile(KERNELS[kernel], "<docs>")).templates[kernel]
    machine = find_machine(target_name)
    sizes = {} if target_name == "interp" else {dim: SIZES[dim] for dim in template.dims}
    program = template.elaborate(sizes, {})
    found = {"ir": print_program(program)}

    def see(stage: Stage) -> None:
        if stage.number:
            found[stage.name] = print_program(stage.program)

    program = run_passes(program, machine.passes({}), observers=(see,))
    found |= dict(zip(("text",), machine.draft(program).texts, strict=False))
    if target_name.startswith("aarch64"):
        found["launch"] = json.dumps(lower(program, machine.target).launch, indent=1)
    return found


def excerpt(text: str, begin: str | None, end: str | None) -> str:
    """From the first line that has `begin` to the first one from there on that has `end`."""
    lines = text.rstrip("\n").split("\n")
    if begin is None or end is None:
        return "\n".join(lines) + "\n"
    first = next(i for i, line in enumerate(lines) if begin in line)
    last = next(i for i, line in enumerate(lines) if i >= first and end in line)
    margin = min(len(line) - len(line.lstrip()) for line in lines[first : last + 1] if line.strip())
    return "".join(f"{line[margin:]}\n" for line in lines[first : last + 1])


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_what_is_shown_is_what_the_compiler_gives(
    page: Path, request: pytest.FixtureRequest
) -> None:
    text = page.read_text(encoding="utf-8")

    def now(match: re.Match[str]) -> str:
        kernel, target, stage, begin, end, _, block = match.groups()
        return (
            match[0].removesuffix(f"{block}```")
            + excerpt(stages(kernel, target)[stage], begin, end)
            + "```"
        )

    made = SHOWN.sub(now, text)
    if request.config.getoption("--update-golden"):
        page.write_text(made, encoding="utf-8")
        return
    assert text == made, "the compiler gives something else: pytest tests/docs --update-golden"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_every_chapter_has_an_example_and_a_picture(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text.count("<!-- shown:") == len(SHOWN.findall(text)) > 0
    assert PICTURE.search(text)
    assert len(text.splitlines()) <= 250


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_pictures_are_drawn_from_their_texts(page: Path, request: pytest.FixtureRequest) -> None:
    for text, path in PICTURE.findall(page.read_text(encoding="utf-8")):
        file = page.parent / path
        if request.config.getoption("--update-golden"):
            file.write_text(draw(text), encoding="utf-8")
        assert file.read_text(encoding="utf-8") == draw(text)
