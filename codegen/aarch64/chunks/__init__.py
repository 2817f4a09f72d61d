"""Chunks of tiles in vector registers.

Eelementwise operations, casts, bits, shapes, reductions, scalars.
"""
