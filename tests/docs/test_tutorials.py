"""Blocks of tutorials and of pages like them run, on the CPU: all of a page in one process."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    *sorted((ROOT / "docs" / "tutorials").glob("*.md")),
    ROOT / "docs" / "checkpoints.md",
    ROOT / "docs" / "packed_weights.md",
    ROOT / "docs" / "std.md",
]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S)


def test_every_example_that_is_recommended_exists() -> None:
    text = (ROOT / "docs" / "tutorials" / "examples.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| [^|]+ \| ([^|]+) \|", text, re.M)
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert len(named) > 20
    there = {path.stem for path in (ROOT / "examples").glob("*.py")}
    assert named <= there
    assert there - named == set()


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "python")], ids=lambda p: p.stem)
def test_the_blocks_run(page: Path, tmp_path: Path) -> None:
    kernels = {
        re.findall(r"(?:kernel|program) (\w+)", text)[0]: text for text in blocks(page, "tile")
    }
    for name, text in kernels.items():
        (tmp_path / f"{name}.tile").write_text(text, encoding="utf-8")
    head = "def page_source(name):\n    return open(f'{name}.tile').read()\n"
    script = tmp_path / "tutorial.py"
    script.write_text("\n".join([head, *blocks(page, "python")]), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
