"""Folders and files of which the content is run: nobody else may have written them."""

from __future__ import annotations

import os
from pathlib import Path

from dslc.compiler.diagnostics import error


def is_own(found: os.stat_result) -> bool:
    """Whether the user alone owns and may write it."""
    return found.st_uid == os.geteuid() and not found.st_mode & 0o022


def refuse_foreign(*folders: Path) -> None:
    """DSL0820 where a folder is not the user's alone to write; OSError where it is not there."""
    for folder in folders:
        if not is_own(folder.stat()):
            raise error(
                "DSL0820",
                f"the cache {folder} can be written by others, and what it holds is run",
                hint=f"chmod 700 {folder}, or set DSLC_CACHE_DIR to a folder of yours",
            )
