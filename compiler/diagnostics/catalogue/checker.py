"""DSL02xx: names, types and shapes."""

ENTRIES: dict[str, tuple[str, str]] = {}
