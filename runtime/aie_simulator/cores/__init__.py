"""What cores compute: programs as Python generators, their operations in NumPy or C, their time."""
