"""What the site needs beyond mkdocs.yml: MkDocs calls these functions by their names.

Decisions come into the navigation, code blocks get colours, links to what is no page become text. The
reference is read from the folders that it names: reading all of the package takes as long as the rest.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
VIEW = DOCS.parent / "build" / "reference"  # where mkdocs.yml lets the reference look for dslc
NAMED = re.compile(r"^::: dslc\.([\w.]+)$", re.M)
FENCE = re.compile(r"^```(\w+)(?: [^\n]*)?$", re.M)
COLOURS = {
    "py": "python",
    "nki": "python",
    "ir": "llvm",
    "asm": "gas",
    "mlir": "llvm",
}
OUTSIDE = re.compile(
    r"(?<!!)\[([^\]]+)\]\((?:(?:\.\./)+(?:examples|README|tests)[^)]*|[\w/]*data)\)"
)
DECISIONS = re.compile(r"\]\(((?:\.\./)?)decisions/?\)")


def on_config(config: Any) -> Any:
    """Decisions are many and numbered: the folder is their list."""
    pages = sorted(page.name for page in (DOCS / "decisions").glob("*.md"))
    config["nav"].append({"Decisions": [f"decisions/{name}" for name in pages]})
    shutil.rmtree(VIEW, ignore_errors=True)
    for page in (DOCS / "reference").glob("*.md"):
        for name in NAMED.findall(page.read_text(encoding="utf-8")):
            _show(name.split("."))
    return config


def _show(parts: list[str]) -> None:
    """Link the files of a name's folder, or its file in the package's root, to where dslc has them."""
    root = DOCS.parent
    top = root if (root / parts[0]).is_dir() else root / "dsl"
    folder = top
    for part in parts:
        folder = folder / part if (folder / part).is_dir() else folder
    if folder == top:
        sources = [top / f"{parts[0]}.py"]
    else:
        above = [f for f in folder.parents if f.is_relative_to(top) and f != top]
        sources = [*(f / "__init__.py" for f in above), *sorted(folder.rglob("*.py"))]
    _link(VIEW / "dslc" / "__init__.py", root / "dsl" / "__init__.py")
    for source in sources:
        _link(VIEW / "dslc" / source.relative_to(top), source)


def _link(view: Path, source: Path) -> None:
    if not view.exists():
        view.parent.mkdir(parents=True, exist_ok=True)
        view.symlink_to(source)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Fences without what tests read behind the language, and links that lead to pages."""
    markdown = FENCE.sub(lambda fence: f"```{COLOURS.get(fence[1], fence[1])}", markdown)
    markdown = DECISIONS.sub(r"](\1decisions/0001-four-folders-one-package.md)", markdown)
    return OUTSIDE.sub(r"\1", markdown)
