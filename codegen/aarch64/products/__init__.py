"""Products: operands in panels, register tiles of accumulators, and the units that multiply."""
