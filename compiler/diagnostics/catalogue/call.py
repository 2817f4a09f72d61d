"""DSL07xx: arguments at the call, buffers, files and packs."""

ENTRIES: dict[str, tuple[str, str]] = {}
