"""The page: one file of HTML that loads nothing, with its data, style and script inside.

The data is JSON, which the script draws as parts are opened, so that a page of thousands of lines opens
at once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from typing import Any

# The browser itself holds that nothing is fetched.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


def page_of(data: Mapping[str, Any]) -> str:
    """The document of a report's data."""
    here = files("dslc.reports")
    style = (here / "page.css").read_text(encoding="utf-8")
    script = "\n".join(
        (here / name).read_text(encoding="utf-8")
        for name in ("drawing.js", "figures.js", "page.js")
    )
    # A text of the user's may hold what ends a script; in JSON the sign can be written otherwise.
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    title = escape(f"{data['title']} on {', '.join(data['targets'])}")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        '<div id="page"><noscript>This report is drawn by a script of its own.</noscript></div>\n'
        f'<script type="application/json" id="data">{text}</script>\n'
        f"<script>\n{script}</script>\n</body>\n</html>\n"
    )
