"""DSL09xx: the command line, targets and toolchains."""

ENTRIES: dict[str, tuple[str, str]] = {}
