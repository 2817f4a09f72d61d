"""Passes that change how large tiles are.

Rrows padded to threads, tiles cut to short tensors, zeros beyond an edge.
"""
