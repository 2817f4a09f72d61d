"""The interpreter: the meaning of Tile IR, in NumPy."""
