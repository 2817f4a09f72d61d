"""The step of each instruction, in NumPy."""
