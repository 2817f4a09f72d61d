"""What passes and generators find out about a program.

Ffacts, proofs, lifetimes, extents; nothing is changed.
"""
