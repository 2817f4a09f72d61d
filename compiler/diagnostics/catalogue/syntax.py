"""DSL00xx and DSL01xx: the text of a program."""

ENTRIES: dict[str, tuple[str, str]] = {}
