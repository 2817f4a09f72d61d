"""DSL09xx: the command line, targets and toolchains."""

ENTRIES: dict[str, tuple[str, str]] = {
    "DSL0901": (
        "No such target",
        "A target is a machine family and a model with a colon between, or `interp`. `dslc targets` "
        "lists them.\n\n"
        "Wrong:  --target cuda:sm90\n"
        "Right:  --target cuda:sm_90a    --target interp",
    ),
}
