"""DSL04xx: the text of Tile IR and its verifier."""

ENTRIES: dict[str, tuple[str, str]] = {}
