"""What the documents show is what the compiler does."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from dslc.checker import check_module, check_source
from dslc.compiler.diagnostics import Severity
from dslc.compiler.ir.text.printer import print_program
from dslc.frontend.tile_parser import parse_tile

ROOT = Path(__file__).resolve().parents[1]


def blocks(document: str, language: str) -> list[str]:
    text = (ROOT / document).read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


@pytest.mark.parametrize("document", ["README.md", "docs/architecture.md"])
def test_kernels_compile(document: str) -> None:
    found = blocks(document, "tile")
    assert found
    for source in found:
        findings = check_source(source, document)
        assert not [d for d in findings if d.severity is Severity.ERROR]


def test_the_readme_runs(tmp_path: Path) -> None:
    (kernel,) = blocks("README.md", "tile")
    (tmp_path / "w4a16.tile").write_text(kernel, encoding="utf-8")
    use = """
x, y = np.ones((5, 7), np.float32), np.zeros((5, 7), np.float32)
scale(x, 2.5, y)
assert (y == 2.5).all()
expected = a.astype(np.float32) @ weights
assert np.abs(c - expected).max() < 0.2 * np.abs(expected).max()
"""
    script = "\n".join([*blocks("README.md", "python"), use])
    (tmp_path / "readme.py").write_text(script, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "readme.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_architecture_shows_real_ir() -> None:
    from dslc.compiler.passes.simplification.bounds import Bounds

    (source,) = blocks("docs/architecture.md", "tile")
    (template,) = check_module(parse_tile(source, "<doc>")).templates.values()
    program = template.elaborate({}, {})
    shown = [text.strip() for text in blocks("docs/architecture.md", "ir")]
    assert shown == [print_program(program).strip(), print_program(Bounds()(program)).strip()]


def anchors(text: str) -> set[str]:
    """The names under which a page's headings can be linked to."""
    headings = re.findall(
        r"^#+ (.+)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE
    )
    return {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in headings}


def test_links_lead_somewhere() -> None:
    for document in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        text = document.read_text(encoding="utf-8")
        for target, anchor in re.findall(r"\]\(([^)#:]*)#?([^):]*)\)", text):
            page = document.parent / target if target else document
            assert page.exists(), f"{document.name}: {target}"
            if anchor:
                assert anchor in anchors(page.read_text(encoding="utf-8")), f"{page.name}: {anchor}"


def test_files_that_the_architecture_names_exist() -> None:
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode:
        pytest.skip("this is no clone")
    files = [f"/{path}" for path in listed.stdout.split()]
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    for name in re.findall(r"(?<![\w/.*])(?:[\w.-]+/)*[\w-]+\.(?:py|c|h|fly)(?!\w)", text):
        assert any(path.endswith(f"/{name}") for path in files), name


def test_commands_in_the_documents_exist() -> None:
    from dslc.cli.main import COMMANDS

    for document in ("README.md", "docs/architecture.md"):
        text = (ROOT / document).read_text(encoding="utf-8")
        named = re.findall(r"^dslc (\w+)", text, re.MULTILINE)
        assert named
        assert set(named) <= set(COMMANDS)


def test_decisions_are_numbered_in_sequence() -> None:
    names = sorted(p.name for p in (ROOT / "docs" / "decisions").glob("*.md"))
    numbers = [int(name.partition("-")[0]) for name in names]
    assert numbers == list(range(1, len(numbers) + 1))
    for name, number in zip(names, numbers, strict=True):
        text = (ROOT / "docs" / "decisions" / name).read_text(encoding="utf-8")
        assert text.startswith(f"# {number}. ")
