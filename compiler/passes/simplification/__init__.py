"""Passes that make a program simpler and mean the same on every machine.

Ffolding, bounds, dead code, loop invariants.
"""
