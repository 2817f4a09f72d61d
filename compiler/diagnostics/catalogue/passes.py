"""DSL05xx: passes."""

ENTRIES: dict[str, tuple[str, str]] = {}
