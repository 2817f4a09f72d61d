"""Products."""

from __future__ import annotations

STATEMENTS: dict[type, object] = {}
