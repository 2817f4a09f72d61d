"""DSL08xx: cache, artifacts and packages."""

ENTRIES: dict[str, tuple[str, str]] = {}
