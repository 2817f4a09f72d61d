"""What the site needs beyond mkdocs.yml: MkDocs calls these functions by their names.

Decisions come into the navigation, code blocks get colours, links to what is no page become text.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
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
    return config


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Fences without what tests read behind the language, and links that lead to pages."""
    markdown = FENCE.sub(lambda fence: f"```{COLOURS.get(fence[1], fence[1])}", markdown)
    markdown = DECISIONS.sub(r"](\1decisions/0001-four-folders-one-package.md)", markdown)
    return OUTSIDE.sub(r"\1", markdown)
