"""What passes and generators find out about a program.

Facts, proofs, lifetimes, extents; nothing is changed.
"""
