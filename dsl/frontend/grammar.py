"""The grammar's files, and what ties stored tables to its text."""

from __future__ import annotations

import hashlib
from pathlib import Path

FOLDER = Path(__file__).parent
END = "END"


def grammar_hash(grammar: str) -> str:
    """What ties stored tables to the text of their grammar."""
    return hashlib.sha256(grammar.encode()).hexdigest()
