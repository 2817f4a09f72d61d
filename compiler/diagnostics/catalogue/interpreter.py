"""DSL06xx: running in the interpreter."""

ENTRIES: dict[str, tuple[str, str]] = {}
