"""DSL07xx: arguments at the call, buffers, files and packs."""

ENTRIES: dict[str, tuple[str, str]] = {
    "DSL0790": (
        "These weights cannot be quantised so",
        "`dslc.quantize` takes a matrix [K, N] of finite floats, a dtype of 1 to 8 bits, and a group "
        "that divides K; the scales must lie in the range of their dtype.\n\n"
        "Wrong:  quantize(w, 'u4', group=100)    # w has 4096 rows\n"
        "Right:  quantize(w, 'u4', group=128)",
    ),
}
