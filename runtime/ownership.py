"""Folders of which the content is run: nobody else may write there."""

from __future__ import annotations

import os
from pathlib import Path

from dslc.compiler.diagnostics import error


def refuse_foreign(folder: Path) -> None:
    """DSL0820 where a folder is not the user's alone to write; OSError where it is not there."""
    found = folder.stat()
    if found.st_uid != os.geteuid() or found.st_mode & 0o022:
        raise error(
            "DSL0820",
            f"the cache {folder} can be written by others, and what it holds is run",
            hint=f"chmod 700 {folder}, or set DSLC_CACHE_DIR to a folder of yours",
        )
