"""Products: panels of operands, tiles of sums in registers, loops over k."""
