"""What only the machine knows, for machines that are scheduled before they run.

Ddynamic scalars, slices, loop bounds.
"""
