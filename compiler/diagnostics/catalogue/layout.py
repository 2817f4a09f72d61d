"""DSL03xx: layouts."""

ENTRIES: dict[str, tuple[str, str]] = {}
